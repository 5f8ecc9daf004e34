"""All rules, by the names of the functions."""

from pyhudi_expr.expr.functions import (
    arithmetic,
    elementary,
    greatest_least,
    negate_abs,
    rounding,
    strings,
    text_building,
)
from pyhudi_expr.expr.functions.temporal import (
    calendar,
    current_time,
    date_arithmetic,
    date_trunc,
    months,
    time_format,
    time_precision,
    unix_time,
)

_NUMBERS = (arithmetic.RULES, negate_abs.RULES, rounding.RULES, elementary.RULES)
_CALENDARS = (calendar.RULES, date_arithmetic.RULES, date_trunc.RULES, months.RULES)
_TIMES = (*_CALENDARS, unix_time.RULES, time_format.RULES, time_precision.RULES, current_time.RULES)
_TEXTS = (strings.RULES, text_building.RULES)
WITHOUT_ARGUMENTS = (current_time.RULES,)
TABLES = (*_NUMBERS, *_TIMES, greatest_least.RULES, *_TEXTS)
