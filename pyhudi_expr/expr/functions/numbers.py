"""Arithmetic: sums, products, quotients, signs, roundings, and the least and greatest of several.

Integers wrap, are NULL or fail where they overflow, as the engine likes: the bounds then say
nothing. Decimals are exact as long as the result's digits fit into 38; beyond, engines round.
Floats are computed as the engines compute them, which is monotone in each operand.
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

from pyhudi_expr.expr.bounds import Bounds, Values, both, either, may_be_nan
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    Ordinals,
    float_ordinals,
    floats_of,
    integer_range,
)
from pyhudi_expr.expr.functions.casts import (
    Within,
    as_decimal,
    as_read,
    common_domain,
    conversion,
    nudged,
    same,
    within,
)
from pyhudi_expr.expr.functions.signature import (
    Flags,
    Function,
    Of,
    Rule,
    Signature,
    Site,
    greatest,
    least,
    of_first,
    opaque,
    ordinals,
    perhaps_null,
    where_known,
)

_INT, _LONG = Domain(Kind.INTEGER, bits=32), Domain(Kind.INTEGER, bits=64)
_DOUBLE = Domain(Kind.FLOAT, bits=64)
_MAX_DIGITS, _MAX_ARROW_DIGITS = 38, 76
#: To how many places engines may round decimals that would have more than 38 digits.
_ROUNDED_PLACES = 6
#: Below it doubles tell for certain that int64 has not overflown.
_SAFE = 2.0**63 - 2.0**13
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
_Binary = Callable[[Any, Any], Any]
_OPERATIONS: dict[str, _Binary] = {"+": np.add, "-": np.subtract, "*": np.multiply}
_WIDE_OPERATIONS: dict[str, _Binary] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def _arithmetic(site: Site) -> Signature | None:
    if len(site.domains) == 1:
        return _negation(site) if site.name == "-" else Signature(same, site.domains[0])
    if len(site.domains) != 2 or any(domain.kind not in _NUMBERS for domain in site.domains):
        return None
    kinds = {domain.kind for domain in site.domains}
    if Kind.FLOAT in kinds:
        return _float_arithmetic(site)
    if kinds == {Kind.INTEGER}:
        return _integer_arithmetic(site)
    return _decimal_arithmetic(site)


def _integer_arithmetic(site: Site) -> Signature:
    columns = [d for d, given in zip(site.domains, site.literals, strict=True) if given is None]
    domain = Domain(Kind.INTEGER, bits=max(domain.bits for domain in site.domains))
    # Engines compute in the wider type, but may take a literal for a narrow one.
    bits = max(operand.bits for operand in columns or site.domains)
    return Signature(_Fixed(site.name, *integer_range(bits)), domain)


def _decimal_arithmetic(site: Site) -> Signature | None:
    left, right = (_digits(site, index) for index in (0, 1))
    if site.name == "*":
        scale, precision = left.scale + right.scale, left.precision + right.precision + 1
        result = Domain(Kind.DECIMAL, precision=precision, scale=scale)
        targets = (replace(left), replace(right))
    else:
        scale = max(left.scale, right.scale)
        whole = max(left.precision - left.scale, right.precision - right.scale)
        result = Domain(Kind.DECIMAL, precision=whole + scale + 1, scale=scale)
        targets = (result, result)
    if result.precision > _MAX_ARROW_DIGITS:
        return opaque(
            replace(result, precision=_MAX_DIGITS), "decimals of many more than 38 digits"
        )
    if not result.is_ordinal:
        targets = tuple(replace(t, precision=max(t.precision, 19)) for t in targets)  # type: ignore[assignment]
    found = [conversion(own, target) for own, target in zip(site.domains, targets, strict=True)]
    if None in found:
        return opaque(result, "decimals of many digits")
    function: Function
    if result.is_ordinal:
        function = _Fixed(site.name, -(10**result.precision), 10**result.precision)
    else:
        function = _WideDecimals(site.name, targets, result)
    return Signature(Of(function, tuple(enumerate(found))), result)


def _digits(site: Site, index: int) -> Domain:
    """The decimals of an argument: of a literal those that it needs."""
    whole = site.integer(index)
    if whole is not None:
        return Domain(Kind.DECIMAL, precision=len(str(abs(whole))))
    return as_decimal(site.domains[index])


def _float_arithmetic(site: Site) -> Signature | None:
    found = [conversion(domain, _DOUBLE) for domain in site.domains]
    if None in found:
        return opaque(_DOUBLE, "floats with wide decimals")
    single = not any(domain == _DOUBLE for domain in site.domains)
    function = _Floats(site.name, single)
    return Signature(Of(function, tuple(enumerate(found))), _DOUBLE)


@dataclass(frozen=True)
class _Fixed:
    """A sum, difference or product of ordinals; beyond [least, greatest] it may be anything."""

    operation: str
    least: int
    greatest: int

    def __call__(self, *operands: Bounds) -> Bounds:
        left, right = operands
        operation = _OPERATIONS[self.operation]
        with np.errstate(over="ignore"):
            corners = _corners(operation, ordinals(left), ordinals(right))
        # Doubles tell where int64 itself overflows.
        doubles = [ends.astype(np.float64) for ends in (*ordinals(left), *ordinals(right))]
        estimates = _corners(operation, (doubles[0], doubles[1]), (doubles[2], doubles[3]))
        lower, upper = reduce(np.minimum, corners), reduce(np.maximum, corners)
        inside: Flags = reduce(np.maximum, [np.abs(one) for one in estimates]) < _SAFE
        inside = inside & (lower >= self.least) & (upper <= self.greatest)
        result = Within(MIN_ORDINAL, MAX_ORDINAL).result(lower, upper, inside, left)
        values = both(left.may_be_value, right.may_be_value)
        return replace(
            result, may_be_value=values, may_be_null=either(result.may_be_null, right.may_be_null)
        )


def _corners(operation: _Binary, left: tuple[Any, Any], right: tuple[Any, Any]) -> list[Any]:
    return [operation(one, other) for one in left for other in right]


@dataclass(frozen=True)
class _WideDecimals:
    """A sum, difference or product of decimals of more than 18 digits."""

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
            for corner in _corners(operation, (left[0], left[1]), (right[0], right[1]))
        ]
        lower, upper = corners[0], corners[0]
        for corner in corners[1:]:
            lower, upper = least(lower, corner), greatest(upper, corner)
        rounded = self.result.precision > _MAX_DIGITS
        if rounded and self.result.scale > _ROUNDED_PLACES:
            error = pa.scalar(Decimal(1).scaleb(-_ROUNDED_PLACES), self.result.arrow_type)
            lower, upper = self._sum(pc.subtract, lower, error), self._sum(pc.add, upper, error)
        return Bounds(
            lower,
            upper,
            both(*(operand.may_be_value for operand in operands)),
            either(rounded, *(operand.may_be_null for operand in operands)),
        )

    def _sum(self, operation: _Binary, ends: Any, error: pa.Scalar) -> Any:
        # Arrow gives a sum one digit more, and has no more than 76.
        narrow = pa.decimal256(_MAX_ARROW_DIGITS - 1, self.result.scale)
        added = operation(pc.cast(ends, narrow), pc.cast(error, narrow))
        return pc.cast(added, self.result.arrow_type)

    @staticmethod
    def _narrow(ends: Values, domain: Domain) -> Any:
        """With no more digits than needed, or Arrow's own result has too many."""
        try:
            return pc.cast(ends, pa.decimal256(domain.precision, domain.scale))
        except pa.ArrowInvalid:  # ends beyond the type: they bound nothing
            type_ = pa.decimal256(domain.precision, domain.scale)
            size = len(ends) if isinstance(ends, pa.Array) else None
            return pa.scalar(None, type_) if size is None else pa.nulls(size, type_)


