"""Sums, differences, products and quotients: of whole numbers, and of floats as engines do.

They are monotone in each operand. There is a margin where an engine may compute in float32 or in
decimals.

Integers that overflow wrap, are NULL or raise an error, depending on the engine: then there are no
bounds. Decimals are exact if the result has at most 38 digits; beyond, engines round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyScalar, BoolArray
from pyhudi_expr.expr.domains import (
    MAX_DIGITS,
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Ordinals,
    Values,
    as_decimal,
    float_ordinals,
    floats_of,
    integer_range,
    mask_and,
    mask_or,
    may_be_nan,
)
from pyhudi_expr.expr.functions.casts import conversion
from pyhudi_expr.expr.functions.conversions import Within, identity, identity_or_null, nudge_doubles
from pyhudi_expr.expr.functions.signature import (
    DOUBLE,
    NUMBERS,
    SINGLE,
    After,
    Function,
    OnOperands,
    Rule,
    Signature,
    Site,
    greatest_known,
    least_known,
    opaque,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.functions.wide_decimals import BY_DOUBLES, FromDoubles, magnitude, negated

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
        found = where_known(~zero, lower, ~zero, upper, bounds)
        return replace(found, may_be_null=mask_or(found.may_be_null, zero))


_MAX_ARROW_DIGITS = 76


#: The places to which engines may round decimals that would have more than 38 digits.
_ROUNDED_PLACES = 6


#: Below it doubles show for certain that int64 has not overflowed.
_SAFE = 2.0**63 - 2.0**13


_WIDE_OPERATIONS: dict[str, Binary] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def _arithmetic(site: Site) -> Signature | None:
    if len(site.domains) == 1:
        return negation(site) if site.name == "-" else Signature(identity, site.domains[0])
    if len(site.domains) != 2 or any(domain.kind not in NUMBERS for domain in site.domains):
        return None
    kinds = {domain.kind for domain in site.domains}
    if Kind.FLOAT in kinds:
        return float_arithmetic(site)
    if kinds == {Kind.INTEGER}:
        return _integer_arithmetic(site)
    return _decimal_arithmetic(site)


def _integer_arithmetic(site: Site) -> Signature:
    columns = [d for d, given in zip(site.domains, site.literals, strict=True) if given is None]
    domain = Domain(Kind.INTEGER, bits=max(domain.bits for domain in site.domains))
    # Engines compute in the wider type, but may type a literal as a narrow one.
    bits = max(operand.bits for operand in columns or site.domains)
    return Signature(_Fixed(site.name, *integer_range(bits)), domain)


def _decimal_arithmetic(site: Site) -> Signature | None:
    left, right = (_digits(site, index) for index in (0, 1))
    if site.name == "*":
        common = max(left.precision - left.scale, right.precision - right.scale)
        if common + max(left.scale, right.scale) > MAX_DIGITS:
            return by_doubles(site)  # some engines round the factors
        scale, precision = left.scale + right.scale, left.precision + right.precision + 1
        result = Domain(Kind.DECIMAL, precision=precision, scale=scale)
        targets = (replace(left), replace(right))
    else:
        scale = max(left.scale, right.scale)
        whole = max(left.precision - left.scale, right.precision - right.scale)
        result = Domain(Kind.DECIMAL, precision=whole + scale + 1, scale=scale)
        targets = (result, result)
    if not result.is_ordinal:
        targets = tuple(replace(t, precision=max(t.precision, 19)) for t in targets)  # type: ignore[assignment]
    digits = sum(t.precision for t in targets) if site.name == "*" else result.precision
    if digits >= _MAX_ARROW_DIGITS:  # Arrow's results have one digit more
        return by_doubles(site)
    found = [conversion(own, target) for own, target in zip(site.domains, targets, strict=True)]
    if None in found:
        return by_doubles(site)
    function: Function
    if result.is_ordinal:
        function = _Fixed(site.name, -(10**result.precision), 10**result.precision)
    else:
        function = _WideDecimals(site.name, targets, result)
    return Signature(OnOperands(function, tuple(enumerate(found))), result)


def _digits(site: Site, index: int) -> Domain:
    """Return the decimal domain of an argument; for a literal the digits that it needs."""
    whole = site.integer(index)
    if whole is not None:
        return Domain(Kind.DECIMAL, precision=len(str(abs(whole))))
    return as_decimal(site.domains[index])


@dataclass(frozen=True)
class _Fixed:
    """A sum, difference or product of ordinals; beyond [least, greatest] it may be any value."""

    operation: str
    least: int
    greatest: int

    def __call__(self, *operands: Bounds) -> Bounds:
        left, right = operands
        operation = OPERATIONS[self.operation]
        with np.errstate(over="ignore"):
            corners = corners_of(operation, ordinals(left), ordinals(right))
        # Doubles show where int64 itself overflows.
        doubles = [ends.astype(np.float64) for ends in (*ordinals(left), *ordinals(right))]
        estimates = corners_of(operation, (doubles[0], doubles[1]), (doubles[2], doubles[3]))
        lower, upper = reduce(np.minimum, corners), reduce(np.maximum, corners)
        inside: BoolArray = reduce(np.maximum, [np.abs(one) for one in estimates]) < _SAFE
        inside = inside & (lower >= self.least) & (upper <= self.greatest)
        result = Within(MIN_ORDINAL, MAX_ORDINAL).result(lower, upper, inside, left)
        values = mask_and(left.may_be_value, right.may_be_value)
        return replace(
            result, may_be_value=values, may_be_null=mask_or(result.may_be_null, right.may_be_null)
        )


@dataclass(frozen=True)
class _WideDecimals:
    """A sum, difference or product of decimals with more than 18 digits."""

    operation: str
    types: tuple[Domain, ...]
    result: Domain

    def __call__(self, *operands: Bounds) -> Bounds:
        operation = _WIDE_OPERATIONS[self.operation]
        left, right = (
            [self._narrow(ends, domain) for ends in (operand.lower, operand.upper)]
            for operand, domain in zip(operands, self.types, strict=True)
        )
        corners = [
            pc.cast(corner, self.result.arrow_type)
            for corner in corners_of(operation, (left[0], left[1]), (right[0], right[1]))
        ]
        lower, upper = corners[0], corners[0]
        for corner in corners[1:]:
            lower, upper = least_known(lower, corner), greatest_known(upper, corner)
        rounded = self.result.precision > MAX_DIGITS
        if rounded and self.result.scale > _ROUNDED_PLACES:
            error = pa.scalar(Decimal(1).scaleb(-_ROUNDED_PLACES), self.result.arrow_type)
            lower, upper = self._sum(pc.subtract, lower, error), self._sum(pc.add, upper, error)
        return Bounds(
            lower,
            upper,
            mask_and(*(operand.may_be_value for operand in operands)),
            mask_or(rounded, *(operand.may_be_null for operand in operands)),
        )

    def _sum(self, operation: Binary, ends: Values, error: AnyScalar) -> Values:
        # Arrow's sum has one digit more, at most 76.
        narrow = pa.decimal256(_MAX_ARROW_DIGITS - 1, self.result.scale)
        added = operation(pc.cast(ends, narrow), pc.cast(error, narrow))
        return pc.cast(added, self.result.arrow_type)

    @staticmethod
    def _narrow(ends: Values, domain: Domain) -> Values:
        """Return the ends with no more digits than needed, or Arrow's own result has too many."""
        try:
            return pc.cast(ends, pa.decimal256(domain.precision, domain.scale))
        except pa.ArrowInvalid:  # ends beyond the type are no bounds
            type_ = pa.decimal256(domain.precision, domain.scale)
            size = len(ends) if isinstance(ends, pa.Array) else None
            return pa.scalar(None, type_) if size is None else pa.nulls(size, type_)


