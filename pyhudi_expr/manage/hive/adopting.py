"""Adopt the tables of Hudi's sync in HiveServer2, one after the other, or undo it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.hive.adoption import (
    AdoptionPlan,
    NotAdoptable,
    PartitionFormat,
    adoption,
    is_adopted,
    is_of_sync,
    is_ours,
    undoing,
)
from pyhudi_expr.manage.hive.columns import HiveColumn, accepts, hive_columns, quote_identifier
from pyhudi_expr.manage.hive.metastore_partitions import partition_formats
from pyhudi_expr.manage.hive.metastore_table import MetastoreTable, TableName, metastore_table
from pyhudi_expr.manage.hive.session import ConnectionFailed, HiveSession
from pyhudi_expr.tables.config_keys import BOOTSTRAP_BASE_PATH
from pyhudi_expr.tables.hudi_table import HudiTable

Planner = Callable[[TableName, MetastoreTable, tuple[PartitionFormat, ...]], AdoptionPlan]
#: What Hudi's sync declares for instants by default (support_timestamp=false).
_AS_NUMBER = ("bigint", "timestamp")


class Outcome(str, Enum):
    """What has become of a table."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """It was as it should be."""
    SKIPPED = "skipped"
    """It is no table of Hudi's sync, or one that our input formats cannot read."""
    FAILED = "failed"


@dataclass(frozen=True)
class Adopted:
    """A table, and what was done, or would be in a dry run.

    Attributes:
        statements: Those that ran.
        partitions: How many partitions they change.
        message: Why it was skipped, or what failed.
    """

    name: TableName
    outcome: Outcome
    statements: tuple[str, ...] = ()
    partitions: int = 0
    message: str = ""


def tables_of(session: HiveSession, names: Sequence[str], database: str) -> tuple[TableName, ...]:
    """Return the tables that the names stand for: `database.table`, `table` or `database`.

    Raises:
        HudiError: A name is neither a table of `database` nor a database.
        QueryError: Hive refused to list them.
    """
    found: dict[TableName, None] = {}
    for name in names:
        if "." in name:
            found[TableName.parse(name, database)] = None
        elif _listed(session, f"SHOW TABLES IN {quote_identifier(database)} LIKE '{name}'", name):
            found[TableName(database, name)] = None
        elif _listed(session, f"SHOW DATABASES LIKE '{name}'", name):
            tables = session.run(f"SHOW TABLES IN {quote_identifier(name)}")
            found.update((TableName(name, str(row[0])), None) for row in tables)
        else:
            raise HudiError(
                f"{name} is neither a table in the database {database} nor a database; name a table"
                " as DATABASE.TABLE"
            )
    return tuple(found)


def adopt_all(
    session: HiveSession, names: Sequence[TableName], *, dry_run: bool
) -> Iterator[Adopted]:
    """Give each table our input formats.

    Raises:
        ConnectionFailed: HiveServer2 is gone. Any other failure is one of a table.
    """
    for name in names:
        yield _done(session, name, _checked_adoption, dry_run=dry_run)


def undo_all(
    session: HiveSession, names: Sequence[TableName], *, dry_run: bool
) -> Iterator[Adopted]:
    """Give each adopted table back what it had. See `adopt_all`."""
    for name in names:
        yield _done(session, name, undoing, dry_run=dry_run)


def _done(session: HiveSession, name: TableName, plan: Planner, *, dry_run: bool) -> Adopted:
    try:
        table = metastore_table(session, name)
        if table is None:
            return Adopted(name, Outcome.FAILED, message="it is not in the metastore")
        planned = plan(name, table, _partitions(session, name, table))
        for statement in () if dry_run else planned.statements:
            session.run(statement)
    except NotAdoptable as reason:
        return Adopted(name, Outcome.SKIPPED, message=str(reason))
    except ConnectionFailed:
        raise
    except HudiError as error:
        return Adopted(name, Outcome.FAILED, message=" ".join(str(error).split()))
    outcome = Outcome.CHANGED if planned.statements else Outcome.UNCHANGED
    return Adopted(name, outcome, planned.statements, planned.partitions)


def _partitions(
    session: HiveSession, name: TableName, table: MetastoreTable
) -> tuple[PartitionFormat, ...]:
    """Return the partitions of a table that may be changed; others need no look."""
    concerns_us = is_of_sync(table) or is_ours(table) or is_adopted(table)
    return partition_formats(session, name, table) if concerns_us else ()


def _checked_adoption(
    name: TableName, table: MetastoreTable, partitions: tuple[PartitionFormat, ...]
) -> AdoptionPlan:
    planned = adoption(name, table, partitions)
    if planned.statements and not is_adopted(table):
        _check_hudi_table(table)
    return planned


def _check_hudi_table(table: MetastoreTable) -> None:
    """Check that our input formats read what Hudi's do. Raises NotAdoptable."""
    try:
        hudi = HudiTable.open(table.location)
        columns = {column.name: column for column in hive_columns(hudi.schema())}
    except HudiError as error:
        raise NotAdoptable(f"the Hudi table cannot be read from here: {error}") from error
    properties = hudi.properties
    if properties.base_file_format != "PARQUET":
        raise NotAdoptable(f"its base files are {properties.base_file_format}, not Parquet")
    if BOOTSTRAP_BASE_PATH in properties.raw:
        raise NotAdoptable("it was made by bootstrap, whose files only Hudi's reader can read")
    for column in table.columns:
        _check_column(column, columns.get(column.name))


def _check_column(column: HiveColumn, hudi: HiveColumn | None) -> None:
    if hudi is None:
        raise NotAdoptable(f"column {column.name} is not in the Hudi table; run Hudi's sync first")
    if not accepts(column.type, hudi.type) and (column.type, hudi.type) != _AS_NUMBER:
        raise NotAdoptable(
            f"column {column.name} is {column.type} in Hive and {hudi.type} in the Hudi table"
        )


def _listed(session: HiveSession, statement: str, name: str) -> bool:
    return any(str(row[0]) == name.lower() for row in session.run(statement))