@dataclass(frozen=True)
class _Floats:
    """An operation of doubles. single: an engine may compute it in float32."""

    operation: str
    single: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        left, right = operands
        operation = np.divide if self.operation == "/" else _OPERATIONS[self.operation]
        values = [_finite_or_infinite(*ordinals(operand)) for operand in operands]
        with np.errstate(all="ignore"):
            corners = _corners(operation, values[0], values[1])
            if self.single:
                singles = [tuple(ends.astype(np.float32) for ends in pair) for pair in values]
                for one in _corners(operation, singles[0], singles[1]):
                    steps = (np.nextafter(one, np.float32(to)) for to in (-np.inf, np.inf))
                    corners += [step.astype(np.float64) for step in steps]
            lower, upper = reduce(np.minimum, corners), reduce(np.maximum, corners)
        bounds = _float_bounds(lower, upper, both(left.may_be_value, right.may_be_value), left)
        nan = (left.upper == MAX_ORDINAL) | (right.upper == MAX_ORDINAL)
        upper_ordinals = np.where(nan, np.int64(MAX_ORDINAL), bounds.upper)
        nulls = either(left.may_be_null, right.may_be_null)
        return replace(bounds, upper=upper_ordinals, may_be_null=nulls)


def _finite_or_infinite(lower: Ordinals, upper: Ordinals) -> tuple[Any, Any]:
    """Ends as doubles, unknown ones as infinities, without the NaN that an upper end allows."""
    first, last = floats_of(lower), floats_of(upper)
    return np.where(np.isnan(first), np.inf, first), np.where(np.isnan(last), np.inf, last)


