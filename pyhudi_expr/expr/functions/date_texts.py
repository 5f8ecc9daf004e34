"""Bounds of texts cast to dates, where all texts between two bounds share a year or a month.

Texts are not in the order of the dates that engines parse from them: ``2020-7-1``, ``+2020-07-01``,
`` 2020-07-01`` and ``20200-07-01`` are dates, too. But texts between two bounds that begin with
``2020-0`` followed by a digit have a month of two digits, and these are in order. Some engines
accept months and days beyond the calendar: day 0 is the one before the first, and a day may be 99,
or negative.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, UInt8Array
from pyhudi_expr.expr.bounds import Bounds, Values
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Ordinals
from pyhudi_expr.expr.functions.signature import arrow

_WIDTH = len("2020-07-01")
_PADDING, _NOTHING = (pa.scalar(one, pa.large_binary()) for one in (b"\0" * _WIDTH, b""))
_YEAR, _DASH, _TENS, _MONTH, _SECOND_DASH, _DAY_TENS, _DAY = slice(0, 4), 4, 5, 6, 7, 8, 9
#: Before it, engines disagree on the calendar.
_FIRST_YEAR = 1600
_MOST_DAY, _LEAST_DAY, _MOST_MONTH = 99, -99, 99


def days_of_texts(*operands: Bounds) -> Bounds:
    """Return the dates in texts; NULL for other texts."""
    (operand,) = operands
    lower, upper = _codes(operand.lower), _codes(operand.upper)
    shared = np.cumprod(lower == upper, axis=1).astype(np.bool_)
    digits = _is_digit(lower) & _is_digit(upper)
    year = _number(lower[:, _YEAR])
    one_year = shared[:, _DASH] & digits[:, _YEAR].all(axis=1)
    one_year &= (lower[:, _DASH] == ord("-")) & (year >= _FIRST_YEAR)
    in_order = one_year & shared[:, _TENS] & digits[:, _TENS] & digits[:, _MONTH]
    begin, end = (_number(codes[:, _TENS : _MONTH + 1]) for codes in (lower, upper))
    # Without the sign of a negative month.
    known = in_order | (one_year & _is_digit(lower)[:, _TENS])
    first = _first_day(year, np.where(in_order, begin, 0))
    last = _first_day(year, np.where(in_order, end, _MOST_MONTH))
    least, greatest = _least(lower, upper, first, shared), _greatest(upper, last)
    # Any day may be in a month between the first and the last one.
    following = _first_day(year, np.where(in_order, begin, 0) + 1) + _LEAST_DAY - 1
    preceding = _first_day(year, np.where(in_order, end, _MOST_MONTH) - 1) + _MOST_DAY - 1
    several = ~in_order | (begin != end)
    least = np.where(several, np.minimum(first + _LEAST_DAY - 1, following), least)
    last_known = np.where(in_order, greatest, last + _MOST_DAY - 1)
    greatest = np.where(several, np.maximum(last_known, preceding), greatest)
    return Bounds(
        _like(np.where(known, least, np.int64(MIN_ORDINAL)), operand.lower),
        _like(np.where(known, greatest, np.int64(MAX_ORDINAL)), operand.upper),
        operand.may_be_value,
        True,
    )


def _least(lower: UInt8Array, upper: UInt8Array, first: Ordinals, shared: BoolArray) -> Ordinals:
    """Return the first date of the month `first` in a text from `lower` on."""
    digits = _is_digit(lower)
    has_day = (lower[:, _SECOND_DASH] == ord("-")) & digits[:, _DAY_TENS]
    two_digits = has_day & shared[:, _DAY_TENS] & digits[:, _DAY] & _is_digit(upper)[:, _DAY]
    day = np.where(two_digits, _number(lower[:, _DAY_TENS:]), np.where(has_day, 0, _LEAST_DAY))
    return np.asarray(first + day - 1)


def _greatest(upper: UInt8Array, first: Ordinals) -> Ordinals:
    """Return the last date of the month `first` in a text up to `upper`."""
    digits = _is_digit(upper)
    has_day = (upper[:, _SECOND_DASH] == ord("-")) & digits[:, _DAY_TENS] & digits[:, _DAY]
    day = np.where(has_day, np.maximum(_number(upper[:, _DAY_TENS:]), 1), _MOST_DAY)
    return np.asarray(first + day - 1)


def _first_day(year: Ordinals, month: Ordinals) -> Ordinals:
    months = (year - 1970) * 12 + month - 1
    return np.asarray(months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64))


def _codes(ends: Values) -> UInt8Array:
    """Return the first bytes of each text, zero behind its end and where it is unknown."""
    texts = pc.fill_null(arrow(ends), b"")
    padded = pc.binary_slice(pc.binary_join_element_wise(texts, _PADDING, _NOTHING), 0, _WIDTH)
    fixed = padded.cast(pa.binary(_WIDTH))
    codes = np.frombuffer(fixed.buffers()[1] or b"", dtype=np.uint8).reshape(-1, _WIDTH)
    return codes[fixed.offset : fixed.offset + len(fixed)]


def _is_digit(codes: UInt8Array) -> BoolArray:
    flags: BoolArray = (codes >= ord("0")) & (codes <= ord("9"))
    return flags


def _number(digits: UInt8Array) -> Ordinals:
    """Return the number of some digits; any number for other bytes."""
    weights = 10 ** np.arange(digits.shape[1] - 1, -1, -1)
    values = np.where(_is_digit(digits), digits.astype(np.int64) - ord("0"), 0)
    return np.asarray(values @ weights)


def _like(ordinals: Ordinals, shape: Values) -> Ordinals:
    return np.asarray(ordinals[0]) if isinstance(shape, pa.Scalar) else ordinals
