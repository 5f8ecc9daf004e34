"""Drop a Hudi table's registration in Hive, and those of the tables that describe it."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.description import VIEWS
from pyhudi_expr.manage.hive.metastore_table import (
    STORAGE_HANDLER,
    MetastoreTable,
    TableName,
    is_same,
    metastore_table,
)
from pyhudi_expr.manage.hive.registration import (
    METADATA_VIEW,
    Registration,
    RegistrationRefused,
    former_statements,
)
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.manage.operations import Action, Change
from pyhudi_expr.tables.hudi_names import PROPERTIES_FILE
from pyhudi_expr.tables.storage import Storage


@dataclass(frozen=True)
class UnregistrationPlan:
    """What is dropped.

    Attributes:
        dropped: Hive's tables: those that describe the table, then its own.
    """

    dropped: tuple[tuple[TableName, MetastoreTable], ...]

    @property
    def operation(self) -> str:
        """The operation."""
        return "hive unregister"

    @property
    def table(self) -> str:
        """The Hudi table's location in Hive."""
        return self.dropped[-1][1].location

    @property
    def changes(self) -> tuple[Change, ...]:
        """The tables of Hive, by their names."""
        return tuple(Change(Action.REMOVE, str(name)) for name, _ in self.dropped)


@dataclass(frozen=True)
class HiveUnregistration:
    """Drops a table of the storage handler in Hive; the Hudi table stays.

    Attributes:
        session: A session with HiveServer2.
        name: Hive's table.
    """

    session: HiveSession
    name: TableName

    def plan(self) -> UnregistrationPlan:
        """Return the tables that are dropped.

        Raises:
            RegistrationRefused: There is no such table, or another reader reads it.
            QueryError: Hive does not describe a table.
        """
        found = metastore_table(self.session, self.name)
        if found is None:
            raise RegistrationRefused(f"Hive has no table {self.name}")
        if found.handler != STORAGE_HANDLER or METADATA_VIEW in found.properties:
            raise RegistrationRefused(
                f"{self.name} is not a Hudi table that the storage handler reads; what `hive adopt`"
                " has changed is undone by `hive adopt --undo`"
            )
        return UnregistrationPlan((*self._describing(), (self.name, found)))

    def check(self, plan: UnregistrationPlan) -> None:
        """Check that DROP TABLE keeps the files of each table."""
        for name, table in plan.dropped:
            if not table.survives_drop:
                raise RegistrationRefused(
                    f"{name} is a {table.kind} whose data DROP TABLE might delete; first run"
                    f" ALTER TABLE {name} SET TBLPROPERTIES ('EXTERNAL'='TRUE',"
                    " 'external.table.purge'='false')"
                )

    def act(self, plan: UnregistrationPlan) -> None:
        """Drop the tables that are still those of the plan."""
        is_there = _is_hudi_table(plan.table)
        for name, table in plan.dropped:
            if not is_same(metastore_table(self.session, name), table):
                raise RegistrationRefused(f"Hive's table {name} has changed meanwhile")
            self.session.run(f"DROP TABLE {name}")
            if is_there and not _is_hudi_table(plan.table):
                raise HudiError(f"DROP TABLE {name} has removed files of the Hudi table")

    def verify(self, plan: UnregistrationPlan, done: None) -> tuple[TableName, ...]:
        """Check that Hive has none of the tables; return their names."""
        for name, _ in plan.dropped:
            if metastore_table(self.session, name) is not None:
                raise HudiError(f"Hive still has the table {name}")
        return tuple(name for name, _ in plan.dropped)

    def restore(self, plan: UnregistrationPlan) -> str:
        """Create what was dropped again.

        Raises:
            HudiError: A table of Hive is not what it was; the message names it.
        """
        for name, table in plan.dropped:
            now = metastore_table(self.session, name)
            if now is None:
                target = Registration(name, table.location, table.columns)
                for statement in former_statements(target, table, now):
                    self.session.run(statement)
            if not is_same(metastore_table(self.session, name), table):
                raise HudiError(f"Hive's table {name} is not as before")
        return "Hive's tables are as before"

    def _describing(self) -> tuple[tuple[TableName, MetastoreTable], ...]:
        """Return the tables that `hive register --metadata` has created beside the table."""
        found = []
        for view in VIEWS:
            name = TableName(self.name.database, f"{self.name.table}__{view}")
            table = metastore_table(self.session, name)
            if table is not None and table.properties.get(METADATA_VIEW) == view:
                found.append((name, table))
        return tuple(found)


def _is_hudi_table(location: str) -> bool:
    """Return whether this machine sees a Hudi table at a location."""
    try:
        return Storage.open(location).stat(PROPERTIES_FILE) is not None
    except (HudiError, OSError):
        return False
