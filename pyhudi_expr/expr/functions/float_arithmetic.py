"""Sums, differences, products and quotients of floats, computed like the engines do.

They are monotone in each operand. There is a margin where an engine may compute in float32 or in
decimals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from pyhudi_expr.expr.bounds import Bounds, Values, mask_and, mask_or, may_be_nan
from pyhudi_expr.expr.common_domains import MAX_DIGITS, as_decimal
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Kind,
    Ordinals,
    float_ordinals,
    floats_of,
)
from pyhudi_expr.expr.functions.casts import conversion
from pyhudi_expr.expr.functions.conversions import identity_or_null
from pyhudi_expr.expr.functions.float_conversions import nudge_doubles
from pyhudi_expr.expr.functions.signature import (
    DOUBLE,
    NUMBERS,
    SINGLE,
    After,
    OnOperands,
    Signature,
    Site,
    nullable_where,
    opaque,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.functions.wide_decimals import BY_DOUBLES, FromDoubles

Binary = Callable[[Any, Any], Any]


OPERATIONS: dict[str, Binary] = {"+": np.add, "-": np.subtract, "*": np.multiply}


def float_arithmetic(site: Site) -> Signature | None:
    """Return the signature. Without a double operand the result is float32 for some engines."""
    found = [conversion(domain, DOUBLE) for domain in site.domains]
    if None in found:
        return opaque(DOUBLE, "floats with wide decimals")
    single = not any(domain == DOUBLE for domain in site.domains)
    function = _Floats(site.name, single)
    return Signature(OnOperands(function, tuple(enumerate(found))), SINGLE if single else DOUBLE)


def corners_of(operation: Binary, left: tuple[Any, Any], right: tuple[Any, Any]) -> list[Any]:
    """Return the results for each combination of the operands' ends."""
    return [operation(one, other) for one in left for other in right]


@dataclass(frozen=True)
class _Floats:
    """An operation on doubles.

    Attributes:
        single: Whether an engine may compute it in float32.
    """

    operation: str
    single: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        left, right = operands
        operation = np.divide if self.operation == "/" else OPERATIONS[self.operation]
        values = [finite_or_infinite(*ordinals(operand)) for operand in operands]
        with np.errstate(all="ignore"):
            corners = corners_of(operation, values[0], values[1])
            if self.single:
                singles = [tuple(ends.astype(np.float32) for ends in pair) for pair in values]
                for one in corners_of(operation, singles[0], singles[1]):
                    steps = (np.nextafter(one, np.float32(to)) for to in (-np.inf, np.inf))
                    corners += [step.astype(np.float64) for step in steps]
            lower, upper = reduce(np.minimum, corners), reduce(np.maximum, corners)
        bounds = float_bounds(lower, upper, mask_and(left.may_be_value, right.may_be_value), left)
        nan = _may_give_nan(self.operation, *values) | may_be_nan(left) | may_be_nan(right)
        upper_ordinals = np.where(nan, np.int64(MAX_ORDINAL), bounds.upper)
        nulls = mask_or(left.may_be_null, right.may_be_null)
        return replace(bounds, upper=upper_ordinals, may_be_null=nulls)


def _may_give_nan(operation: str, left: tuple[Any, Any], right: tuple[Any, Any]) -> Values:
    """Return whether numbers of these ranges may give NaN, as in ``inf - inf`` and ``0 * inf``."""
    infinite = [np.isinf(lower) | np.isinf(upper) for lower, upper in (left, right)]
    zero = [(lower <= 0) & (upper >= 0) for lower, upper in (left, right)]
    if operation == "*":
        return (infinite[0] & zero[1]) | (zero[0] & infinite[1])
    both_infinite = infinite[0] & infinite[1]
    return both_infinite | (zero[0] & zero[1]) if operation == "/" else both_infinite


def finite_or_infinite(lower: Ordinals, upper: Ordinals) -> tuple[Any, Any]:
    """Return ends as doubles, unknown ones as infinities, without the NaN of an upper end."""
    first, last = floats_of(lower), floats_of(upper)
    return np.where(np.isnan(first), np.inf, first), np.where(np.isnan(last), np.inf, last)


