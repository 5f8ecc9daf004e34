"""Rank indexes for observed queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.index.lookups.expression_index import Expression
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.manage.advice.candidates import (
    ColumnUsage,
    CreateStatement,
    candidates,
    create_statement,
)
from pyhudi_expr.manage.advice.estimates import (
    Candidate,
    CostModel,
    ExpectedRead,
    FooterBounds,
    IndexCosts,
    WhatIf,
)
from pyhudi_expr.manage.advice.query_history import ObservedQuery
from pyhudi_expr.manage.advice.table_sample import (
    MOST_FILES,
    FilterSample,
    TableSample,
    column_filters,
    distinct_values,
    evaluate_function,
    key_filters,
    result_ranges,
)
from pyhudi_expr.tables.hudi_names import BLOOM_FILTERS, RECORD_INDEX, RECORD_KEY, SECONDARY_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable

#: An index that saves a smaller share of what is read is not recommended.
_LEAST_SHARE = 0.01


@dataclass(frozen=True)
class RankedIndex:
    """One index, given those before it.

    Attributes:
        files: Files that the average query saves.
        bytes: Bytes that the average query saves.
        statement: The command that creates it.
        sql: The same for Spark SQL with the session extension.
    """

    candidate: Candidate
    statement: str
    files: float
    bytes: float
    costs: IndexCosts
    sql: str = ""


@dataclass(frozen=True)
class Advice:
    """Recommended indexes.

    Attributes:
        today: What the average query reads now.
        planned: What it would read with all recommended indexes.
        passed_over: Candidates that would not save enough.
    """

    table: str
    instant: str | None
    queries: int
    today: ExpectedRead
    planned: ExpectedRead
    recommendations: tuple[RankedIndex, ...]
    passed_over: tuple[RankedIndex, ...]
    notes: tuple[str, ...]


def advise(base_path: str, observed: Sequence[ObservedQuery], growth: float = 1.0) -> Advice:
    """Rank the indexes that would serve the queries, the one that saves most bytes first.

    Among those that save equally much, to a hundredth, an index that Hudi maintains comes first,
    then the smallest.

    Args:
        base_path: The table.
        observed: The queries.
        growth: The factor by which the table will grow.

    Raises:
        HudiError: There is no query, or the table cannot be read.
    """
    if not observed:
        raise HudiError(f"{base_path}: there is no query on it to rank indexes by")
    pruner = Pruner(PruneOptions(footer_seconds=0))  # by indexes alone
    requests = (PruneRequest(each.predicate, reader=PartitionReader.ENGINE) for each in observed)
    results = [pruner.prune(base_path, request) for request in requests]
    table = HudiTable.open(base_path)
    sample_files = TableSample.at(table, results[0].listing)
    usage, built = ColumnUsage.of(table, results), index_statuses(table)
    offered = {
        each: how
        for each in candidates(table, usage, built)
        if (how := create_statement(table, each)) is not None
    }
    sample = sample_files.sample(sorted({*usage.equal_columns, *_stored_keys(table)}))
    filters = {
        each: _filters(sample_files, each, usage.key)
        for each in offered
        if each.kind == BLOOM_FILTERS
    }
    rows_of_value = {
        one: sample_files.rows / _distinct(sample.rows, one, sample_files.rows)
        for one in usage.equal
    }
    sizes = CostModel(sample_files, sample, growth, filters, rows_of_value)
    read_bytes = {
        each: sizes.read_bytes(each)
        for each in offered
        if each.kind in (RECORD_INDEX, SECONDARY_INDEX)
    }
    footers = FooterBounds(
        {name: sample_files.bounds(usage.columns[name]) for name in usage.bounded}
    )
    # Whole columns are read for these, so only if there are candidates.
    called = {each.expression for each in offered if each.columns} & usage.calls.keys()
    ranges_of = {one: result_ranges(sample_files, one, usage.calls[one]) for one in called}
    what_ifs = [
        WhatIf(result, footers, ranges_of, rows_of_value, usage.key, read_bytes, filters)
        for result in results
    ]
    today = _mean(what_ifs, [])
    found, left = _ranked(today, what_ifs, offered, sizes, {each.kind for each in built})
    notes = list(dict.fromkeys(note for result in results for note in result.notes))
    if len(sample_files.positions) == MOST_FILES:
        notes.append(f"{MOST_FILES} base files were sampled: others count as read")
    return Advice(
        table=base_path,
        instant=results[0].instant,
        queries=len(observed),
        today=today,
        planned=_mean(what_ifs, [one.candidate for one in found]),
        recommendations=tuple(found),
        passed_over=tuple(left),
        notes=tuple(notes),
    )


def _ranked(
    today: ExpectedRead,
    what_ifs: Sequence[WhatIf],
    offered: Mapping[Candidate, CreateStatement],
    sizes: CostModel,
    there: Set[str],
) -> tuple[list[RankedIndex], list[RankedIndex]]:
    """Return the indexes that pay off, each given those before it, and those that do not."""
    found: list[RankedIndex] = []
    now = today
    while True:
        chosen = [one.candidate for one in found]
        kinds = there | {one.kind for one in chosen}
        left = []
        for each in offered.keys() - set(chosen):
            read = _mean(what_ifs, [*chosen, each])
            # Rounding may make a sum of shares slightly negative.
            saved = max(now.files - read.files, 0.0), max(now.bytes - read.bytes, 0.0)
            left.append(
                RankedIndex(
                    each,
                    offered[each].statement,
                    *saved,
                    sizes.costs(each, kinds),
                    offered[each].sql,
                )
            )
        least = _LEAST_SHARE * now.bytes
        most = max((one.bytes for one in left), default=0.0)
        if not now.bytes or most < least:
            left.sort(key=lambda one: (-one.bytes, one.costs.storage, one.candidate))
            return found, left
        best = min(
            (one for one in left if one.bytes >= max(least, most - least)),
            key=lambda one: (
                offered[one.candidate].store is not Store.HUDI,
                one.costs.storage,
                one.candidate,
            ),
        )
        found.append(best)
        now = ExpectedRead(now.files - best.files, now.bytes - best.bytes)


def _filters(
    sample_files: TableSample, candidate: Candidate, key: Expression | None
) -> FilterSample:
    if candidate.columns or key is None:
        return column_filters(sample_files, candidate.expression)
    return key_filters(sample_files, key)


def _distinct(sample: pa.Table, expression: Expression, rows: int) -> float:
    values = sample.column(expression.column)
    return distinct_values(evaluate_function(expression, values), rows)


def _stored_keys(table: HudiTable) -> set[str]:
    return {RECORD_KEY} if table.properties.meta_fields else set()


def _mean(what_ifs: Sequence[WhatIf], chosen: Sequence[Candidate]) -> ExpectedRead:
    reads = [each.read(chosen) for each in what_ifs]
    count = len(reads)
    return ExpectedRead(sum(r.files for r in reads) / count, sum(r.bytes for r in reads) / count)
