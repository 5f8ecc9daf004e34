"""Find writers that started before an announcement, and wait until they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Set

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.timeline import Instant, State, read_record

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_SERVICES = frozenset({"compaction", "logcompaction", "clustering"})


def writes_pending_before(table: HudiTable, instant: str) -> frozenset[str]:
    """Return the instants of pending writes of rows that were requested before this one."""
    return frozenset(
        one.requested
        for one in table.timeline.instants
        if one.action in _WRITES and not one.is_completed and one.requested < instant
    )


def writers_at_work(table: HudiTable) -> frozenset[str]:
    """Return the instants of pending actions that may be writing rows now.

    Table services that are scheduled and not executed yet are none of them.

    Raises:
        HudiError: A plan cannot be read.
    """
    return frozenset(
        one.requested
        for one in table.timeline.instants
        if not one.is_completed
        if one.action in _WRITES or (one.action in _SERVICES and one.state is State.INFLIGHT)
        if not is_scheduled_clustering(table, one)
    )


def is_scheduled_clustering(table: HudiTable, instant: Instant) -> bool:
    """Return whether a replace action is a clustering that is scheduled, and not yet executed.

    In layout 1 only its content distinguishes it from a write that replaces files.

    Raises:
        HudiError: The plan cannot be read.
    """
    if instant.state is not State.REQUESTED or instant.action != "replacecommit":
        return False
    path = f"{table.properties.timeline_dir}/{instant.file_name}"
    plan = read_record(table.storage.read(path), f"{table.base_path}/{path}")
    return plan.get("operationType") == "CLUSTER"


def wait_for_all_writers(
    table: HudiTable, wait: float, failure: Callable[[str], HudiError]
) -> HudiTable:
    """Wait until no action is pending that may be writing rows now, see `wait_for_instants`."""
    return wait_for_instants(table, writers_at_work(table), wait, failure)


def wait_for_instants(
    table: HudiTable, writes: Set[str], wait: float, failure: Callable[[str], HudiError]
) -> HudiTable:
    """Wait until none of these instants is pending, and return the table as it is then.

    Args:
        table: The table.
        writes: The instants.
        wait: Seconds to wait; after them the exception that `failure` creates is raised.
        failure: Creates an exception from a message.
    """
    give_up, pause = time.monotonic() + wait, _FIRST_PAUSE
    while True:
        table = table.refreshed()
        waiting = sorted(writes & table.timeline.pending)
        if not waiting:
            return table
        if time.monotonic() + pause > give_up:
            raise failure(
                f"{table.base_path}: the writes of {', '.join(waiting)} did not complete within "
                f"{wait:g} s; try again when they have, or roll them back if their writers are gone"
            )
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
