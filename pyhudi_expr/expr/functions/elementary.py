"""Roots, powers, logarithms, exponentials and signs, as doubles.

Java's libraries differ in the last bits of their results, so all bounds have a margin. Where a
function is undefined, engines return NaN or NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Ordinals,
    float_ordinals,
    may_be_nan,
)
from pyhudi_expr.expr.functions.arithmetic import finite_or_infinite
from pyhudi_expr.expr.functions.casts import conversion
from pyhudi_expr.expr.functions.signature import (
    DOUBLE,
    NUMBERS,
    Function,
    Rule,
    Signature,
    Site,
    nullable_where,
    on_first,
    ordinals,
)
from pyhudi_expr.expr.functions.wide_decimals import widened


@dataclass(frozen=True)
class _Growing:
    """An increasing function; below `least` it is undefined, and at `least` perhaps."""

    function: Callable[[np.ndarray], np.ndarray]
    least: float = -np.inf

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        first, last = finite_or_infinite(*ordinals(operand))
        with np.errstate(all="ignore"):
            lower, upper = (self.function(np.maximum(end, self.least)) for end in (first, last))
        found = _bounds(lower, upper, operand, first < self.least)
        return nullable_where(found, first <= self.least)


def _bounds(lower: np.ndarray, upper: np.ndarray, operand: Bounds, beyond: BoolArray) -> Bounds:
    """Return bounds with margins.

    Args:
        lower: Results of the lower ends.
        upper: Results of the upper ends.
        operand: The operand.
        beyond: Where some operands are undefined, so that the result may be NaN or NULL. Hive
            returns NULL for NaN and infinities.
    """
    nan = may_be_nan(operand) | beyond | np.isnan(upper)
    least = np.where(np.isnan(lower), np.int64(MIN_ORDINAL), _ordinals(lower, -np.inf))
    greatest = np.where(nan, np.int64(MAX_ORDINAL), _ordinals(upper, np.inf))
    found = replace(operand, lower=least, upper=greatest)
    endless = np.isinf(lower) | np.isinf(widened(upper, np.inf))
    return nullable_where(found, nan | endless)


def _ordinals(ends: np.ndarray, to: float) -> Ordinals:
    # Results near zero may be wrong by more than their relative margin.
    with np.errstate(over="ignore", under="ignore"):
        moved = np.where(ends == 0, ends, widened(ends, to) + np.copysign(_LEAST, to))
    return float_ordinals(moved)


_LEAST = 1e-320


def _sign(*operands: Bounds) -> Bounds:
    """Return -1, 0 or 1; for NaN -1 in Hive and NaN in Spark."""
    (operand,) = operands
    first, last = (np.sign(end) for end in finite_or_infinite(*ordinals(operand)))
    nan = operand.upper == MAX_ORDINAL
    lower = float_ordinals(np.where(nan, -1.0, first))
    upper = np.where(nan, np.int64(MAX_ORDINAL), float_ordinals(last))
    return replace(operand, lower=lower, upper=upper)


@dataclass(frozen=True)
class _Power:
    """``x ** exponent``, for an exponent other than zero."""

    exponent: float

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        first, last = finite_or_infinite(*ordinals(operand))
        is_whole = self.exponent == np.floor(self.exponent)
        beyond = (first < 0) & (not is_whole)
        if not is_whole:
            first, last = np.maximum(first, 0.0), np.maximum(last, 0.0)
        with np.errstate(all="ignore"):
            ends = np.power(first, self.exponent), np.power(last, self.exponent)
        lower, upper = np.minimum(*ends), np.maximum(*ends)
        across = (first <= 0) & (last >= 0)
        if self.exponent < 0:  # by zero: an infinity of either sign
            lower, upper = np.where(across, -np.inf, lower), np.where(across, np.inf, upper)
        else:
            lower = np.where(across, np.minimum(lower, 0.0), lower)
        return _bounds(lower, upper, operand, beyond)


def _elementary(function: Function) -> Rule:
    def rule(site: Site) -> Signature | None:
        if len(site.domains) != 1 or site.kind(0) not in NUMBERS:
            return None
        return _double_signature(site, function)

    return rule


def _double_signature(site: Site, function: Function) -> Signature | None:
    found = conversion(site.domains[0], DOUBLE)
    return Signature(on_first(function, found), DOUBLE) if found else None


def _power(site: Site) -> Signature | None:
    literal = site.literals[1] if len(site.domains) == 2 else None
    value = literal.value if literal else None
    if site.kind(0) not in NUMBERS or not isinstance(value, int | float | Decimal):
        return None
    exponent = float(value)
    exact = exponent == value and math.isfinite(exponent) and exponent != 0
    return _double_signature(site, _Power(exponent)) if exact else None


RULES: dict[str, Rule] = {
    "sqrt": _elementary(_Growing(np.sqrt, 0.0)),
    "exp": _elementary(_Growing(np.exp)),
    "ln": _elementary(_Growing(np.log, 0.0)),
    "log10": _elementary(_Growing(np.log10, 0.0)),
    "log2": _elementary(_Growing(np.log2, 0.0)),
    **dict.fromkeys(("power", "pow"), _power),
    **dict.fromkeys(("sign", "signum"), _elementary(_sign)),
}
