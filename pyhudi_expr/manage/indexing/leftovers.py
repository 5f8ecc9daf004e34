"""Remove what a dead process left although its work was done: a lock, a copy, reserved space.

A command that finds nothing to do takes no lock, and changes no properties, so it would leave them:
Hudi's writers would wait for the lock until someone deletes it.
"""

from __future__ import annotations

from contextlib import suppress

from pyhudi_expr.tables import properties_writer
from pyhudi_expr.tables.hudi_names import PROPERTIES_BACKUP_FILE
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import LockNotAcquired, TableLock
from pyhudi_expr.tables.mdt.changes.rollback import release_abandoned_space
from pyhudi_expr.tables.mdt.extension.changes import EXTENSION_DIR


def remove_leftovers(table: HudiTable, lock: TableLock) -> None:
    """Remove them, unless another writer is at work; it or the next command does it then.

    Raises:
        HudiError: The table cannot be read or written.
    """
    release_abandoned_space(table.storage)
    places = [table.storage, table.storage.child(EXTENSION_DIR)]
    copied = [place for place in places if place.stat(PROPERTIES_BACKUP_FILE) is not None]
    if not copied and not lock.is_abandoned():
        return
    with suppress(LockNotAcquired), lock.held("removes what a dead process left") as lease:
        for place in copied:
            lease.check()
            properties_writer.recover(place)
