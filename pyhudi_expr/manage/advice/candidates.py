"""Find the indexes that could serve the queries of a table, and the statements for them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.expr.bound import BoundCall, BoundColumn, columns
from pyhudi_expr.expr.domains import Kind, domain_of, kind_of
from pyhudi_expr.index.catalog.registry import Registry, Store
from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.manage.advice.estimates import Candidate, columns_without_bounds, equality_terms
from pyhudi_expr.manage.advice.table_sample import indexable_calls
from pyhudi_expr.manage.indexing.index_plan import (
    EXPRESSION_OPTION,
    STORE_OPTION,
    TYPE_OPTION,
    InvalidIndex,
    plan_index,
)
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    RECORD_INDEX,
    RECORD_KEY,
    SECONDARY_INDEX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.index_definitions import index_definitions

_NO_LETTERS = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(frozen=True)
class CreateStatement:
    """A statement that creates an index.

    Attributes:
        statement: For a shell.
        sql: For Spark SQL.
        store: Hudi's metadata table, or the extension's where Hudi would refuse or break the index.
    """

    statement: str
    sql: str
    store: Store


def create_statement(table: HudiTable, candidate: Candidate) -> CreateStatement | None:
    """Return the statement for a candidate; None if neither metadata table can hold it."""
    for store in Store:
        options = {STORE_OPTION: store.value}
        if candidate.function != IDENTITY:
            options[EXPRESSION_OPTION] = candidate.function
        name = _name(candidate)
        request = CreateIndex(name, table.base_path, candidate.kind, candidate.columns, options)
        try:
            plan_index(table, request)
        except InvalidIndex:
            continue
        words = ["pyhudi", "index", "create", table.base_path, name]
        words += ["--using", candidate.kind]
        words += ["--columns", ",".join(candidate.columns)] if candidate.columns else []
        if candidate.function != IDENTITY:
            words += ["--option", f"{EXPRESSION_OPTION}={candidate.function}"]
        words += ["--store", store.value] if store is not Store.HUDI else []
        return CreateStatement(shlex.join(words), _sql(request), store)
    return None


def _sql(request: CreateIndex) -> str:
    path = request.table.replace("\\", "\\\\").replace("'", "\\'")
    columns = ", ".join(_column(name) for name in request.columns)
    given = {key: text for key, text in request.options.items() if text != Store.HUDI.value}
    options = ", ".join(f"{key} = '{text}'" for key, text in given.items())
    return (
        f"CREATE INDEX {request.name} ON '{path}' USING {request.kind}"
        + (f"({columns})" if columns else "")
        + (f" OPTIONS ({options})" if options else "")
    )


def _column(name: str) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in name.split("."))


def _name(candidate: Candidate) -> str:
    called = (candidate.function,) if candidate.function != IDENTITY else ()
    columns = _NO_LETTERS.sub("_", "_".join((*called, *candidate.columns[:3])))
    if candidate.kind == BLOOM_FILTERS:
        return f"filters_{columns}" if columns else "filters"
    if called:
        return f"ranges_{columns}"
    return {COLUMN_STATS: "ranges", RECORD_INDEX: "keys"}.get(candidate.kind, f"by_{columns}")


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
