"""Rounding of numbers, the remainders of divisions, and the least and greatest of values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, arrow_array
from pyhudi_expr.expr.domains import (
    MAX_DIGITS,
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Values,
    common_domain,
    floats_of,
    mask_or,
    may_be_nan,
)
from pyhudi_expr.expr.functions.arithmetic import finite_or_infinite, float_bounds
from pyhudi_expr.expr.functions.casts import as_read, conversion
from pyhudi_expr.expr.functions.conversions import (
    Within,
    identity,
    identity_or_null,
    nudge_doubles,
    within,
)
from pyhudi_expr.expr.functions.signature import (
    DOUBLE,
    LONG,
    NUMBERS,
    ByValue,
    OnOperands,
    Rule,
    Signature,
    Site,
    greatest_known,
    least_known,
    nullable_where,
    on_first,
    opaque,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.functions.wide_decimals import Refitted, Whole
from pyhudi_expr.expr.nodes import AS_BIGINT


def _extreme(site: Site) -> Signature | None:
    domain = site.domains[0]
    for other in site.domains[1:]:
        common = common_domain(domain, other)
        if common is None:
            return None
        domain = common
    if domain.kind in (Kind.TEXT, Kind.BINARY, Kind.BOOLEAN):
        return opaque(domain, f"{site.name}() of {domain.kind.value} values")
    reading = as_read(domain) or identity
    found = [conversion(own, domain) for own in site.domains]
    converted = [step and OnOperands(reading, ((0, step),)) for step in found]
    if None in converted:
        return None
    is_float = domain.kind is Kind.FLOAT
    function = _Extreme(site.name == "greatest", is_float)
    return Signature(OnOperands(function, tuple(enumerate(converted))), domain)


@dataclass(frozen=True)
class _Extreme:
    """The greatest or least of several values. Nulls are skipped, or make the result NULL."""

    of_greatest: bool
    is_float: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        lower, upper = operands[0].lower, operands[0].upper
        least_lower, greatest_upper = lower, upper
        for operand in operands[1:]:
            choose = greatest_known if self.of_greatest else least_known
            lower, upper = choose(lower, operand.lower), choose(upper, operand.upper)
            least_lower = least_known(least_lower, operand.lower)
            greatest_upper = greatest_known(greatest_upper, operand.upper)
        nulls = mask_or(*(operand.may_be_null for operand in operands))
        # Engines order NaN differently.
        nan = mask_or(*(may_be_nan(operand) for operand in operands)) if self.is_float else False
        loose = mask_or(nulls, nan)
        return Bounds(
            _where(loose, least_lower, lower),
            _where(loose, greatest_upper, upper),
            mask_or(*(operand.may_be_value for operand in operands)),
            nulls,
        )


def _where(flags: Values, yes: Values, no: Values) -> Values:
    if isinstance(flags, bool | np.bool_):
        return yes if flags else no
    if isinstance(yes, np.ndarray | np.int64):
        return np.where(flags, yes, no)
    return pc.if_else(pa.array(flags), yes, no)


def _floor_or_ceiling(site: Site) -> Signature | None:
    domain = site.domains[0]
    if len(site.domains) != 1 or domain.kind not in NUMBERS:
        return None
    up = site.name != "floor"
    if domain.kind is Kind.INTEGER:
        return Signature(_longs_by_doubles, LONG)
    if domain.kind is Kind.FLOAT:
        return Signature(_WholeDoubles(up), LONG)
    whole = Domain(Kind.DECIMAL, precision=max(domain.precision - domain.scale + 1, 1))
    if not domain.is_ordinal:
        return Signature(on_first(Refitted(whole), Whole(up)), whole)
    return Signature(_WholeDecimals(10**domain.scale, up), whole)


def _longs_by_doubles(*operands: Bounds) -> Bounds:
    """Return integers unchanged, or in Hive as the doubles next to them."""
    (operand,) = operands
    lower, upper = ordinals(operand)
    first, last = (end.astype(np.float64) for end in (lower, upper))
    inside = (np.abs(first) < _EXACT) & (np.abs(last) < _EXACT)
    rounded = [np.where(np.abs(end) < _LARGEST_LONG, end, 0).astype(np.int64)
               for end in (first, last)]  # fmt: skip
    least = np.where(first >= _LARGEST_LONG, lower, np.minimum(lower, rounded[0]))
    greatest = np.where(last >= _LARGEST_LONG, np.int64(MAX_ORDINAL), rounded[1])
    greatest = np.where(inside, upper, np.maximum(upper, greatest))
    least = np.where(first <= -_LARGEST_LONG, np.int64(MIN_ORDINAL), least)
    return replace(operand, lower=np.where(inside, lower, least), upper=greatest)


_LARGEST_LONG = 2.0**63
#: All integers below this magnitude are doubles.
_EXACT = 2.0**53


@dataclass(frozen=True)
class _WholeDoubles:
    """The integer below or above a double, saturated to long; NaN may be any value."""

    up: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        ends = [floats_of(end) for end in ordinals(operand)]
        with np.errstate(invalid="ignore"):
            lower, upper = (np.ceil(end) if self.up else np.floor(end) for end in ends)
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
    if places is None or not 0 <= places <= _MAX_PLACES or domain.kind not in NUMBERS:
        return None
    if domain.kind is Kind.INTEGER:
        return Signature(on_first(identity), domain)
    if domain.kind is Kind.FLOAT:
        found = Signature(on_first(_RoundedDoubles(places)), DOUBLE)
        return found if domain == DOUBLE else opaque(DOUBLE, "a rounded float")
    precision = min(domain.precision - domain.scale + places + 1, MAX_DIGITS)
    target = Domain(Kind.DECIMAL, precision=precision, scale=min(places, domain.scale))
    rounded = conversion(domain, target)
    return Signature(on_first(identity_or_null, rounded), target) if rounded else None


@dataclass(frozen=True)
class _RoundedDoubles:
    """Doubles rounded to some places, halves away from zero; near a half either neighbour."""

    places: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        first, last = finite_or_infinite(*ordinals(operand))
        factor = 10.0**self.places
        with np.errstate(all="ignore"):
            slack = 1e-6
            lower = np.ceil(first * factor - 0.5 - slack) / factor
            upper = np.floor(last * factor + 0.5 + slack) / factor
            # Large doubles have no fraction to round.
            exact = [np.abs(end) * factor < 2.0**30 for end in (first, last)]
        lower = np.where(exact[0], nudge_doubles(lower, -np.inf), nudge_doubles(first - 1, -np.inf))
        upper = np.where(exact[1], nudge_doubles(upper, np.inf), nudge_doubles(last + 1, np.inf))
        # Hive's vectors round through longs: larger doubles become the largest, NaN zero.
        lower, upper = np.minimum(lower, _LARGEST_LONG), np.maximum(upper, -_LARGEST_LONG)
        nan = operand.upper == MAX_ORDINAL
        lower = np.where(nan, np.minimum(lower, 0), lower)
        bounds = nullable_where(float_bounds(lower, upper, operand.may_be_value, operand), nan)
        return replace(bounds, upper=np.where(nan, np.int64(MAX_ORDINAL), bounds.upper))


def _remainder(site: Site) -> Signature | None:
    divisor = site.integer(1)
    if site.kind(0) is not Kind.INTEGER or not divisor or abs(divisor) >= 2**31:
        return None
    positive = site.name == "pmod"
    if positive and divisor < 0:
        return None
    widest = max(site.domains, key=lambda domain: domain.bits)
    if positive and divisor > _LARGEST_ADDED:
        return Signature(on_first(_AnyRemainder(divisor)), widest)
    bounded = _Remainder(abs(divisor), positive)
    exact = _RemainderOfValues(abs(divisor), positive)
    return Signature(on_first(ByValue(exact, bounded, widest)), widest)


#: Hive adds the divisor to the remainder before the second remainder: integers overflow.
_LARGEST_ADDED = 2**30


@dataclass(frozen=True)
class _AnyRemainder:
    """All remainders of a divisor, of either sign."""

    divisor: int

    def __call__(self, *operands: Bounds) -> Bounds:
        most = np.int64(self.divisor - 1)
        return replace(operands[0], lower=-most, upper=most)


@dataclass(frozen=True)
class _RemainderOfValues:
    """The remainders of values, see `_Remainder`."""

    divisor: int
    positive: bool

    def __call__(self, *values: AnyArray) -> AnyArray:
        numbers = np.asarray(values[0].fill_null(0))
        remainder = np.mod if self.positive else np.fmod
        return arrow_array(remainder(numbers, self.divisor), np.asarray(values[0].is_null()))


@dataclass(frozen=True)
class _Remainder:
    """``x % divisor`` with the sign of x; if `positive`, never below zero (pmod)."""

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


def _whole_quotient(site: Site) -> Signature | None:
    """Return the signature of ``x div divisor`` for integers, truncated towards zero."""
    divisor = site.integer(1)
    if site.kind(0) is not Kind.INTEGER or not divisor or len(site.domains) != 2:
        return None
    return Signature(on_first(_WholeQuotient(divisor)), LONG)


@dataclass(frozen=True)
class _WholeQuotient:
    divisor: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        ends = ordinals(operand)
        known = [(end > MIN_ORDINAL) & (end < MAX_ORDINAL) for end in ends]
        size = abs(self.divisor)
        whole = [np.sign(end) * (np.abs(np.where(ok, end, 0)) // size)
                 for ok, end in zip(known, ends, strict=True)]  # fmt: skip
        if self.divisor < 0:
            return where_known(known[1], -whole[1], known[0], -whole[0], operand)
        return where_known(known[0], whole[0], known[1], whole[1], operand)


def _as_bigint(site: Site) -> Signature | None:
    is_integer = [domain.kind for domain in site.domains] == [Kind.INTEGER]
    return Signature(identity, LONG) if is_integer else None


RULES: dict[str, Rule] = {
    AS_BIGINT: _as_bigint,
    **dict.fromkeys(("greatest", "least"), _extreme),
    "div": _whole_quotient,
    **dict.fromkeys(("%", "pmod", "mod"), _remainder),
    **dict.fromkeys(("floor", "ceil", "ceiling"), _floor_or_ceiling),
    "round": _round,
}
