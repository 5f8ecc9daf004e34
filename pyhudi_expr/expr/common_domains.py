"""Domains that several terms have in common, as engines choose them; `functions.casts` converts."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from pyhudi_expr.expr.domains import FIXED_POINT, Domain, Kind

#: Maximum digits of decimals.
MAX_DIGITS = 38

#: Numbers that are compared as they are.
NO_MARGIN = Fraction(0)

#: Digits of the integers of so many bits.
INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


def reads_unchanged(stored: Domain, declared: Domain) -> bool:
    """Return whether an engine that declares a column with a type reads stored values unchanged."""
    # Hive and Spark show instants on a wall clock; literals have the zone.
    shown = declared.kind is Kind.WALL_CLOCK and stored.kind is Kind.INSTANT
    if declared.kind is not stored.kind and not shown:
        return False
    if declared.kind is Kind.DECIMAL:
        return declared.scale == stored.scale and declared.precision >= stored.precision
    return declared.bits >= stored.bits and declared.units >= stored.units


def common_domain(left: Domain, right: Domain) -> Domain | None:
    """Return the domain in which engines compare two terms; None if they differ or round."""
    if left == right:
        return left
    if left.kind is right.kind and left.kind in (Kind.INTEGER, Kind.FLOAT):
        return left if left.bits >= right.bits else right
    if left.kind is right.kind and left.kind in (Kind.WALL_CLOCK, Kind.INSTANT):
        return left if left.units >= right.units else right
    if left.kind is right.kind is Kind.DECIMAL or {left.kind, right.kind} == {
        Kind.INTEGER,
        Kind.DECIMAL,
    }:
        return common_decimal((left, right))
    pair = {left.kind: left, right.kind: right}
    if pair.keys() == {Kind.INTEGER, Kind.FLOAT}:
        exact = pair[Kind.INTEGER].bits <= 32 and pair[Kind.FLOAT].bits == 64
        return pair[Kind.FLOAT] if exact else None
    return None


def common_decimal(domains: Iterable[Domain]) -> Domain | None:
    """Return the decimals that hold all numbers of fixed-point domains; None if none has them."""
    decimals = [as_decimal(domain) for domain in domains]
    scale = max(decimal.scale for decimal in decimals)
    digits = scale + _whole_digits(decimals)
    return None if digits > MAX_DIGITS else Domain(Kind.DECIMAL, precision=digits, scale=scale)


def rounding_margin(domains: Iterable[Domain | None]) -> Fraction:
    """Return how far engines may round numbers that they convert to one type to compare them.

    A decimal has at most 38 digits. Where that is too few, Hive and Spark 4 keep those before the
    point and round the others; earlier versions of Spark keep all behind it. A value that does not
    fit becomes NULL. `NO_MARGIN`: one type holds all of them, or there is no decimal among them.
    """
    numbers = [domain for domain in domains if domain and domain.kind in FIXED_POINT]
    is_decimal = any(number.kind is Kind.DECIMAL for number in numbers)
    if not is_decimal or common_decimal(numbers) is not None:
        return NO_MARGIN
    return Fraction(1, 10 ** max(MAX_DIGITS - _whole_digits(map(as_decimal, numbers)), 0))


def _whole_digits(decimals: Iterable[Domain]) -> int:
    """Return how many digits before the point numbers of some decimal domains have at most."""
    return max(decimal.precision - decimal.scale for decimal in decimals)


def as_decimal(domain: Domain) -> Domain:
    """Return the decimals that hold all numbers of a fixed-point domain."""
    if domain.kind is Kind.DECIMAL:
        return domain
    return Domain(Kind.DECIMAL, precision=INTEGER_DIGITS[domain.bits])