def _float_bounds(lower: Any, upper: Any, values: Any, operand: Bounds) -> Bounds:
    """Ordinals of doubles; NaN (of infinities, say) is no bound."""
    nan = np.isnan(lower) | np.isnan(upper)
    return Bounds(
        np.where(nan, np.int64(MIN_ORDINAL), float_ordinals(lower)),
        np.where(nan, np.int64(MAX_ORDINAL), float_ordinals(upper)),
        values,
        operand.may_be_null,
    )


def _division(site: Site) -> Signature | None:
    """A quotient as a double: exact for floats and integers, with a margin for decimals."""
    if len(site.domains) != 2 or any(domain.kind not in _NUMBERS for domain in site.domains):
        return None
    found = [conversion(domain, _DOUBLE) for domain in site.domains]
    if None in found:
        return opaque(_DOUBLE, "a quotient of wide decimals")
    single = Kind.FLOAT in (d.kind for d in site.domains) and _DOUBLE not in site.domains
    decimal = any(domain.kind is Kind.DECIMAL for domain in site.domains)
    return Signature(Of(_Quotient(single, decimal), tuple(enumerate(found))), _DOUBLE)


#: Engines round decimal quotients to six or more places.
_QUOTIENT_ERROR = 1e-6


@dataclass(frozen=True)
class _Quotient:
    """Division by numbers that are not zero; by zero engines give NULL, NaN or an infinity."""

    single: bool
    decimal: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        bounds = _Floats("/", self.single)(*operands)
        divisors = ordinals(operands[1])
        zero = (divisors[0] <= 0) & (divisors[1] >= 0)
        lower, upper = ordinals(bounds)
        if self.decimal:
            first = floats_of(lower) - _QUOTIENT_ERROR
            last = floats_of(upper) + _QUOTIENT_ERROR
            lower = np.where(lower == MIN_ORDINAL, lower, float_ordinals(nudged(first, -np.inf)))
            upper = np.where(upper == MAX_ORDINAL, upper, float_ordinals(nudged(last, np.inf)))
        return perhaps_null(where_known(~zero, lower, ~zero, upper, bounds))


