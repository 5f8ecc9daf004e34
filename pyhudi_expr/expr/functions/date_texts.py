"""Texts as days, where all texts between two bounds begin with one year, and perhaps one month.

Texts are not in the order of the days that engines read from them: ``2020-7-1``, ``+2020-07-01``,
`` 2020-07-01`` and ``20200-07-01`` are days, too. But what lies between two texts that begin with
``2020-0`` and go on with a digit is of a month of two digits, and that is in order. Some engines
take months and days beyond the calendar: the day 0 is that before the first, and there may be 99,
or a negative number.
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
    """The days that texts say; those that say none give NULL."""
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
    # Of a month between the first and the last one any day may be there.
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
    """The first day that a text from `lower` on says of the month that begins with `first`."""
    digits = _is_digit(lower)
    has_day = (lower[:, _SECOND_DASH] == ord("-")) & digits[:, _DAY_TENS]
    two_digits = has_day & shared[:, _DAY_TENS] & digits[:, _DAY] & _is_digit(upper)[:, _DAY]
    day = np.where(two_digits, _number(lower[:, _DAY_TENS:]), np.where(has_day, 0, _LEAST_DAY))
    return np.asarray(first + day - 1)


def _greatest(upper: UInt8Array, first: Ordinals) -> Ordinals:
    """The last day that a text up to `upper` says of the month that begins with `first`."""
    digits = _is_digit(upper)
    has_day = (upper[:, _SECOND_DASH] == ord("-")) & digits[:, _DAY_TENS] & digits[:, _DAY]
    day = np.where(has_day, np.maximum(_number(upper[:, _DAY_TENS:]), 1), _MOST_DAY)
    return np.asarray(first + day - 1)


def _first_day(year: Ordinals, month: Ordinals) -> Ordinals:
    months = (year - 1970) * 12 + month - 1
    return np.asarray(months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64))


def _codes(ends: Values) -> UInt8Array:
    """The first bytes of each text, zero behind its end and where it is unknown."""
    texts = pc.fill_null(arrow(ends), b"")
    padded = pc.binary_slice(pc.binary_join_element_wise(texts, _PADDING, _NOTHING), 0, _WIDTH)
    fixed = padded.cast(pa.binary(_WIDTH))
    codes = np.frombuffer(fixed.buffers()[1] or b"", dtype=np.uint8).reshape(-1, _WIDTH)
    return codes[fixed.offset : fixed.offset + len(fixed)]


def _is_digit(codes: UInt8Array) -> BoolArray:
    flags: BoolArray = (codes >= ord("0")) & (codes <= ord("9"))
    return flags


def _number(digits: UInt8Array) -> Ordinals:
    """The number of some digits; of other bytes anything."""
    weights = 10 ** np.arange(digits.shape[1] - 1, -1, -1)
    values = np.where(_is_digit(digits), digits.astype(np.int64) - ord("0"), 0)
    return np.asarray(values @ weights)


def _like(ordinals: Ordinals, shape: Values) -> Ordinals:
    return np.asarray(ordinals[0]) if isinstance(shape, pa.Scalar) else ordinals
