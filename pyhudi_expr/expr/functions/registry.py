"""All rules, by the names of the functions."""

from pyhudi_expr.expr.functions import (
    arithmetic,
    calendar,
    current_time,
    date_arithmetic,
    elementary,
    rounding,
    strings,
    texts,
    time_format,
    unix_time,
)

_NUMBERS = (arithmetic.RULES, rounding.RULES, elementary.RULES)
_CALENDARS = (calendar.RULES, date_arithmetic.RULES)
_TIMES = (*_CALENDARS, unix_time.RULES, time_format.RULES, current_time.RULES)
_TEXTS = (strings.RULES, texts.RULES)
WITHOUT_ARGUMENTS = (current_time.RULES,)
TABLES = (*_NUMBERS, *_TIMES, *_TEXTS)
