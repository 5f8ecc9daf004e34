"""Remove what a dead process left although its work was done: a lock, a copy, reserved space.

A command that finds nothing to do takes no lock, and changes no properties, so it would leave them:
Hudi's writers would wait for the lock until someone deletes it. So each command of indexes removes
them first, by an operation of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.operations import Action, Change, run
from pyhudi_expr.tables import properties
from pyhudi_expr.tables.hudi_names import PROPERTIES_BACKUP_FILE, PROPERTIES_FILE
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import LockNotAcquired, TableLock
from pyhudi_expr.tables.mdt.changes.rollback import abandoned_space
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR
from pyhudi_expr.tables.storage import Storage

_LOCK = "the table's lock, of a process that has ended"


@dataclass(frozen=True)
class LeftoverPlan:
    """What a dead process left.

    Attributes:
        reserved: The file that reserves space; None if there is none.
        copies: Where copies of properties are: "" is the table.
        is_locked: Whether the lock is still that of the process.
    """

    table: str
    reserved: str | None
    copies: tuple[str, ...]
    is_locked: bool

    @property
    def operation(self) -> str:
        """The operation."""
        return "leftovers"

    @property
    def changes(self) -> tuple[Change, ...]:
        """The files, then the lock."""
        reserved = [] if self.reserved is None else [self.reserved]
        copies = [f"{place}/{PROPERTIES_BACKUP_FILE}".lstrip("/") for place in self.copies]
        locks = [_LOCK] if self.is_locked else []
        return tuple(Change(Action.REMOVE, what) for what in (*reserved, *copies, *locks))


@dataclass(frozen=True)
class LeftoverRemoval:
    """Removes what dead processes left, unless another writer is at work.

    It or the next command does it then.
    """

    storage: Storage
    lock: TableLock

    def plan(self) -> LeftoverPlan:
        """Return what there is. Raises HudiError if the table cannot be read."""
        places = ("", EXTENSION_DIR)
        copies = tuple(one for one in places if self._has(one, PROPERTIES_BACKUP_FILE))
        reserved = abandoned_space(self.storage)
        return LeftoverPlan(self.storage.uri, reserved, copies, self.lock.is_abandoned())

    def check(self, plan: LeftoverPlan) -> None:
        """Nothing has to hold: what is planned belongs to processes that have ended."""

    def act(self, plan: LeftoverPlan) -> bool:
        """Remove it; return False if another writer is at work."""
        if plan.reserved is not None and abandoned_space(self.storage) == plan.reserved:
            self.storage.delete(plan.reserved)
        if not plan.copies and not plan.is_locked:
            return True
        try:
            with self.lock.held("removes what a dead process left") as lease:
                for place in plan.copies:
                    lease.check()
                    properties.recover(self._place(place))
        except LockNotAcquired:
            return False
        return True

    def verify(self, plan: LeftoverPlan, done: bool) -> None:
        """Check that the table has its properties, and that its lock is nobody's who has ended."""
        if not done:
            return
        for place in plan.copies:
            if not self._has(place, PROPERTIES_FILE):
                raise HudiError(f"{place or '.'}: {PROPERTIES_FILE} is not there")
        if plan.is_locked and self.lock.is_abandoned():
            raise HudiError("its lock is still that of a process that has ended")

    def restore(self, plan: LeftoverPlan) -> str:
        """Leave the rest: nobody uses it, and the next command removes it."""
        return "files and rows are as before; run it again, which goes on"

    def _place(self, place: str) -> Storage:
        return self.storage.child(place) if place else self.storage

    def _has(self, place: str, file: str) -> bool:
        return self._place(place).stat(file) is not None


def remove_leftovers(table: HudiTable, lock: TableLock) -> None:
    """Remove what dead processes left.

    Raises:
        HudiError: The table cannot be read or written.
    """
    run(LeftoverRemoval(table.storage, lock))