def negation(site: Site) -> Signature | None:
    """Return the signature of ``-x``."""
    domain = site.domains[0]
    if domain.kind is Kind.INTEGER:
        return Signature(_Negated(-integer_range(domain.bits)[1]), domain)
    if domain.kind in (Kind.FLOAT, Kind.DECIMAL) and domain.is_ordinal:
        return Signature(_Negated(-MAX_ORDINAL), domain)
    return Signature(negated, domain) if domain.kind in NUMBERS else None


@dataclass(frozen=True)
class _Negated:
    """``-x``; below `least` the type has no negative. NaN stays NaN."""

    least: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        inside = (lower >= self.least) & (upper < MAX_ORDINAL)
        return Within(MIN_ORDINAL, MAX_ORDINAL).result(
            np.where(inside, -upper, 0),
            np.where(inside, -np.maximum(lower, -MAX_ORDINAL), 0),
            inside,
            operand,
        )


def _abs(site: Site) -> Signature | None:
    domain = site.domains[0]
    if len(site.domains) != 1 or domain.kind not in NUMBERS:
        return None
    if not domain.is_ordinal:
        return Signature(magnitude, domain)
    bits = domain.bits if domain.kind is Kind.INTEGER else 64
    return Signature(_Magnitude(-integer_range(bits)[1]), domain)


@dataclass(frozen=True)
class _Magnitude:
    """``abs(x)``; below `least` the type has no positive. Floats' ordinals are symmetric, too."""

    least: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        inside = lower >= self.least
        lower = np.maximum(lower, self.least)
        flipped = np.maximum(upper, self.least)
        nearest = np.where(lower > 0, lower, np.where(upper < 0, -flipped, 0))
        farthest = np.maximum(-lower, upper)
        return Within(MIN_ORDINAL, MAX_ORDINAL).result(nearest, farthest, inside, operand)


def _signed(site: Site) -> Signature | None:
    if len(site.domains) != 1:
        return None
    return negation(site) if site.name == "negative" else Signature(identity, site.domains[0])


RULES: dict[str, Rule] = {
    **dict.fromkeys(("+", "-", "*"), _arithmetic),
    "/": quotient,
    **dict.fromkeys(("negative", "positive"), _signed),
    "abs": _abs,
}
