"""Compute the statements that register a Hudi table in Hive."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.common.constants import nested_type_name
from pyhudi_expr.index.description import VIEWS, ViewColumn
from pyhudi_expr.manage.hive.metastore_table import (
    STORAGE_HANDLER,
    HiveColumn,
    MetastoreTable,
    TableName,
    accepts,
    hive_columns,
    quote_identifier,
    quote_string,
    same_place,
    without_notes,
)
from pyhudi_expr.tables.hudi_table import HudiTable

_CALLING = re.compile(r"hudi\.pruning\.")
_OURS = re.compile(r"hudi\.|hoodie\..+\.consume\.")
#: The table property that makes a table one that describes another, see the handler's MetadataView.
METADATA_VIEW = "hudi.metadata.view"
#: Where, beside the Hudi table, these tables have their locations, which are empty.
VIEWS_DIR = ".pyhudi-views"
_NOTHING: Mapping[str, str] = {}


class RegistrationRefused(HudiError):  # noqa: N818 - names the finding
    """The name is taken, or the handler cannot read the table; the message says what to do."""


@dataclass(frozen=True)
class Registration:
    """A Hudi table's registration in Hive.

    Attributes:
        location: The location for Hive.
        columns: All columns, including the partition columns: the handler reads the partitions from
            the Hudi table.
        partition_columns: Their names.
    """

    name: TableName
    location: str
    columns: tuple[HiveColumn, ...]
    partition_columns: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Statements:
    """What registers a table.

    Attributes:
        registering: In order; none if the registration is up to date.
        removing: Those that drop what was replaced; they are run when all else has been verified.
        replaces: Whether another table is dropped for it. Then they use `TableName.aside`, too.
    """

    registering: tuple[str, ...]
    removing: tuple[str, ...] = ()
    replaces: bool = False

    @property
    def all(self) -> tuple[str, ...]:
        """All statements, in order."""
        return self.registering + self.removing


def hive_location(uri: str) -> str:
    """Return where Hive finds a table that this machine reads by a URI or an absolute path.

    Hadoop's client of S3 has the scheme `s3a`; `s3` and `s3n` were those of older clients.
    """
    scheme, colon, rest = uri.partition("://")
    return f"s3a://{rest}" if colon and scheme in {"s3", "s3n"} else uri


def registration(
    table: HudiTable, name: TableName, location: str, properties: Mapping[str, str] = _NOTHING
) -> Registration:
    """Return the registration of a table as it is now.

    Raises:
        RegistrationRefused: The table cannot be registered.
        UnsupportedTable: Hive has no type for a column.
        HudiError: The table cannot be read.
    """
    kept = table.properties
    if kept.drop_partition_columns:
        raise RegistrationRefused(
            f"{table.base_path}: its files do not hold the partition columns; let Hudi's sync"
            " register it with partitions, and set our input format (see the handler's README)"
        )
    if kept.base_file_format != "PARQUET":
        raise RegistrationRefused(
            f"{table.base_path}: its base files are {kept.base_file_format}; Hive reads Parquet"
        )
    partition_columns = frozenset(column.lower() for column in kept.partition_fields)
    columns = hive_columns(table.schema())
    return Registration(name, location, columns, partition_columns, properties)


def view_registrations(table: Registration) -> tuple[Registration, ...]:
    """Return the registrations of the read-only tables that describe a table.

    They have its properties that say how the pruning service is called.
    """
    parent, _, name = table.location.rstrip("/").rpartition("/")
    ours = {key: value for key, value in table.properties.items() if _CALLING.match(key)}
    return tuple(
        Registration(
            TableName(table.name.database, f"{table.name.table}__{view.name}"),
            f"{parent}/{VIEWS_DIR}/{name}/{view.name}",
            tuple(_view_column(column) for column in view.columns),
            properties={**ours, METADATA_VIEW: view.name},
        )
        for view in VIEWS.values()
    )


def _view_column(column: ViewColumn) -> HiveColumn:
    type_ = nested_type_name(column.type)
    return HiveColumn(column.name, type_, type_, column.comment)


def statements(
    target: Registration, existing: MetastoreTable | None, replacing: bool = False
) -> Statements:
    """Return the statements to run.

    Types and comments that were set in Hive, and that the handler accepts, stay; so do properties
    that begin with `hudi.`.

    Hive does not rename tables of storage handlers. Before one of them is dropped, the new one is
    created under another name, so that all which the handler checks is known to hold. A table of
    another kind is renamed, so that nothing of it is lost until the new one has been verified.

    Args:
        target: The registration.
        existing: Hive's table.
        replacing: Whether a table that reads something else, or in another way, may be dropped.

    Raises:
        RegistrationRefused: The existing table may not be dropped.
    """
    if existing is None:
        return Statements((_created(target),))
    _check_replaceable(target, existing, replacing)
    target = _in_words_of(target, existing)
    as_it_is = _reads_the_same(target, existing)
    if as_it_is and existing.columns == target.columns[: len(existing.columns)]:
        # Columns last: they cannot be taken away again.
        return Statements(
            (*_changed_properties(target, existing), *_added_columns(target, existing))
        )
    own = {key: value for key, value in existing.properties.items() if _OURS.match(key)}
    target = replace(target, properties={**own, **target.properties})
    aside = target.name.aside
    if existing.handler is None:
        registering = (_renamed(target.name, aside), _created(target))
        return Statements(registering, (f"DROP TABLE {aside}",), replaces=True)
    tried = (_created(replace(target, name=aside)), f"DROP TABLE {aside}")
    return Statements((*tried, f"DROP TABLE {target.name}", _created(target)), (), replaces=True)


def former_statements(
    target: Registration, before: MetastoreTable | None, now: MetastoreTable | None
) -> tuple[str, ...]:
    """Return the statements after which Hive's table is what it was before `statements` ran.

    Args:
        target: The registration.
        before: Hive's table before.
        now: Hive's table, if it is there. It is one that `statements` has made or changed.
    """
    name = target.name
    dropped = () if now is None else (f"DROP TABLE {name}",)
    if before is None:
        return dropped
    if before.handler is None:
        return (*dropped, _renamed(name.aside, name))
    if now is not None and _was_altered(before, now):
        return _former_properties(name, before, now)
    was = without_notes(before)
    return (
        *dropped,
        _created(Registration(name, was.location, was.columns, properties=was.properties)),
    )


def _was_altered(before: MetastoreTable, now: MetastoreTable) -> bool:
    """Return whether one became the other without being dropped, as far as `statements` does it."""
    is_there = same_place(before.location, now.location)
    return is_there and now.columns[: len(before.columns)] == before.columns


def is_registered(target: Registration, existing: MetastoreTable) -> bool:
    """Return whether Hive's table is a registration of the same table, and may be dropped."""
    return _reads_the_same(target, existing) and existing.survives_drop


