"""The precision with which engines read stored times, where it is less than the value's."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pyhudi_expr.expr.bounds import Bounds, may_be_nan
from pyhudi_expr.expr.domains import Kind
from pyhudi_expr.expr.functions.conversions import identity, identity_or_null
from pyhudi_expr.expr.functions.signature import (
    Rule,
    Signature,
    Site,
    opaque,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.nodes import (
    NAN_AS_NULL,
    NO_DECIMAL,
    OR_NULL,
    TO_MILLISECOND_INSTANTS,
    TO_MILLISECONDS,
)

_MILLIS = 1000


@dataclass(frozen=True)
class _Near:
    """Times that are rounded or truncated by less than `margin` units."""

    margin: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        with np.errstate(over="ignore"):
            least, greatest = lower - np.int64(self.margin), upper + np.int64(self.margin)
        return where_known(least <= lower, least, greatest >= upper, greatest, operand)


def _to_milliseconds(site: Site) -> Signature | None:
    """Return the signature of a time with three digits of a second, or more; others unchanged."""
    if len(site.domains) != 1:
        return None
    domain = site.domains[0]
    is_finer = domain.kind in (Kind.WALL_CLOCK, Kind.INSTANT) and domain.units > _MILLIS
    return Signature(_Near(domain.units // _MILLIS) if is_finer else identity, domain)


def _to_millisecond_instants(site: Site) -> Signature | None:
    """Return the same signature, with wall clocks as instants of UTC."""
    found = _to_milliseconds(site)
    if found is None or found.domain.kind is not Kind.WALL_CLOCK:
        return found
    return replace(found, domain=replace(found.domain, kind=Kind.INSTANT))


def _no_decimal(site: Site) -> Signature | None:
    if len(site.domains) != 1:
        return None
    domain = site.domains[0]
    if domain.kind is Kind.DECIMAL:
        return opaque(domain, "<=> of decimals in Hive, whose vectors find other rows")
    return Signature(identity, domain)


def _nan_as_null(site: Site) -> Signature | None:
    if len(site.domains) != 1:
        return None
    domain = site.domains[0]
    return Signature(_null_of_nan if domain.kind is Kind.FLOAT else _never_null, domain)


def _null_of_nan(*operands: Bounds) -> Bounds:
    (operand,) = operands
    return replace(operand, may_be_null=may_be_nan(operand))


def _never_null(*operands: Bounds) -> Bounds:
    (operand,) = operands
    return replace(operand, may_be_null=False)


def _or_null(site: Site) -> Signature | None:
    return Signature(identity_or_null, site.domains[0]) if len(site.domains) == 1 else None


RULES: dict[str, Rule] = {
    TO_MILLISECONDS: _to_milliseconds,
    TO_MILLISECOND_INSTANTS: _to_millisecond_instants,
    NO_DECIMAL: _no_decimal,
    NAN_AS_NULL: _nan_as_null,
    OR_NULL: _or_null,
}
