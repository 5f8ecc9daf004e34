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
    Readers,
    adoption,
    differences,
    is_adopted,
    is_of_sync,
    is_ours,
    partition_formats,
    undoing,
)
from pyhudi_expr.manage.hive.metastore_table import (
    HiveColumn,
    MetastoreTable,
    TableName,
    accepts,
    hive_columns,
    metastore_table,
    quote_identifier,
)
from pyhudi_expr.manage.hive.session import ConnectionFailed, HiveSession
from pyhudi_expr.manage.operations import Action, Change, carry_out
from pyhudi_expr.tables.hudi_names import BOOTSTRAP_BASE_PATH
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
        yield _done(adopting(session, name), dry_run=dry_run)


def undo_all(
    session: HiveSession, names: Sequence[TableName], *, dry_run: bool
) -> Iterator[Adopted]:
    """Give each adopted table back what it had. See `adopt_all`."""
    for name in names:
        yield _done(undoing_adoption(session, name), dry_run=dry_run)


@dataclass(frozen=True)
class ReaderPlan:
    """Which readers a table gets.

    Attributes:
        name: In Hive.
        before: Its readers before that.
        todo: What there is to do.
    """

    operation: str
    name: TableName
    before: Readers
    todo: AdoptionPlan

    @property
    def table(self) -> str:
        """The base path."""
        return self.before.table.location

    @property
    def changes(self) -> tuple[Change, ...]:
        """The statements."""
        return tuple(Change(Action.SET, str(self.name), each) for each in self.todo.statements)


@dataclass(frozen=True)
class ReaderChange:
    """Gives a table in Hive, and its partitions, other readers; all else of it stays."""

    session: HiveSession
    name: TableName
    operation: str
    planner: Planner

    def plan(self) -> ReaderPlan:
        """Return the statements.

        Raises:
            NotAdoptable: The table stays as it is.
            HudiError: It is missing, or Hive does not describe it.
        """
        before = self._readers()
        todo = self.planner(self.name, before.table, before.partitions)
        return ReaderPlan(self.operation, self.name, before, todo)

    def check(self, plan: ReaderPlan) -> None:
        """Check that the table is that of the plan."""
        if self._differs(plan.before):
            raise HudiError(f"Hive's table {self.name} has changed meanwhile: run it again")

    def act(self, plan: ReaderPlan) -> None:
        """Run the statements."""
        for statement in plan.todo.statements:
            self.session.run(statement)

    def verify(self, plan: ReaderPlan, done: None) -> None:
        """Check that nothing is left to do, and that all else of the table is as before."""
        now = self._readers()
        if now.rest != plan.before.rest:
            raise HudiError("more of the table has changed than its readers")
        left = differences(self.name, plan.todo.after, now)
        if left:
            raise HudiError(f"it has not become what was asked for: {left[0]} is left to do")

    def restore(self, plan: ReaderPlan) -> str:
        """Give the table and its partitions the readers that they had."""
        for statement in differences(self.name, plan.before, self._readers()):
            self.session.run(statement)
        if self._differs(plan.before):
            raise HudiError(f"Hive's table {self.name} is not as before; run it again")
        return "the table and its partitions are as before"

    def _readers(self) -> Readers:
        table = metastore_table(self.session, self.name)
        if table is None:
            raise HudiError("it is not in the metastore")
        return Readers(table, _partitions(self.session, self.name, table))

    def _differs(self, before: Readers) -> bool:
        now = self._readers()
        return now.rest != before.rest or bool(differences(self.name, before, now))


def adopting(session: HiveSession, name: TableName) -> ReaderChange:
    """Return the operation that gives a table our input formats."""
    return ReaderChange(session, name, "hive adopt", _checked_adoption)


def undoing_adoption(session: HiveSession, name: TableName) -> ReaderChange:
    """Return the operation that gives an adopted table back what it had."""
    return ReaderChange(session, name, "hive adopt --undo", undoing)


def _done(change: ReaderChange, *, dry_run: bool) -> Adopted:
    name = change.name
    try:
        planned = change.plan()
        if planned.todo.statements and not dry_run:
            carry_out(change, planned)
    except NotAdoptable as reason:
        return Adopted(name, Outcome.SKIPPED, message=str(reason))
    except ConnectionFailed:
        raise
    except HudiError as error:
        return Adopted(name, Outcome.FAILED, message=" ".join(str(error).split()))
    todo = planned.todo
    outcome = Outcome.CHANGED if todo.statements else Outcome.UNCHANGED
    return Adopted(name, outcome, todo.statements, todo.partitions)


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
