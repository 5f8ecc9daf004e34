"""Plan the metadata partitions that a CREATE INDEX statement builds, or refuse it.

For Hudi's metadata table the refusals are those of Hudi itself, measured or documented. Indexes
that Hudi accepts but then breaks are refused, too. The extension supports what Hudi does not.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi_expr.arrays import AnyField
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.domains import Kind, kind_of
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Store
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    COMMIT_TIME,
    META_COLUMNS,
    PARTITION_PATH,
    PARTITION_STATS,
    RECORD_INDEX,
    RECORD_KEY,
    SECONDARY_INDEX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.properties import TableProperties, TableType

IDENTITY = "identity"
"""Of the column's own values; for Bloom filters, as column_stats has their bounds."""

#: Hudi's names of the functions in Spark's SQL, with the options that are their arguments.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("year", "month", "day", "hour", "abs", "ceil", "floor"), ()),
    **dict.fromkeys(("upper", "lower", "trim", "ltrim", "rtrim", "length"), ()),
    **dict.fromkeys(("date_format", "from_unixtime"), ("format",)),
    **dict.fromkeys(("date_add", "date_sub"), ("days",)),
    "to_date": (),
    IDENTITY: (),
}
_NUMBERS = frozenset({"days"})


def arguments(definition: IndexDefinition) -> list[int | str]:
    """Return the arguments of an index's function besides the column.

    Raises:
        HudiError: The function is unknown, or has other options.
    """
    name, options = definition.function, dict(definition.options)
    options.pop("expr", None)
    expected = _FUNCTIONS.get(name)
    if expected is None or options.keys() != set(expected):
        wanted = f" (with the options {', '.join(expected)})" if expected else ""
        given = f" with the options {', '.join(sorted(options))}" if options else ""
        raise HudiError(
            f"an index over {name!r}{given} is not known{wanted}; known functions: "
            f"{', '.join(sorted(_FUNCTIONS))}"
        )
    try:
        return [int(options[o]) if o in _NUMBERS else options[o] for o in expected]
    except ValueError as error:
        raise HudiError(f"{definition.name}: {error}") from error


EXPRESSION = "expression"
KINDS = (COLUMN_STATS, RECORD_INDEX, SECONDARY_INDEX, BLOOM_FILTERS, EXPRESSION)

_NO_SECONDARY_INDEX_OF_HUDI = frozenset({Kind.DECIMAL, Kind.BOOLEAN, Kind.BINARY})

STORE_OPTION, SHARDS_OPTION, EXPRESSION_OPTION = "store", "shards", "expr"
TYPE_OPTION = "type"
"""What an expression index keeps of the results: `column_stats` or `bloom_filters`."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ALWAYS_INDEXED = (COMMIT_TIME, PARTITION_PATH, RECORD_KEY)
_DEFAULT_COLUMNS = 32
_SECOND_VERSION, _SECOND_VERSION_FROM = "V2", 9  # table version
_TYPES = (COLUMN_STATS, BLOOM_FILTERS)
# Functions that return NULL for no value but NULL.
_TOTAL = frozenset({IDENTITY, "upper", "lower", "trim", "ltrim", "rtrim", "length", "abs"})
_TOTAL |= {"year", "month", "day", "hour", "date_add", "date_sub"}


class InvalidIndex(HudiError):  # noqa: N818 - names the finding
    """The requested index is not possible; the message says why, and what is."""


@dataclass(frozen=True)
class PlannedPartition:
    """A metadata partition to build.

    Attributes:
        is_listed: Whether index.json has its definition.
    """

    definition: IndexDefinition
    is_listed: bool

    @property
    def name(self) -> str:
        """The name of the metadata partition."""
        return self.definition.name


@dataclass(frozen=True)
class IndexPlan:
    """What to build.

    Attributes:
        shards: File groups of each partition. None: by the size of the index.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    options: Mapping[str, str]
    store: Store
    partitions: tuple[PlannedPartition, ...]
    shards: int | None

    def registered(self, partitions: Sequence[str]) -> RegisteredIndex:
        """Return the registry entry of the index in these partitions; the instant is set later."""
        return RegisteredIndex(
            self.name, self.kind, self.columns, self.options, self.store, tuple(partitions), ""
        )


def plan_index(table: HudiTable, request: CreateIndex) -> IndexPlan:
    """Plan an index.

    Raises:
        InvalidIndex: The index is not possible.
    """
    if not _NAME.fullmatch(request.name):
        raise InvalidIndex(
            f"{request.name!r} is not a valid index name: use letters, digits and _, no digit first"
        )
    if request.kind not in KINDS:
        raise InvalidIndex(
            f"there is no kind of index {request.kind!r}: {_or(KINDS, request.kind)}"
        )
    schema = table.schema()
    columns = tuple(_column(table, schema, name) for name in request.columns)
    request = _as_expression(table, request, columns)
    store = _store(request)
    _check(table, request, columns, store)
    return IndexPlan(
        name=request.name,
        kind=request.kind,
        columns=request.columns,
        options=request.options,
        store=store,
        partitions=tuple(_partitions(table, request, store)),
        shards=_shards(request),
    )


