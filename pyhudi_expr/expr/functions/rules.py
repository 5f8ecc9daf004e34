"""All rules, by the names of the functions."""

from pyhudi_expr.expr.functions import (
    arithmetic,
    calendars,
    epochs,
    extremes,
    readings,
    rounding,
    shifts,
    signs,
    text_building,
    texts,
    time_texts,
    truncations,
)

_NUMBERS = (arithmetic.RULES, signs.RULES, rounding.RULES, extremes.RULES)
_CALENDARS = (calendars.RULES, shifts.RULES, truncations.RULES)
_TIMES = (*_CALENDARS, epochs.RULES, time_texts.RULES, readings.RULES)
TABLES = (*_NUMBERS, *_TIMES, texts.RULES, text_building.RULES)