def _negation(site: Site) -> Signature | None:
    domain = site.domains[0]
    if domain.kind is Kind.INTEGER:
        return Signature(_Negated(-integer_range(domain.bits)[1]), domain)
    if domain.kind in (Kind.FLOAT, Kind.DECIMAL) and domain.is_ordinal:
        return Signature(_Negated(-MAX_ORDINAL), domain)
    return opaque(domain, "the negative of a wide decimal") if domain.kind in _NUMBERS else None


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
    if len(site.domains) != 1 or domain.kind not in _NUMBERS:
        return None
    if not domain.is_ordinal:
        return opaque(domain, "the magnitude of a wide decimal")
    bits = domain.bits if domain.kind is Kind.INTEGER else 64
    return Signature(_Magnitude(-integer_range(bits)[1]), domain)


@dataclass(frozen=True)
class _Magnitude:
    """``abs(x)``; below `least` the type has no positive. Floats' ordinals are symmetric too."""

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


def _floor_or_ceiling(site: Site) -> Signature | None:
    domain = site.domains[0]
    if len(site.domains) != 1 or domain.kind not in _NUMBERS:
        return None
    up = site.name != "floor"
    if domain.kind is Kind.INTEGER:
        return Signature(same, domain)
    if domain.kind is Kind.FLOAT:
        return Signature(_WholeDoubles(up), _LONG)
    whole = Domain(Kind.DECIMAL, precision=max(domain.precision - domain.scale + 1, 1))
    if not domain.is_ordinal:
        return opaque(whole, "a rounding of wide decimals")
    return Signature(_WholeDecimals(10**domain.scale, up), whole)


@dataclass(frozen=True)
class _WholeDoubles:
    """The integer below or above a double; what fits no long is saturated, NaN may be anything."""

    up: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        ends = [floats_of(end) for end in ordinals(operand)]
        lower, upper = (np.ceil(end) if self.up else np.floor(end) for end in ends)
        with np.errstate(invalid="ignore"):
            inside = (lower >= -(2.0**62)) & (upper <= 2.0**62)
        whole = [np.where(inside, end, 0).astype(np.int64) for end in (lower, upper)]
        return Within(MIN_ORDINAL, MAX_ORDINAL).result(whole[0], whole[1], inside, operand)


