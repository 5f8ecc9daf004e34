"""All rules, by the names of the functions."""

from pyhudi_expr.expr.functions import (
    arithmetic,
    calendars,
    epochs,
    extremes,
    rounding,
    shifts,
    signs,
    texts,
    time_texts,
    truncations,
)

_NUMBERS = (arithmetic.RULES, signs.RULES, rounding.RULES, extremes.RULES)
_TIMES = (calendars.RULES, shifts.RULES, truncations.RULES, epochs.RULES, time_texts.RULES)
TABLES = (*_NUMBERS, *_TIMES, texts.RULES)
