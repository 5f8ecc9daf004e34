"""Writers that were at work before something was announced, and waiting until they are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Set

from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.timeline.commit_metadata import read_record
from pyhudi_expr.table.timeline.timeline import Instant, State

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})


def writes_begun_before(table: HudiTable, instant: str) -> frozenset[str]:
    """The instants of writes of rows, requested before this one, that are not complete."""
    return frozenset(
        one.requested
        for one in table.timeline.instants
        if one.action in _WRITES and not one.is_completed and one.requested < instant
    )


def is_scheduled_clustering(table: HudiTable, instant: Instant) -> bool:
    """Whether it is a clustering that nobody carries out yet, named like a write that replaces
    files: in layout 1 only its content tells. Raises HudiError.
    """
    if instant.state is not State.REQUESTED or instant.action != "replacecommit":
        return False
    path = f"{table.properties.timeline_dir}/{instant.file_name}"
    plan = read_record(table.storage.read(path), f"{table.base_path}/{path}")
    return plan.get("operationType") == "CLUSTER"


def wait_for_instants(
    table: HudiTable, writes: Set[str], wait: float, failure: Callable[[str], HudiError]
) -> HudiTable:
    """The table as it is once none of these instants is pending.

    wait: seconds. Raises what `failure` makes of a message when one of them is pending by then.
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
