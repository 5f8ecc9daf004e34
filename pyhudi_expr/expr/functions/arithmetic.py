"""Sums, differences and products.

Integers that overflow wrap, are NULL or raise an error, depending on the engine: then there are no
bounds. Decimals are exact if the result has at most 38 digits; beyond, engines round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyScalar, BoolArray
from pyhudi_expr.expr.bounds import Bounds, Values, mask_and, mask_or
from pyhudi_expr.expr.common_domains import MAX_DIGITS, as_decimal
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Domain, Kind, integer_range
from pyhudi_expr.expr.functions.casts import conversion
from pyhudi_expr.expr.functions.conversions import Within, identity
from pyhudi_expr.expr.functions.float_arithmetic import (
    OPERATIONS,
    Binary,
    by_doubles,
    corners_of,
    float_arithmetic,
    quotient,
)
from pyhudi_expr.expr.functions.negate_abs import negation
from pyhudi_expr.expr.functions.signature import (
    NUMBERS,
    Function,
    OnOperands,
    Rule,
    Signature,
    Site,
    greatest_known,
    least_known,
    ordinals,
)

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


RULES: dict[str, Rule] = {
    **dict.fromkeys(("+", "-", "*"), _arithmetic),
    "/": quotient,
}
