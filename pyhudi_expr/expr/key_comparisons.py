"""Bind ``column IN (keys)`` by operations on arrays, as `comparisons.compare_in` does by literals.

Both give the same options. Arrays are used where a column and its keys have one kind, and where no
rule of a zone is needed: that is what joins have. Other keys become literals.
"""

from __future__ import annotations

import numpy as np

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.expr.bound import (
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundTerm,
    KeyOptions,
)
from pyhudi_expr.expr.domains import MIN_ORDINAL, Domain, Kind, domain_of, integer_range
from pyhudi_expr.expr.keys import KeyList
from pyhudi_expr.expr.literals import CALENDAR_MARGINS
from pyhudi_expr.expr.nodes import Constant, In, InKeys, Literal, Op, Truth
from pyhudi_expr.expr.semantics import Engine, Semantics
from pyhudi_expr.expr.terms import UnboundError

_SECONDS_PER_DAY = 86_400


def as_literals(node: InKeys) -> In:
    """Return the node with a literal for each key. Raises UnboundError for ranges."""
    if not node.keys.are_values:
        raise UnboundError(f"ranges of keys of type {node.keys.type} for a column of another type")
    options = [Literal(value, node.keys.type) for value in node.keys.python_ends()[0]]
    nothing = [Literal(None, node.keys.type)] if node.has_null else []
    return In(node.term, (*options, *nothing))


def among_keys(term: BoundTerm, keys: KeyList, semantics: Semantics) -> BoundExpression | None:
    """Bind a column among keys; None if they have to be literals."""
    source = domain_of(keys.type)
    if not isinstance(term, BoundColumn) or term.char is not None or source is None:
        return None
    options = _options(keys, source, term.domain, semantics)
    if options is None:
        return None
    if not options:
        return Constant(Truth.NO_NULL)
    return BoundComparison(Op.EQ, term, options[0]) if len(options) == 1 else BoundIn(term, options)


def _options(
    keys: KeyList, source: Domain, domain: Domain, semantics: Semantics
) -> KeyOptions | None:
    reading = semantics.reading_zone
    match domain.kind, source.kind:
        case Kind.TEXT, Kind.TEXT:
            return KeyOptions(keys.lows, keys.highs, domain)
        case Kind.INTEGER, Kind.INTEGER:
            return _integers(*_ordinals(keys), domain)
        case Kind.DATE, Kind.DATE:
            return _shown_otherwise(*_ordinals(keys), domain, per_day=1)
        case (Kind.WALL_CLOCK, Kind.WALL_CLOCK) if _skips_no_time(semantics):
            return _moments(*_ordinals(keys), source.units, domain)
        case (Kind.INSTANT, Kind.WALL_CLOCK) if reading and reading.fixed_offset == 0:
            return _moments(*_ordinals(keys), source.units, domain)
    return None


def _skips_no_time(semantics: Semantics) -> bool:
    """Return whether a time is never taken for a later one, see `Zone.equal_times`."""
    zone = semantics.zone
    return not semantics.concerns(Engine.SPARK) or bool(zone and zone.fixed_offset is not None)


def _ordinals(keys: KeyList) -> tuple[Int64Array, Int64Array]:
    lows: Int64Array = keys.lows.to_numpy(zero_copy_only=True)
    return lows, lows if keys.highs is keys.lows else keys.highs.to_numpy(zero_copy_only=True)


def _integers(lows: Int64Array, highs: Int64Array, domain: Domain) -> KeyOptions:
    """Return the ranges within the column's type."""
    least, greatest = integer_range(domain.bits)
    within = slice(np.searchsorted(highs, least), np.searchsorted(lows, greatest, side="right"))
    return KeyOptions(lows[within].clip(least), highs[within].clip(None, greatest), domain)


def _moments(lows: Int64Array, highs: Int64Array, units: int, domain: Domain) -> KeyOptions | None:
    """Return times in the column's unit; None for times near the ends of what int64 holds."""
    if not len(lows):
        return KeyOptions(lows, highs, domain)
    finest = max(units, domain.units)
    most = (2**63 // finest - _MOST_DAYS * _SECONDS_PER_DAY) * units
    if lows[0] < -most or highs[-1] > most:
        return None
    if domain.units >= units:
        factor = domain.units // units
        lows, highs = lows * factor, highs * factor
    else:
        step = units // domain.units
        lows, highs = lows // step, -(-highs // step)
    return _shown_otherwise(lows, highs, domain, per_day=_SECONDS_PER_DAY * domain.units)


_MOST_DAYS = 1 + max(days for _, days in CALENDAR_MARGINS)


def _shown_otherwise(
    lows: Int64Array, highs: Int64Array, domain: Domain, per_day: int
) -> KeyOptions:
    """Return the ranges with margins where readers differ about the calendar."""
    margins = np.zeros(len(lows), dtype=np.int64)
    for day, days in reversed(CALENDAR_MARGINS):
        # Ascending: those before the day come first. The day itself may be beyond int64.
        before = np.searchsorted(lows, max(day * per_day, MIN_ORDINAL))
        margins[:before] = days * per_day
    if not margins[:1].any():
        return KeyOptions(lows, highs, domain)
    return KeyOptions(lows - margins, np.maximum.accumulate(highs + margins), domain)