def unmet(target: Registration, existing: MetastoreTable | None) -> str | None:
    """Return what Hive's table lacks of the registration, in words; None if nothing."""
    if existing is None:
        return "it is missing"
    if not _reads_the_same(target, existing):
        return f"it reads {existing.location} by {existing.handler or existing.input_format}"
    if not existing.survives_drop:
        return f"it is a {existing.kind} whose data DROP TABLE might delete"
    for key, value in target.properties.items():
        if existing.properties.get(key) != value:
            return f"{key} is {existing.properties.get(key)}, not {value}"
    return mismatch(target, existing)


def mismatch(target: Registration, existing: MetastoreTable) -> str | None:
    """Return the first column in which Hive's table differs, in words; None if there is none.

    Comments are ignored.
    """
    target = _in_words_of(target, existing)
    for position, is_ in enumerate(existing.columns):
        if position >= len(target.columns):
            return f"column {is_.name} of Hive's table is not in the Hudi table"
        should = target.columns[position]
        if (is_.name, is_.type) != (should.name, should.type):
            return (
                f"column {position + 1} is {is_.name} {is_.type} in Hive,"
                f" and {should.name} {should.type} in the Hudi table"
            )
    lacking = [column.name for column in target.columns[len(existing.columns) :]]
    return f"Hive's table lacks {', '.join(lacking)}" if lacking else None


