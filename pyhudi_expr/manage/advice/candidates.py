"""Find the indexes that could serve the queries of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.expr.bound import BoundCall, BoundColumn, columns
from pyhudi_expr.expr.domains import Kind, domain_of, kind_of
from pyhudi_expr.index.catalog.registry import Registry
from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.manage.advice.estimates import Candidate, columns_without_bounds, equality_terms
from pyhudi_expr.manage.advice.expression_ranges import indexable_calls
from pyhudi_expr.manage.indexing.index_plan import EXPRESSION_OPTION, TYPE_OPTION
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    RECORD_INDEX,
    RECORD_KEY,
    SECONDARY_INDEX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes.index_definitions import index_definitions

#: The kinds of values that filters can be looked up by.
_FILTERED = frozenset({Kind.TEXT, Kind.INTEGER})


@dataclass(frozen=True)
class ColumnUsage:
    """How queries use the columns that base files hold.

    Attributes:
        columns: The columns by name.
        lacking: Columns without bounds in any index.
        equal: Columns, or functions of them, that are compared for equality.
        calls: Functions of columns, with one call of each.
        key: The record key, if it is one column.
    """

    columns: Mapping[str, BoundColumn]
    lacking: Set[str]
    equal: Set[Expression]
    calls: Mapping[Expression, BoundCall]
    key: Expression | None

    @staticmethod
    def of(table: HudiTable, results: Sequence[PruneResult]) -> ColumnUsage:
        """Collect the columns of the queries' results of today."""
        predicates = [result.predicate for result in results]
        used = {column.name: column for each in predicates for column in columns(each).values()}
        stored = _stored(table, used.values())
        called = (pair for each in predicates for pair in indexable_calls(each))
        return ColumnUsage(
            columns={name: used[name] for name in stored},
            lacking={one.name for result in results for one in columns_without_bounds(result)}
            & stored,
            equal={
                one for each in predicates for one in equality_terms(each) if one.column in stored
            },
            calls={one: call for one, call in called if one.column in stored},
            key=_key(table),
        )

    @property
    def equal_columns(self) -> Set[str]:
        """Return the columns that are compared for equality, themselves or through a function."""
        return {one.column for one in self.equal}

    @property
    def bounded(self) -> Set[str]:
        """Return the columns whose bounds decide what an index would save."""
        return self.lacking | {one.column for one in self.equal if one.function == IDENTITY}


def candidates(
    table: HudiTable, usage: ColumnUsage, built: Sequence[IndexStatus]
) -> Iterator[Candidate]:
    """Return each candidate once.

    Args:
        table: The table.
        usage: How the queries use its columns.
        built: The existing indexes.
    """
    equal, key = usage.equal, usage.key
    kinds = {each.kind for each in built}
    if usage.lacking:
        yield Candidate(COLUMN_STATS, tuple(sorted(usage.lacking)))
    for kind in (RECORD_INDEX, BLOOM_FILTERS):
        if key in equal and kind not in kinds:
            yield Candidate(kind, ())
    indexed = {name for each in built if each.kind == SECONDARY_INDEX for name in each.columns}
    plain = {one.column for one in equal if one.function == IDENTITY}
    values = plain - {RECORD_KEY if key is None else key.column, RECORD_KEY}
    for name in sorted(values - indexed):
        yield Candidate(SECONDARY_INDEX, (name,))
    schema = table.schema()
    filtered = {Expression(IDENTITY, name) for name in values if _is_filtered(schema, name)}
    filtered |= usage.calls.keys() & equal
    found = {Candidate.over(BLOOM_FILTERS, one) for one in filtered}
    found |= {Candidate.over(COLUMN_STATS, one) for one in usage.calls}
    yield from sorted(found - _expression_candidates(table))


def _is_filtered(schema: pa.Schema, name: str) -> bool:
    return kind_of(schema.field(name).type) in _FILTERED


def _expression_candidates(table: HudiTable) -> set[Candidate]:
    """Return the expression indexes that exist or were requested."""
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


def _stored(table: HudiTable, usage: Iterable[BoundColumn]) -> set[str]:
    """Return the plain columns that base files hold and whose values can be compared."""
    partition_columns = set(table.properties.partition_fields)
    schema = table.schema()
    return {
        column.name
        for column in usage
        if column.name in schema.names
        and column.name not in partition_columns
        and domain_of(schema.field(column.name).type) is not None
    }


def _key(table: HudiTable) -> Expression | None:
    """Return the only column of the record key, if it has one."""
    fields = table.properties.record_key_fields
    return Expression(IDENTITY, fields[0]) if len(fields) == 1 else None
