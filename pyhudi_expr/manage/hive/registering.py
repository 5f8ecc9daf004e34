"""Register tables in Hive, and drop that, as one operation: all of them, or none.

They are a Hudi table and those that describe it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    Statements,
    former_statements,
    is_registered,
    statements,
    unmet,
)
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.manage.operations import Action, Change
from pyhudi_expr.tables.hudi_names import PROPERTIES_FILE
from pyhudi_expr.tables.storage import Storage


@dataclass(frozen=True)
class RegistrationStep:
    """What registers one table.

    Attributes:
        before: Hive's table before that; None if there was none.
    """

    target: Registration
    statements: Statements
    before: MetastoreTable | None


@dataclass(frozen=True)
class RegistrationPlan:
    """What registers a table and those that describe it.

    Attributes:
        table: The Hudi table's base path.
        steps: That of the table, then the others.
    """

    table: str
    steps: tuple[RegistrationStep, ...]

    @property
    def operation(self) -> str:
        """The operation."""
        return "hive register"

    @property
    def changes(self) -> tuple[Change, ...]:
        """The statements, by the names of Hive's tables."""
        return tuple(
            Change(Action.SET, str(step.target.name), statement)
            for step in self.steps
            for statement in step.statements.all
        )


def plan_of_new(table: str, targets: Sequence[Registration]) -> RegistrationPlan:
    """Return the plan for a Hive that has none of the tables."""
    return RegistrationPlan(
        table, tuple(RegistrationStep(each, statements(each, None), None) for each in targets)
    )


@dataclass(frozen=True)
class HiveRegistration:
    """Registers a Hudi table in Hive, and those that describe it.

    The table comes last, as the others need the service and so are the likelier ones to be refused.
    A table in Hive that is replaced is dropped when all that is asked for has been verified.

    Attributes:
        session: A session with HiveServer2.
        table: The Hudi table's base path.
        targets: The registration of the table, then those of the others.
        replacing: Whether a table that reads something else, or in another way, may be dropped.
    """

    session: HiveSession
    table: str
    targets: tuple[Registration, ...]
    replacing: bool

    def plan(self) -> RegistrationPlan:
        """Return the statements for each table.

        Raises:
            RegistrationRefused: An existing table may not be dropped.
            QueryError: Hive does not describe a table.
        """
        return RegistrationPlan(self.table, tuple(map(self._step, self.targets)))

    def check(self, plan: RegistrationPlan) -> None:
        """Check that Hive's tables are those of the plan, and that no run has left one aside."""
        for step in plan.steps:
            name = step.target.name
            if not is_same(metastore_table(self.session, name), step.before):
                raise RegistrationRefused(
                    f"Hive's table {name} has changed meanwhile: run it again"
                )
            aside = name.aside
            if step.statements.replaces and metastore_table(self.session, aside) is not None:
                raise RegistrationRefused(
                    f"Hive has a table {aside}, which may be left of a registration that did not"
                    f" end. If it is what {name} was, rename it back; else drop it (the data of an"
                    " external table stays)"
                )

    def act(self, plan: RegistrationPlan) -> None:
        """Run the statements, and drop what was replaced once all is verified."""
        steps = plan.steps[::-1]
        for step in steps:
            for statement in step.statements.registering:
                self.session.run(statement)
        self._require_registered(plan)
        for step in steps:
            for statement in step.statements.removing:
                self.session.run(statement)

    def verify(self, plan: RegistrationPlan, done: None) -> None:
        """Check that Hive's tables are what was asked for, and that none is left aside."""
        self._require_registered(plan)
        for step in plan.steps:
            aside = step.target.name.aside
            if step.statements.replaces and metastore_table(self.session, aside) is not None:
                raise HudiError(f"Hive still has the table {aside}")

    def restore(self, plan: RegistrationPlan) -> str:
        """Make each of Hive's tables what it was.

        Raises:
            HudiError: One of them is not; the message names it.
        """
        lost = [line for step in plan.steps for line in self._restored(step)]
        if lost:
            raise HudiError(
                "; ".join(lost)
                + ". Run it again, which ends it; the files of the Hudi table are as"
                " before"
            )
        return "nothing was registered, Hive's tables are as before"

    def _step(self, target: Registration) -> RegistrationStep:
        existing = metastore_table(self.session, target.name)
        todo = statements(target, existing, self.replacing)
        return RegistrationStep(target, todo, existing)

    def _require_registered(self, plan: RegistrationPlan) -> None:
        for step in plan.steps:
            name = step.target.name
            reason = unmet(step.target, metastore_table(self.session, name))
            if reason is not None:
                raise HudiError(f"Hive's table {name} has not become what was asked for: {reason}")

    def _restored(self, step: RegistrationStep) -> Iterator[str]:
        """Restore one table. Yields what is not as before, in words."""
        name = step.target.name
        try:
            self._restore(step)
            if not is_same(metastore_table(self.session, name), step.before):
                yield f"Hive's table {name} is not as before"
        except HudiError as error:
            yield f"Hive's table {name} could not be restored: {error}"

    def _restore(self, step: RegistrationStep) -> None:
        name, aside = step.target.name, step.target.name.aside
        current = metastore_table(self.session, name)
        left = metastore_table(self.session, aside) if step.statements.replaces else None
        if left is not None and is_registered(step.target, left):
            self.session.run(f"DROP TABLE {aside}")
            left = None
        if is_same(current, step.before):
            return
        if current is not None and not is_registered(step.target, current):
            raise HudiError("somebody has made it another one meanwhile")
        for statement in former_statements(step.target, step.before, current):
            self.session.run(statement)


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
