"""The locks that Hudi's writers take to change a table.

A table does not say which lock its writers take. That is in their settings: `TableLock.of` takes
given settings, else those of the machine (`hudi-defaults.conf`). Each lock has a module here. Locks
within one process (`InProcessLockProvider`, Hudi's default) cannot be taken from outside; a table
whose only writer is that process has no other lock. Locks of services that are not known here are
refused (`TableLock.check`). Only the lease of `StorageBasedLockProvider` leaves a trace in the
table, by which it is recognised without settings.

A holder of a lock that can end early asks `Lease.check` before each step that others will see:

    with lock.held("publishes an index") as lease:
        prepare()
        lease.check()
        publish()
"""

from pyhudi_expr.tables.locks.lease import Lease, LockLost, LockNotAcquired, UnknownLock
from pyhudi_expr.tables.locks.settings import DIRECTORY, PROVIDER, SETTINGS, WAIT
from pyhudi_expr.tables.locks.table_lock import TableLock

__all__ = [
    "DIRECTORY",
    "PROVIDER",
    "SETTINGS",
    "WAIT",
    "Lease",
    "LockLost",
    "LockNotAcquired",
    "TableLock",
    "UnknownLock",
]
