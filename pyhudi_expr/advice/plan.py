"""A ranked plan of indexes for observed queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.advice.building import Costs, Sizes
from pyhudi_expr.advice.columns import MOST_FILES, Looked, distinct_values
from pyhudi_expr.advice.estimates import (
    Candidate,
    FooterBounds,
    Read,
    WhatIf,
    equalities,
    without_bounds,
)
from pyhudi_expr.advice.expressions import calls_asked, ranges, results
from pyhudi_expr.advice.filters import Filters, column_filters, key_filters
from pyhudi_expr.advice.queries import Asked
from pyhudi_expr.advice.statements import buildable
from pyhudi_expr.expr.bound import BoundColumn, columns
from pyhudi_expr.expr.domains import Kind, domain_of, kind_of
from pyhudi_expr.index.expression_index import IDENTITY, Expression
from pyhudi_expr.index.registry import Registry, Store
from pyhudi_expr.index.row_counts import RECORD_KEY
from pyhudi_expr.index.secondary_index import TYPE as SECONDARY_INDEX
from pyhudi_expr.index.status import IndexStatus, statuses
from pyhudi_expr.mdt.index_definitions import index_definitions
from pyhudi_expr.mdt.reader import BLOOM_FILTERS, COLUMN_STATS, RECORD_INDEX
from pyhudi_expr.prune import Pruner, PruneRequest
from pyhudi_expr.spark.plans import EXPRESSION_OPTION, TYPE_OPTION
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable

#: What saves less of what is read is not worth an index.
_LEAST_SHARE = 0.01
#: The kinds of values that filters are asked for.
_FILTERED = frozenset({Kind.TEXT, Kind.INTEGER})


@dataclass(frozen=True)
class Judged:
    """One index, given those before it. files, bytes: what the average query reads less by it;
    statement: what builds it."""

    candidate: Candidate
    statement: str
    files: float
    bytes: float
    costs: Costs


@dataclass(frozen=True)
class Advice:
    """today, planned: what the average query reads now, and with all that is recommended.
    passed_over: what would not save enough besides."""

    table: str
    instant: str | None
    queries: int
    today: Read
    planned: Read
    recommendations: tuple[Judged, ...]
    passed_over: tuple[Judged, ...]
    notes: tuple[str, ...]


def advise(base_path: str, asked: Sequence[Asked], growth: float = 1.0) -> Advice:
    """What indexes would do for the queries, the one first that saves most bytes; of those that
    save as much, to a hundredth, one that Hudi maintains, then the smallest.

    growth: how many times as large the table will be. Raises HudiError (no query; the table cannot
    be read).
    """
    if not asked:
        raise HudiError(f"{base_path}: there is no query on it to judge indexes by")
    pruner = Pruner()
    results = [pruner.prune(base_path, PruneRequest(each.predicate)) for each in asked]
    table = HudiTable.open(base_path)
    looked = Looked.at(table, results[0].listing)
    predicates = [result.predicate for result in results]
    asked_of = {column.name: column for each in predicates for column in columns(each).values()}
    stored = _stored(table, asked_of.values())
    lacking = {column.name for result in results for column in without_bounds(result)} & stored
    equal = {one for each in predicates for one in equalities(each) if one.column in stored}
    calls = {
        one: call for each in predicates for one, call in calls_asked(each) if one.column in stored
    }
    key = _key(table)
    sample, groups = looked.sample(sorted({one.column for one in equal} | _stored_keys(table)))
    rows_of_value = {one: looked.rows / _distinct(sample, one, looked.rows) for one in equal}
    bounded = sorted(lacking | {one.column for one in equal if one.function == IDENTITY})
    footers = FooterBounds({name: looked.bounds(asked_of[name]) for name in bounded})
    ranges_of = {one: ranges(looked, one, call) for one, call in calls.items()}
    built = statuses(table)
    there = {each.kind for each in built}
    offered = {
        each: how
        for each in _candidates(table, built, lacking, equal, calls.keys(), key)
        if (how := buildable(table, each)) is not None
    }
    filters = {each: _filters(looked, each, key) for each in offered if each.kind == BLOOM_FILTERS}
    sizes = Sizes(looked, sample, groups, growth, filters)
    read_bytes = {
        each: sizes.read_bytes(each)
        for each in offered
        if each.kind in (RECORD_INDEX, SECONDARY_INDEX)
    }
    what_ifs = [
        WhatIf(result, footers, ranges_of, rows_of_value, key, read_bytes, filters)
        for result in results
    ]
    found: list[Judged] = []
    today = now = _mean(what_ifs, [])
    while True:
        chosen = [one.candidate for one in found]
        kinds = there | {one.kind for one in chosen}
        left = []
        for each in offered.keys() - set(chosen):
            read = _mean(what_ifs, [*chosen, each])
            # Sums of shares come out a little below nothing.
            saved = max(now.files - read.files, 0.0), max(now.bytes - read.bytes, 0.0)
            left.append(Judged(each, offered[each].statement, *saved, sizes.costs(each, kinds)))
        least = _LEAST_SHARE * now.bytes
        most = max((one.bytes for one in left), default=0.0)
        if not now.bytes or most < least:
            break
        best = min(
            (one for one in left if one.bytes >= max(least, most - least)),
            key=lambda one: (
                offered[one.candidate].store is not Store.HUDI,
                one.costs.storage,
                one.candidate,
            ),
        )
        found.append(best)
        now = Read(now.files - best.files, now.bytes - best.bytes)
    left.sort(key=lambda one: (-one.bytes, one.costs.storage, one.candidate))
    notes = list(dict.fromkeys(note for result in results for note in result.notes))
    if len(looked.positions) == MOST_FILES:
        notes.append(f"{MOST_FILES} base files were looked into: others count as read")
    instant = results[0].instant
    return Advice(
        base_path, instant, len(asked), today, now, tuple(found), tuple(left), tuple(notes)
    )


def _candidates(
    table: HudiTable,
    built: Sequence[IndexStatus],
    lacking: Set[str],
    equal: Set[Expression],
    called: Set[Expression],
    key: Expression | None,
) -> Iterator[Candidate]:
    kinds = {each.kind for each in built}
    if lacking:
        yield Candidate(COLUMN_STATS, tuple(sorted(lacking)))
    for kind in (RECORD_INDEX, BLOOM_FILTERS):
        if key in equal and kind not in kinds:
            yield Candidate(kind, ())
    indexed = {name for each in built if each.kind == SECONDARY_INDEX for name in each.columns}
    plain = {one.column for one in equal if one.function == IDENTITY}
    values = plain - {RECORD_KEY if key is None else key.column, RECORD_KEY}
    for name in sorted(values - indexed):
        yield Candidate(SECONDARY_INDEX, (name,))
    filtered = [
        Candidate(BLOOM_FILTERS, (name,))
        for name in values
        if kind_of(table.schema().field(name).type) in _FILTERED
    ]
    filtered += [Candidate(BLOOM_FILTERS, (one.column,), one.function) for one in called & equal]
    ranged = [Candidate(COLUMN_STATS, (one.column,), one.function) for one in called]
    yield from sorted({*filtered, *ranged} - _of_expressions(table))


def _of_expressions(table: HudiTable) -> set[Candidate]:
    """The expression indexes that are there, or were asked for."""
    registered = Registry.read(table.storage).indexes.values()
    found = {
        Candidate(
            one.options.get(TYPE_OPTION, COLUMN_STATS), one.columns, one.options[EXPRESSION_OPTION]
        )
        for one in registered
        if EXPRESSION_OPTION in one.options
    }
    return found | {
        Candidate(one.type, tuple(one.fields), one.function)
        for one in index_definitions(table).values()
    }


def _filters(looked: Looked, candidate: Candidate, key: Expression | None) -> Filters:
    if candidate.columns or key is None:
        return column_filters(looked, candidate.expression)
    return key_filters(looked, key)


def _distinct(sample: pa.Table, expression: Expression, rows: int) -> float:
    values = sample.column(expression.column)
    return distinct_values(results(expression, values), rows)


def _stored(table: HudiTable, wanted: Iterable[BoundColumn]) -> set[str]:
    """The plain columns that base files hold and that values can be compared in."""
    partition_columns = set(table.properties.partition_fields)
    schema = table.schema()
    return {
        column.name
        for column in wanted
        if column.name in schema.names
        and column.name not in partition_columns
        and domain_of(schema.field(column.name).type) is not None
    }


def _key(table: HudiTable) -> Expression | None:
    """The only column of the record key, if it has one."""
    fields = table.properties.record_key_fields
    return Expression(IDENTITY, fields[0]) if len(fields) == 1 else None


def _stored_keys(table: HudiTable) -> set[str]:
    return {RECORD_KEY} if table.properties.meta_fields else set()


def _mean(what_ifs: Sequence[WhatIf], chosen: Sequence[Candidate]) -> Read:
    reads = [each.read(chosen) for each in what_ifs]
    count = len(reads)
    return Read(sum(r.files for r in reads) / count, sum(r.bytes for r in reads) / count)