@dataclass(frozen=True)
class _WholeDecimals:
    """The integer below or above a decimal."""

    factor: int
    up: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        known = [within(end, 10**18) for end in (lower, upper)]
        whole = [np.where(ok, end, 0) for ok, end in zip(known, (lower, upper), strict=True)]
        if self.up:
            whole = [-(-end // self.factor) for end in whole]
        else:
            whole = [end // self.factor for end in whole]
        return where_known(known[0], whole[0], known[1], whole[1], operand)


_MAX_PLACES = 12


def _round(site: Site) -> Signature | None:
    places = 0 if len(site.domains) == 1 else site.integer(1)
    domain = site.domains[0]
    if places is None or not 0 <= places <= _MAX_PLACES or domain.kind not in _NUMBERS:
        return None
    if domain.kind is Kind.INTEGER:
        return Signature(of_first(same), domain)
    if domain.kind is Kind.FLOAT:
        found = Signature(of_first(_RoundedDoubles(places)), _DOUBLE)
        return found if domain == _DOUBLE else opaque(_DOUBLE, "a rounded float")
    precision = min(domain.precision - domain.scale + places + 1, _MAX_DIGITS)
    target = Domain(Kind.DECIMAL, precision=precision, scale=min(places, domain.scale))
    rounded = conversion(domain, target) if domain.is_ordinal and target.is_ordinal else None
    return Signature(of_first(rounded), target) if rounded else opaque(target, "a wide decimal")


@dataclass(frozen=True)
class _RoundedDoubles:
    """Doubles to some places, halves away from zero; near a half the next value is allowed for."""

    places: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        first, last = _finite_or_infinite(*ordinals(operand))
        factor = 10.0**self.places
        with np.errstate(all="ignore"):
            slack = 1e-6
            lower = np.ceil(first * factor - 0.5 - slack) / factor
            upper = np.floor(last * factor + 0.5 + slack) / factor
            # Large doubles have no places to round.
            exact = [np.abs(end) * factor < 2.0**30 for end in (first, last)]
        lower = np.where(exact[0], nudged(lower, -np.inf), nudged(first - 1, -np.inf))
        upper = np.where(exact[1], nudged(upper, np.inf), nudged(last + 1, np.inf))
        bounds = _float_bounds(lower, upper, operand.may_be_value, operand)
        nan = operand.upper == MAX_ORDINAL
        return replace(bounds, upper=np.where(nan, np.int64(MAX_ORDINAL), bounds.upper))


def _remainder(site: Site) -> Signature | None:
    divisor = site.integer(1)
    if site.kind(0) is not Kind.INTEGER or not divisor or abs(divisor) >= 2**31:
        return None
    positive = site.name == "pmod"
    if positive and divisor < 0:
        return None
    return Signature(of_first(_Remainder(abs(divisor), positive)), _LONG)


@dataclass(frozen=True)
class _Remainder:
    """``x % divisor`` with the sign of x; positive: never below zero (pmod)."""

    divisor: int
    positive: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        most = self.divisor - 1
        unchanged = (lower >= (0 if self.positive else -most)) & (upper <= most)
        least = np.where((lower >= 0) | self.positive, 0, -most)
        return Bounds(
            np.where(unchanged, lower, least),
            np.where(unchanged, upper, np.where((upper <= 0) & (not self.positive), 0, most)),
            operand.may_be_value,
            operand.may_be_null,
        )


def _extreme(site: Site) -> Signature | None:
    domain = site.domains[0]
    for other in site.domains[1:]:
        common = common_domain(domain, other)
        if common is None:
            return None
        domain = common
    if domain.kind in (Kind.TEXT, Kind.BINARY, Kind.BOOLEAN):
        return opaque(domain, f"{site.name}() of {domain.kind.value} values")
    reading = as_read(domain) or same
    found = [conversion(own, domain) for own in site.domains]
    converted = [step and Of(reading, ((0, step),)) for step in found]
    if None in converted:
        return None
    is_float = domain.kind is Kind.FLOAT
    function = _Extreme(site.name == "greatest", is_float)
    return Signature(Of(function, tuple(enumerate(converted))), domain)


@dataclass(frozen=True)
class _Extreme:
    """The greatest or least of several values. Nulls are skipped, or make the result NULL."""

    of_greatest: bool
    is_float: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        lower, upper = operands[0].lower, operands[0].upper
        least_lower, greatest_upper = lower, upper
        for operand in operands[1:]:
            choose = greatest if self.of_greatest else least
            lower, upper = choose(lower, operand.lower), choose(upper, operand.upper)
            least_lower = least(least_lower, operand.lower)
            greatest_upper = greatest(greatest_upper, operand.upper)
        nulls = either(*(operand.may_be_null for operand in operands))
        # Engines order NaN as they like.
        nan = either(*(may_be_nan(operand) for operand in operands)) if self.is_float else False
        loose = either(nulls, nan)
        return Bounds(
            _where(loose, least_lower, lower),
            _where(loose, greatest_upper, upper),
            either(*(operand.may_be_value for operand in operands)),
            nulls,
        )


def _where(flags: Any, yes: Values, no: Values) -> Values:
    if isinstance(flags, bool | np.bool_):
        return yes if flags else no
    if isinstance(yes, np.ndarray | np.int64):
        return np.where(flags, yes, no)
    return pc.if_else(pa.array(flags), yes, no)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("+", "-", "*"), _arithmetic),
    "/": _division,
    **dict.fromkeys(("%", "pmod", "mod"), _remainder),
    **dict.fromkeys(("negative", "positive"), lambda site: _signed(site)),
    "abs": _abs,
    **dict.fromkeys(("floor", "ceil", "ceiling"), _floor_or_ceiling),
    "round": _round,
    **dict.fromkeys(("greatest", "least"), _extreme),
}


def _signed(site: Site) -> Signature | None:
    if len(site.domains) != 1:
        return None
    return _negation(site) if site.name == "negative" else Signature(same, site.domains[0])
