"""Bounds of a term's values in each of N containers, and comparisons of bounds.

Everything is vectorised over the containers; a bound of a literal is a scalar and broadcasts. Every
comparison here returns whether it may be TRUE: for an unknown bound it may.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    AnyScalar,
    Mask,
    numpy_flags,
)
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Domain

#: Bounds in their physical form (see `pyhudi_expr.expr.domains`): ordinals of numpy, or values of
#: Arrow; arrays or scalars. Those of one domain have one form, which no static type can say.
Values: TypeAlias = Any


@dataclass(frozen=True)
class Bounds:
    """Minimum and maximum of a term, and whether values and nulls may occur.

    Attributes:
        lower: N ordinals or an Arrow array of length N (a scalar for all). No value of the
            container is less; it need not be attained.
        upper: The same for the maximum.
        may_be_value: False where every row is proved null (or there is no row).
        may_be_null: False where no row is null.
    """

    lower: Values
    upper: Values
    may_be_value: Mask = True
    may_be_null: Mask = True


def unknown(domain: Domain) -> Bounds:
    """Return bounds that allow every value."""
    if domain.is_ordinal:
        return Bounds(np.int64(MIN_ORDINAL), np.int64(MAX_ORDINAL))
    nothing = pa.scalar(None, type=domain.arrow_type)
    return Bounds(nothing, nothing)


def may_be_less(left: Values, right: Values) -> Mask:
    """Return whether ``left < right`` may hold; True where either is unknown."""
    if _is_ordinal(left):
        return np.less(left, right)
    return _arrow_mask(pc.less(left, right))


def may_be_at_most(left: Values, right: Values) -> Mask:
    """Return whether ``left <= right`` may hold; True where either is unknown."""
    if _is_ordinal(left):
        return np.less_equal(left, right)
    return _arrow_mask(pc.less_equal(left, right))


def may_differ(left: Values, right: Values) -> Mask:
    """Return whether ``left <> right`` may hold; True where either is unknown."""
    if _is_ordinal(left):
        return np.not_equal(left, right)
    return _arrow_mask(pc.not_equal(left, right))


def may_be_nan(bounds: Bounds) -> Mask:
    """Return whether NaN may be among the floats; it sorts above all of them."""
    answer: Mask = bounds.upper == MAX_ORDINAL
    return answer


def is_known(bounds: Bounds) -> Mask:
    """Return whether at least one end is a bound."""
    lower, upper = bounds.lower, bounds.upper
    if isinstance(lower, np.ndarray | np.int64):
        return np.not_equal(lower, MIN_ORDINAL) | np.not_equal(upper, MAX_ORDINAL)
    return mask_or(_is_given(lower), _is_given(upper))


def _is_given(values: Values) -> Mask:
    if isinstance(values, pa.Scalar):
        return bool(values.is_valid)
    return numpy_flags(pc.is_valid(values))


def mask_not(mask: Mask) -> Mask:
    """Return NOT of a mask."""
    return not mask if isinstance(mask, bool | np.bool_) else ~mask


def _is_ordinal(values: Values) -> bool:
    return isinstance(values, np.ndarray | np.int64)


def _arrow_mask(answer: AnyArray | AnyScalar) -> Mask:
    if isinstance(answer, pa.Scalar):
        return answer.as_py() is not False
    return numpy_flags(answer, True)


def mask_and(*masks: Mask) -> Mask:
    """Return AND of masks; constants cost nothing."""
    result: Mask = True
    for mask in masks:
        if isinstance(mask, bool | np.bool_):
            if not mask:
                return False
        else:
            result = mask if result is True else result & mask
    return result


def mask_or(*masks: Mask) -> Mask:
    """Return OR of masks; constants cost nothing."""
    result: Mask = False
    for mask in masks:
        if isinstance(mask, bool | np.bool_):
            if mask:
                return True
        else:
            result = mask if result is False else result | mask
    return result
