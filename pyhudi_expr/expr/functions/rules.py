"""All rules, by the names of the functions."""

from pyhudi_expr.expr.functions import (
    arithmetic,
    calendars,
    elementary,
    epochs,
    extremes,
    months,
    present,
    readings,
    rounding,
    shifts,
    signs,
    text_building,
    texts,
    time_texts,
    truncations,
)

_NUMBERS = (arithmetic.RULES, signs.RULES, rounding.RULES, elementary.RULES)
_CALENDARS = (calendars.RULES, shifts.RULES, truncations.RULES, months.RULES)
_TIMES = (*_CALENDARS, epochs.RULES, time_texts.RULES, readings.RULES, present.RULES)
_TEXTS = (texts.RULES, text_building.RULES)
WITHOUT_ARGUMENTS = (present.RULES,)
TABLES = (*_NUMBERS, *_TIMES, extremes.RULES, *_TEXTS)