def _check_replaceable(target: Registration, existing: MetastoreTable, replacing: bool) -> None:
    if _reads_the_same(target, existing):
        return
    if not existing.survives_drop:
        raise RegistrationRefused(
            f"{target.name} is a {existing.kind} whose data DROP TABLE might delete; choose another"
            " name"
        )
    if not replacing:
        read = existing.handler or existing.input_format
        raise RegistrationRefused(
            f"{target.name} exists and reads {existing.location} by {read}; choose another name, or"
            " drop that table for this one (its data stays) with --replace"
        )


def _reads_the_same(target: Registration, existing: MetastoreTable) -> bool:
    return existing.handler == STORAGE_HANDLER and same_place(existing.location, target.location)


def _in_words_of(target: Registration, existing: MetastoreTable) -> Registration:
    """Return the registration with the types, comments and column order of Hive's table."""
    known = {column.name: column for column in existing.columns}
    columns = [_in_words(column, known.get(column.name)) for column in target.columns]
    names = [column.name for column in existing.columns]
    last = len(names)
    while last and names[last - 1] in target.partition_columns:
        last -= 1
    # PARTITIONED BY has put them at the end.
    tail = names[last:]
    if names != [column.name for column in columns[: len(names)]]:
        columns = [column for column in columns if column.name not in tail] + [
            column for name in tail for column in columns if column.name == name
        ]
    return replace(target, columns=tuple(columns))


def _in_words(target: HiveColumn, is_: HiveColumn | None) -> HiveColumn:
    if is_ is None or not accepts(is_.type, target.type):
        return target
    comment = target.comment or is_.comment
    if is_.type == target.type:
        return replace(target, comment=comment)
    return HiveColumn(target.name, is_.type, is_.type, comment)


def _created(target: Registration) -> str:
    properties = f"\nTBLPROPERTIES ({_pairs(target.properties)})" if target.properties else ""
    return (
        f"CREATE EXTERNAL TABLE {target.name} (\n  {_declared(target.columns)})"
        f"\nSTORED BY {quote_string(STORAGE_HANDLER)}"
        f"\nLOCATION {quote_string(target.location)}{properties}"
    )


def _renamed(name: TableName, to: TableName) -> str:
    return f"ALTER TABLE {name} RENAME TO {to}"


def _former_properties(
    name: TableName, before: MetastoreTable, now: MetastoreTable
) -> tuple[str, ...]:
    was, is_ = without_notes(before).properties, without_notes(now).properties
    changed = {key: value for key, value in was.items() if is_.get(key) != value}
    added = ", ".join(quote_string(key) for key in is_ if key not in was)
    todo = (f"ALTER TABLE {name} SET TBLPROPERTIES ({_pairs(changed)})",) if changed else ()
    return (*todo, f"ALTER TABLE {name} UNSET TBLPROPERTIES ({added})") if added else todo


def _added_columns(target: Registration, existing: MetastoreTable) -> tuple[str, ...]:
    more = target.columns[len(existing.columns) :]
    return (f"ALTER TABLE {target.name} ADD COLUMNS (\n  {_declared(more)})",) if more else ()


def _changed_properties(target: Registration, existing: MetastoreTable) -> tuple[str, ...]:
    changed = {k: v for k, v in target.properties.items() if existing.properties.get(k) != v}
    return (f"ALTER TABLE {target.name} SET TBLPROPERTIES ({_pairs(changed)})",) if changed else ()


def _declared(columns: tuple[HiveColumn, ...]) -> str:
    comments = (
        f" COMMENT {quote_string(column.comment)}" if column.comment else "" for column in columns
    )
    return ",\n  ".join(
        f"{quote_identifier(column.name)} {column.declared}{comment}"
        for column, comment in zip(columns, comments, strict=True)
    )


def _pairs(properties: Mapping[str, str]) -> str:
    return ", ".join(
        f"{quote_string(key)}={quote_string(value)}" for key, value in properties.items()
    )