@dataclass(frozen=True)
class _Column:
    name: str
    type: pa.DataType
    is_nullable: bool


def _column(table: HudiTable, schema: pa.Schema, name: str) -> _Column:
    """Return the column, a nested one by its path."""
    children: Sequence[AnyField] = list(schema)
    type_, is_nullable = pa.null(), False
    for part in name.split("."):
        found = next((child for child in children if child.name == part), None)
        if found is None:
            names = [child.name for child in children]
            where = "" if part == name else f" ({part!r})"
            raise InvalidIndex(
                f"{table.base_path}: there is no column {name!r}{where}: {_or(names, part)}"
            )
        type_, is_nullable = found.type, is_nullable or found.nullable
        nested = pa.types.is_struct(type_)
        children = [type_.field(i) for i in range(type_.num_fields)] if nested else []
    return _Column(name, type_, is_nullable)


def _as_expression(
    table: HudiTable, request: CreateIndex, columns: Sequence[_Column]
) -> CreateIndex:
    """Return a statement in the form of an expression index.

    Hudi writes it as `USING column_stats(c) OPTIONS (expr = 'f')` or `bloom_filters`. Filters of a
    column's own values are expression indexes, too.
    """
    of_values = request.kind == BLOOM_FILTERS and not _are_keys(table, columns)
    if request.kind not in _TYPES or not (of_values or EXPRESSION_OPTION in request.options):
        return request
    options = {EXPRESSION_OPTION: IDENTITY, **request.options, TYPE_OPTION: request.kind}
    return replace(request, kind=EXPRESSION, options=options)


def _store(request: CreateIndex) -> Store:
    text = request.options.get(STORE_OPTION, Store.HUDI.value)
    try:
        return Store(text)
    except ValueError:
        names = [store.value for store in Store]
        raise InvalidIndex(f"there is no store {text!r}: {_or(names, text)}") from None


def _shards(request: CreateIndex) -> int | None:
    text = request.options.get(SHARDS_OPTION)
    if text is None:
        return None
    if not text.isdigit() or not 1 <= int(text) <= 10_000:
        raise InvalidIndex(f"{SHARDS_OPTION} must be a number from 1 to 10000, not {text!r}")
    return int(text)


def _check(
    table: HudiTable, request: CreateIndex, columns: Sequence[_Column], store: Store
) -> None:
    for column in columns:
        if pa.types.is_nested(column.type):
            raise InvalidIndex(
                f"{table.base_path}: {column.name!r} is of type {column.type}, which no "
                "index can hold; if it is a struct, index one of its fields"
            )
    own = (STORE_OPTION, SHARDS_OPTION)
    unknown = [option for option in request.options if option not in own]
    if unknown and request.kind != EXPRESSION:
        raise InvalidIndex(f"{request.kind} has no option {unknown[0]!r}: {_or(own, unknown[0])}")
    if request.kind in (RECORD_INDEX, BLOOM_FILTERS) and not _are_keys(table, columns):
        raise InvalidIndex(f"{request.kind} is over the record keys; name no columns")
    if request.kind == EXPRESSION and len(columns) != 1:
        todo = "" if columns else "; name the column"
        raise InvalidIndex(f"{request.kind} is over one column, not {len(columns)}{todo}")
    if request.kind == SECONDARY_INDEX:
        _check_indexed(table, columns)
    if request.kind == EXPRESSION and EXPRESSION_OPTION not in request.options:
        raise InvalidIndex("an expression index needs the option expr, the function's name")
    type_ = request.options.get(TYPE_OPTION, COLUMN_STATS)
    if request.kind == EXPRESSION and type_ not in _TYPES:
        raise InvalidIndex(f"there is no type {type_!r} of expression index: {_or(_TYPES, type_)}")
    if store is Store.HUDI:
        refusal = _refusal(table, request, columns)
        if refusal:
            raise InvalidIndex(
                f"{table.base_path}: {refusal}; it can be kept beside Hudi's metadata table: "
                f"OPTIONS ({STORE_OPTION} = '{Store.EXTENSION.value}'), or --store extension"
            )


