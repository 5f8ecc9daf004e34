"""`partition_stats`: each partition's entry of each column against its slices.

Ranges of partitions only grow until Hudi computes them anew, so wide ones are no finding. Hudi does
not count nulls of partitions exactly; only a denial of nulls that are there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds, concat_bounds
from pyhudi_expr.index.statistics.partition_stats import has_aggregates, tracked_partitions
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries, decode_merged
from pyhudi_expr.manage.audit.bound_faults import Described, Truth, stored_bounds, wrong_bounds
from pyhudi_expr.manage.audit.column_facts import (
    UNKNOWN,
    FileFacts,
    MergedSlices,
    chosen_bounds,
    united_bounds,
)
from pyhudi_expr.manage.audit.findings import Fault, Finding, Severity
from pyhudi_expr.manage.audit.scope import MOST, AuditedRecords
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix, partition_stats_key


def check_partition_stats(
    records: AuditedRecords, facts: FileFacts, merged: MergedSlices
) -> Iterator[Finding]:
    """Return what is wrong with the entries of the partitions of the checked slices.

    Args:
        records: Hudi's metadata table.
        facts: Of the base files of `records.bases`.
        merged: Slices with log files.

    Raises:
        HudiError: The partition cannot be read.
    """
    definition = records.definitions.get(COLUMN_STATS)
    fields = frozenset[str]() if definition is None else frozenset(definition.fields)
    used = np.zeros(len(records.slices.partitions), np.bool_)
    if has_aggregates(records.records.table):
        used = tracked_partitions(records.records, records.slices)
    for column in facts.columns:
        stats = records.records.statistics(PARTITION_STATS, [column_prefix(column.name)])
        paths = records.slices.partition_paths
        keys = pa.array([partition_stats_key(column.name, path) for path in paths], pa.string())
        place = np.asarray(pc.fill_null(pc.index_in(stats.key, keys), -1), np.int64)
        listed = place >= 0
        truth = _Partitions.of(records, column, facts, merged)
        if column.name in fields:
            yield from _missing(records, column, place[listed], truth)
        own = StatisticsEntries.of(stats.filter(listed))
        bounds = stored_bounds(own, column.domain)
        ours = used[place[listed]]
        trusted = ColumnBounds(len(ours), column.domain)
        trusted.put(np.flatnonzero(ours), decode_merged(own.filter(ours), column).bounds)
        found = truth.at(place[listed])
        faults = wrong_bounds(column, own, bounds, trusted.bounds(), found)
        named = [paths[at] or "." for at in place[listed].tolist()]
        yield from faults.findings(Described(records, PARTITION_STATS, column, named))


def _missing(
    records: AuditedRecords, column: BoundColumn, there: Int64Array, truth: _Partitions
) -> Iterator[Finding]:
    missing = truth.has_column.copy()
    missing[there] = False
    for at in np.flatnonzero(missing)[:MOST].tolist():
        yield records.finding(
            PARTITION_STATS,
            Fault.ENTRY_MISSING,
            Severity.SLOWER,
            records.slices.partition_paths[at] or ".",
            subject=column.name,
            expected="an entry",
            found="none",
            queries=f"those that filter by {column.name} read the partition",
        )


@dataclass(frozen=True)
class _Partitions:
    """What the partitions hold of a column.

    Attributes:
        nulls: The number of nulls; -1 if unknown.
        has_column: Whether a base file of the partition has the column.
    """

    bounds: Bounds
    is_known: BoolArray
    nulls: Int64Array
    has_column: BoolArray

    @staticmethod
    def of(
        records: AuditedRecords, column: BoundColumn, facts: FileFacts, merged: MergedSlices
    ) -> _Partitions:
        """Unite the files of slices without log files, and the rows of the others."""
        bases, own = records.bases.listing, facts.columns[column]
        count = len(records.slices.partitions)
        named = pc.index_in(bases.partitions, records.slices.partitions)
        number = np.asarray(named, np.int64)[bases.file_partition]
        alone = ~merged.has_logs(bases)
        chosen = alone & own.is_stored
        parts = [(number[chosen], chosen_bounds(own.bounds, chosen))]
        damaged = np.zeros(bases.num_files, np.bool_)
        damaged[list(facts.damaged)] = True
        unknown = alone & ((own.is_stored & ~own.is_known) | damaged)
        known = np.bincount(number[unknown], minlength=count) == 0
        lacking = np.bincount(number[alone & ~own.is_stored & ~damaged], minlength=count)
        nulls = lacking + np.bincount(
            number[chosen], np.maximum(own.nulls[chosen], 0), minlength=count
        )
        for at, found in merged.of_column(column):
            known[at] &= found is not None
            if found is not None and found.bounds is not None:
                parts.append((np.array([at], np.int64), found.bounds))
                nulls[at] += found.nulls
        positions, every = concat_bounds(parts)
        bounds, _ = united_bounds(every, positions, count)
        has_column = np.bincount(number[own.is_stored & (own.rows > 0)], minlength=count) > 0
        return _Partitions(bounds, known, nulls.astype(np.int64), has_column)

    def at(self, place: Int64Array) -> Truth:
        """Return the truth about these partitions."""
        known = self.is_known[place]
        lower, upper = self.bounds.lower, self.bounds.upper
        is_array = isinstance(lower, np.ndarray)
        rows = np.full(len(place), UNKNOWN, np.int64)
        return Truth(
            lower=lower[place] if is_array else lower.take(pa.array(place)),
            upper=upper[place] if is_array else upper.take(pa.array(place)),
            is_known=known,
            has_value=known & np.asarray(self.bounds.may_be_value)[place],
            nulls=self.nulls[place],
            rows=rows,
            is_exact=np.zeros(len(place), np.bool_),
        )