def float_bounds(lower: Values, upper: Values, values: Values, operand: Bounds) -> Bounds:
    """Return ordinals of doubles; NaN (of infinities, for example) is no bound."""
    nan = np.isnan(lower) | np.isnan(upper)
    return Bounds(
        np.where(nan, np.int64(MIN_ORDINAL), float_ordinals(lower)),
        np.where(nan, np.int64(MAX_ORDINAL), float_ordinals(upper)),
        values,
        operand.may_be_null,
    )


def quotient(site: Site) -> Signature | None:
    """Return a quotient as a double: exact for floats and integers, with a margin for decimals."""
    if len(site.domains) != 2 or any(domain.kind not in NUMBERS for domain in site.domains):
        return None
    kinds = {domain.kind for domain in site.domains}
    decimal = Kind.DECIMAL in kinds
    if decimal and Kind.FLOAT not in kinds:
        return by_doubles(site)
    found = [conversion(domain, DOUBLE) for domain in site.domains]
    if None in found:
        return opaque(DOUBLE, "a quotient of no numbers")
    single = Kind.FLOAT in kinds and DOUBLE not in site.domains
    return Signature(OnOperands(_Quotient(single, decimal), tuple(enumerate(found))), DOUBLE)


#: To how much engines may round decimals that would have more than 38 digits, and quotients; those
#: to two places where Spark keeps all of a quotient's digits before the point.
ROUNDING_ERROR = 1e-6
_LARGE_QUOTIENT_ERROR = 1e-2


def by_doubles(site: Site) -> Signature:
    """Return arithmetic of decimals, bounded through doubles."""
    left, right = (as_decimal(domain) for domain in site.domains)
    common = max(left.precision - left.scale, right.precision - right.scale)
    # Spark before 3.4 converts both to one type, and rounds if that has more than 38 digits.
    loose = common + max(left.scale, right.scale) > MAX_DIGITS
    error = ROUNDING_ERROR
    if site.name == "/":
        whole = left.precision - left.scale + right.scale
        if whole + max(6, left.scale + right.precision + 1) > MAX_DIGITS:
            error = _LARGE_QUOTIENT_ERROR
    operation = _Quotient(False, False) if site.name == "/" else _Floats(site.name, False)
    operands = [conversion(own, DOUBLE) for own in site.domains]
    if loose:
        operands = [
            found and OnOperands(_Loosened(ROUNDING_ERROR), ((0, found),)) for found in operands
        ]
    computed = OnOperands(operation, tuple(enumerate(operands)))
    return Signature(After(identity_or_null, After(FromDoubles(error), computed)), BY_DOUBLES)


@dataclass(frozen=True)
class _Loosened:
    """Doubles with an error margin."""

    error: float

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        return where_known(
            lower != MIN_ORDINAL,
            float_ordinals(nudge_doubles(floats_of(lower) - self.error, -np.inf)),
            upper != MAX_ORDINAL,
            float_ordinals(nudge_doubles(floats_of(upper) + self.error, np.inf)),
            operand,
        )


@dataclass(frozen=True)
class _Quotient:
    """Division by numbers that are not zero; by zero engines return NULL, NaN or an infinity."""

    single: bool
    decimal: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        bounds = _Floats("/", self.single)(*operands)
        divisors = ordinals(operands[1])
        zero = (divisors[0] <= 0) & (divisors[1] >= 0)
        lower, upper = ordinals(bounds)
        if self.decimal:
            first = floats_of(lower) - ROUNDING_ERROR
            last = floats_of(upper) + ROUNDING_ERROR
            lower = np.where(
                lower == MIN_ORDINAL, lower, float_ordinals(nudge_doubles(first, -np.inf))
            )
            upper = np.where(
                upper == MAX_ORDINAL, upper, float_ordinals(nudge_doubles(last, np.inf))
            )
        return nullable_where(where_known(~zero, lower, ~zero, upper, bounds))