def _check_indexed(table: HudiTable, columns: Sequence[_Column]) -> None:
    """Check the columns of a secondary index."""
    if not columns:
        raise InvalidIndex(f"{SECONDARY_INDEX} is over one column or several; name them")
    names = [column.name for column in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidIndex(f"{table.base_path}: {twice!r} is named twice")
    for column in columns:
        if kind_of(column.type) is None:
            raise InvalidIndex(
                f"{table.base_path}: {column.name!r} is of type {column.type}, whose values "
                "no predicate can name"
            )


def _are_keys(table: HudiTable, columns: Sequence[_Column]) -> bool:
    keys = table.properties.record_key_fields
    return not columns or tuple(column.name for column in columns) in (keys, (RECORD_KEY,))


def _refusal(table: HudiTable, request: CreateIndex, columns: Sequence[_Column]) -> str | None:
    """Return why Hudi's own metadata table cannot hold the index."""
    properties, kind = table.properties, request.kind
    if kind in (RECORD_INDEX, SECONDARY_INDEX, BLOOM_FILTERS) and not properties.meta_fields:
        return f"the table has virtual record keys, and Hudi's {kind} would lose rows of it"
    if kind in (SECONDARY_INDEX, EXPRESSION) and properties.version < 8:
        return f"a table of version {properties.version} has no {kind} in Hudi"
    if kind == EXPRESSION and request.options.get(TYPE_OPTION) == BLOOM_FILTERS:
        function = request.options[EXPRESSION_OPTION]
        is_key = columns[0].name in (*properties.record_key_fields, RECORD_KEY)
        if (columns[0].is_nullable and not is_key) or function not in _TOTAL:
            return (
                f"Hudi's writers fail on nulls in Bloom filters of a column, and {function} of "
                f"{columns[0].name} may be null"
            )
    if kind != SECONDARY_INDEX:
        return None
    own = f"{hudi_names.SECONDARY_INDEX_PREFIX}{request.name}"
    if own not in properties.metadata_partitions and has_others_with_logs(properties, own):
        return FOLLOWS_THE_FIRST
    if len(properties.record_key_fields) > 1:
        return "Hudi has no secondary index of a table with a composite record key"
    if len(columns) > 1:
        return "Hudi has no secondary index over several columns"
    (column,) = columns
    values = kind_of(column.type)
    if values is Kind.FLOAT:
        return f"how Hudi spells a {column.type} in secondary indexes depends on the Java version"
    if values in _NO_SECONDARY_INDEX_OF_HUDI:
        return f"Hudi has no secondary index on a column of type {column.type}"
    return None


FOLLOWS_THE_FIRST = (
    "Hudi 1.2 follows log files in the first of several secondary indexes only, and its readers "
    "lose rows by the others"
)


def has_others_with_logs(properties: TableProperties, partition: str) -> bool:
    """Return whether a table with log files has secondary indexes of Hudi's beside a partition."""
    prefix = hudi_names.SECONDARY_INDEX_PREFIX
    others = {one for one in properties.metadata_partitions if one.startswith(prefix)}
    return properties.table_type is TableType.MERGE_ON_READ and bool(others - {partition})


def _partitions(table: HudiTable, request: CreateIndex, store: Store) -> Iterator[PlannedPartition]:
    is_newer = table.properties.version >= _SECOND_VERSION_FROM
    version = _SECOND_VERSION if is_newer else "V1"
    match request.kind:
        case hudi_names.COLUMN_STATS:
            columns = request.columns or tuple(_default_columns(table))
            fields = tuple(dict.fromkeys((*_ALWAYS_INDEXED, *columns)))
            yield _planned(COLUMN_STATS, COLUMN_STATS, fields, version)
            if table.properties.is_partitioned and table.properties.version >= 8:
                yield _planned(PARTITION_STATS, PARTITION_STATS, fields, version, is_listed=False)
        case hudi_names.RECORD_INDEX:
            yield _record_index()
        case hudi_names.SECONDARY_INDEX:
            if RECORD_INDEX not in table.properties.metadata_partitions or (
                store is Store.EXTENSION
            ):
                yield _record_index()
            name = f"{SECONDARY_INDEX}_{request.name}"
            if len(request.columns) > 1:
                version = _SECOND_VERSION
            yield _planned(name, SECONDARY_INDEX, request.columns, version, function="identity")
        case hudi_names.BLOOM_FILTERS:
            yield _planned(BLOOM_FILTERS, BLOOM_FILTERS, (), "V1", is_listed=False)
        case "expression":
            function = request.options[EXPRESSION_OPTION]
            own = (STORE_OPTION, SHARDS_OPTION, TYPE_OPTION)
            options = {key: value for key, value in request.options.items() if key not in own}
            definition = IndexDefinition(
                name=f"expr_index_{request.name}",
                type=request.options.get(TYPE_OPTION, COLUMN_STATS),
                function=function,
                fields=request.columns,
                options=options,
                version=version,
            )
            try:
                arguments(definition)
            except HudiError as error:
                raise InvalidIndex(f"{table.base_path}: {error}") from error
            yield PlannedPartition(definition, is_listed=True)


def _record_index() -> PlannedPartition:
    definition = IndexDefinition(
        RECORD_INDEX, RECORD_INDEX, "", (), {"isPartitioned": "false"}, "V1"
    )
    return PlannedPartition(definition, is_listed=True)


def _planned(
    name: str,
    type_: str,
    fields: tuple[str, ...],
    version: str,
    *,
    function: str | None = None,
    is_listed: bool = True,
) -> PlannedPartition:
    definition = IndexDefinition(name, type_, function or type_, fields, {}, version)
    return PlannedPartition(definition, is_listed)


def _default_columns(table: HudiTable) -> Iterator[str]:
    """Return the first columns whose values have an order, as Hudi selects them."""
    ordered = [f.name for f in table.schema() if not pa.types.is_nested(f.type)]
    yield from [name for name in ordered if name not in META_COLUMNS][:_DEFAULT_COLUMNS]


def _or(names: Sequence[str], wrong: str) -> str:
    near = difflib.get_close_matches(wrong, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}"
