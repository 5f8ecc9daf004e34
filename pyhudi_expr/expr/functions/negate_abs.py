"""Negatives and magnitudes of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Kind, integer_range
from pyhudi_expr.expr.functions.conversions import Within, identity
from pyhudi_expr.expr.functions.signature import NUMBERS, Rule, Signature, Site, ordinals
from pyhudi_expr.expr.functions.wide_decimals import magnitude, negated


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
    **dict.fromkeys(("negative", "positive"), _signed),
    "abs": _abs,
}
