"""The bounds of a column as the engine that sorts by it shows its values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn, columns
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, Domain, Kind, Values, unknown
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array
from pyhudi_expr.expr.functions.time_zones import ToWallClock
from pyhudi_expr.expr.literals import CALENDAR_MARGINS
from pyhudi_expr.expr.nodes import Column, IsNull
from pyhudi_expr.expr.semantics import SECONDS_PER_DAY, Zone
from pyhudi_expr.expr.terms import UnboundError, bind_term, declared_domain
from pyhudi_expr.index.prune import PruneRequest
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.bound_decoding import WRAPPED_DECIMAL_SCALE
from pyhudi_expr.index.statistics.file_ranges import UNKNOWN, file_ranges
from pyhudi_expr.tables.keys.definition import hidden_columns

_PLAIN = frozenset({Kind.BOOLEAN, Kind.INTEGER, Kind.DECIMAL, Kind.TEXT})
_TIMES = frozenset({Kind.DATE, Kind.WALL_CLOCK, Kind.INSTANT})
#: Counts of NULL are right wherever there are some: see `statistics_decoding`.
_COUNTED = frozenset({Kind.BOOLEAN, Kind.INTEGER, Kind.DATE})


@dataclass(frozen=True)
class KeyBounds:
    """The bounds of a column in each of N files, in the order of the engine.

    Attributes:
        lower: N numbers in that order: no value of the file comes before.
        upper: No value of the file comes after.
        may_be_value: False where every row is NULL.
        may_be_null: False where no row is.
        nulls: How many rows are NULL; UNKNOWN where that is not sure.
        are_values: Whether `lower` and `upper` are values of rows of the file, as it was written.
    """

    lower: Int64Array
    upper: Int64Array
    may_be_value: BoolArray
    may_be_null: BoolArray
    nulls: Int64Array
    are_values: BoolArray

    def reversed(self) -> KeyBounds:
        """Return the bounds in descending order."""
        # ~x is -x - 1: the least and the greatest number, which are unknown ends, are exchanged.
        return replace(self, lower=~self.upper, upper=~self.lower)


def _key_column(
    snapshot: TableSnapshot, request: PruneRequest, column: Column
) -> BoundColumn | None:
    """Return a column to sort by; None if it is unknown how the engine sorts by it.

    Floats have no order that engines agree on (NaN, zeros), and ``char`` values lose their blanks.
    """
    try:
        found = bind_term(column, snapshot.scope.of(request.semantics))
    except UnboundError:
        return None
    if not isinstance(found, BoundColumn) or found.char is not None:
        return None
    is_hidden = found.name in hidden_columns(snapshot.table.properties)
    return None if is_hidden or found.domain.kind not in _PLAIN | _TIMES else found


def key_bounds(
    snapshot: TableSnapshot,
    request: PruneRequest,
    column: Column,
    keep: BoolArray,
    footer_wait: float,
) -> KeyBounds | None:
    """Return the bounds of a column in the files; None if none are known.

    Args:
        snapshot: The table.
        request: The request: its reader and semantics.
        column: The column, see `_key_column`.
        keep: One flag for each slice. The others need no bounds.
        footer_wait: Seconds to wait for footers that are read in the background.

    Raises:
        HudiError: The table does not support the request.
    """
    key = _key_column(snapshot, request, column)
    if key is None:
        return None
    known = _known(snapshot, request, key, keep, footer_wait)
    found = _shown(known, key.domain, column, request.semantics.reading_zone)
    if found is None:
        return None
    lower, upper = _numbers(found)
    values, nulls = (as_array(mask, len(lower)) for mask in (found.may_be_value, found.may_be_null))
    counted = np.full(len(lower), UNKNOWN, np.int64)
    are_values = np.zeros(len(lower), np.bool_)
    if _is_exact(key.domain) and not snapshot.is_evolved:
        written = file_ranges(snapshot.column_stats, snapshot.listing, key)
        counted = written.nulls if key.domain.kind in _COUNTED else counted
        are_values = _are_values(lower, upper, written.bounds) & ~snapshot.listing.file_is_log
    # A count of none that is not trusted is no count.
    counted = np.where(nulls, np.where(counted > 0, counted, UNKNOWN), 0)
    return KeyBounds(lower, upper, values, nulls, counted, are_values)


def _is_exact(domain: Domain) -> bool:
    """Return whether bounds that are trusted are values of rows: none is rounded or cut."""
    is_short = domain.is_ordinal and domain.scale <= WRAPPED_DECIMAL_SCALE
    return domain.kind in _COUNTED or (domain.kind is Kind.DECIMAL and is_short)


def _are_values(lower: Int64Array, upper: Int64Array, written: Bounds) -> BoolArray:
    """Flag the files whose bounds are those that are written of them, which are values of rows."""
    is_same = (lower == written.lower) & (upper == written.upper)
    is_known = (lower != MIN_ORDINAL) & (upper != MAX_ORDINAL)
    return np.asarray(is_same & is_known & written.may_be_value, np.bool_)


def _known(
    snapshot: TableSnapshot,
    request: PruneRequest,
    key: BoundColumn,
    keep: BoolArray,
    footer_wait: float,
) -> Bounds:
    """Return what all indexes together know of the column, over the files."""
    listing = snapshot.listing
    question = bind(IsNull(Column(tuple(key.name.split(".")))), snapshot.scope)
    reading = snapshot.reading(request.reader, columns(question).values())
    partitions = np.zeros(len(listing.partitions), np.bool_)
    partitions[listing.slice_partition[keep]] = True
    if key.name in reading.retyped:
        return unknown(key.domain)
    found = snapshot.file_evidence(question, [key], partitions, footer_wait, reading)
    size = listing.num_files
    nothing = unknown(key.domain)
    lower, upper = _array(nothing.lower, size), _array(nothing.upper, size)
    values, nulls = as_array(True, size), as_array(True, size)
    for source in found.answers:
        # Evidence of another kind excludes files, or is about values that readers may show
        # differently.
        evidence = source.evidence
        more = evidence.bounds(key) if isinstance(evidence, StatisticsEvidence) else None
        if more is not None:
            lower = known_first(lower, _array(more.lower, size), MIN_ORDINAL)
            upper = known_first(upper, _array(more.upper, size), MAX_ORDINAL)
            values &= more.may_be_value
            nulls &= more.may_be_null
    return Bounds(lower, upper, values, nulls)


def _array(ends: Values, size: int) -> Values:
    """Return an array of `size` ends, of which one may stand for all."""
    if isinstance(ends, pa.ChunkedArray):
        return ends.combine_chunks()
    if isinstance(ends, pa.Array):
        return ends
    if isinstance(ends, pa.Scalar):
        return pa.array([ends.as_py()], ends.type).take(pa.array(np.zeros(size, np.int64)))
    return np.broadcast_to(np.asarray(ends, np.int64), (size,))


def known_first(ends: Values, others: Values, nothing: int) -> Values:
    """Return the ends, where they are unknown the others."""
    if isinstance(ends, np.ndarray):
        return np.where(ends == nothing, others, ends)
    return pc.coalesce(ends, others)


def _shown(bounds: Bounds, domain: Domain, column: Column, zone: Zone | None) -> Bounds | None:
    """Return the bounds of what the engine shows; None if that is unknown.

    Times get margins: of days before the reform of the calendar, of wall clocks a day, as readers
    may take them for instants of a zone, and of a second, as readers may round.
    """
    if domain.kind not in _TIMES:
        return bounds
    day, rounding = 1, 0
    if domain.kind is not Kind.DATE:
        day, rounding = SECONDS_PER_DAY * domain.units, domain.units
    if domain.kind is Kind.WALL_CLOCK:
        rounding += day
    declared = domain if column.declared is None else declared_domain(column.declared)
    if domain.kind is Kind.INSTANT and declared is not None and declared.kind is Kind.WALL_CLOCK:
        if zone is None:
            return None
        bounds = ToWallClock(zone, domain.units)(bounds)
    return replace(
        bounds,
        lower=_moved(bounds.lower, -1, day, rounding),
        upper=_moved(bounds.upper, 1, day, rounding),
    )


def _moved(ends: Int64Array, sign: int, day: int, rounding: int) -> Int64Array:
    """Return ends that are further outside; unknown ends are unchanged."""
    margins = np.full(len(ends), rounding, np.int64)
    for before, days in reversed(CALENDAR_MARGINS):
        margins[ends < max(before * day, MIN_ORDINAL)] = rounding + days * day
    # Near the ends of int64 a bound is as good as unknown.
    room = (ends > MIN_ORDINAL + margins) & (ends < MAX_ORDINAL - margins)
    limit = np.int64(MIN_ORDINAL if sign < 0 else MAX_ORDINAL)
    return np.where(room, ends + sign * np.where(room, margins, 0), limit)


def _numbers(bounds: Bounds) -> tuple[Int64Array, Int64Array]:
    """Return the ends as numbers of the same order; unknown ones are those of int64."""
    if isinstance(bounds.lower, np.ndarray):
        return bounds.lower, bounds.upper
    ends = pa.concat_arrays([bounds.lower, bounds.upper])
    places = pc.array_sort_indices(ends).to_numpy()
    ordered = ends.take(pa.array(places))
    steps = np.ones(len(ends), np.int64)
    differ = pc.fill_null(pc.not_equal(ordered[1:], ordered[:-1]), True)
    steps[1:] = differ.to_numpy(zero_copy_only=False)
    numbers = np.empty(len(ends), np.int64)
    numbers[places] = np.cumsum(steps)
    is_known = ends.is_valid().to_numpy(zero_copy_only=False)
    lower, upper = np.split(numbers, 2)
    lower[~is_known[: len(lower)]], upper[~is_known[len(lower) :]] = MIN_ORDINAL, MAX_ORDINAL
    return lower, upper
