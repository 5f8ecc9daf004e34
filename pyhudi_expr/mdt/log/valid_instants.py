"""Which instants' log blocks of the metadata table count (Hudi's `getValidInstantTimestamps`).

The metadata table is written before the data table's instant completes, so a block counts only
when the data table agrees that its instant completed.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.timeline.commit_metadata import read_record
from pyhudi_expr.table.timeline.timeline import Instant

BOOTSTRAP_PREFIX = "00000000000000"
"""Instants that begin so initialised a partition of the metadata table."""


def valid_instants(data: HudiTable, metadata: HudiTable) -> frozenset[str]:
    """Requested times whose log blocks count."""
    completed = {i.requested for i in data.timeline.instants if i.is_completed}
    earliest = min(completed, default=BOOTSTRAP_PREFIX)
    valid = set(completed)
    for instant in metadata.timeline.instants:
        if not instant.is_completed:
            continue
        if instant.action == "deltacommit":
            # Index builds and what the data table has archived have no instant there any more.
            initialises = instant.requested.startswith(BOOTSTRAP_PREFIX)
            if initialises or instant.requested not in data.timeline.pending:
                valid.add(instant.requested)
        elif instant.action in ("rollback", "restore"):
            valid.add(instant.requested)
    for instant in data.timeline.instants:
        if instant.is_completed and instant.requested > earliest:
            valid.update(_rolled_back(data, instant))
    return frozenset(valid)


def _rolled_back(data: HudiTable, instant: Instant) -> Iterator[str]:
    """What a rollback or restore took back: its corrections merge on top of those blocks."""
    if instant.action not in ("rollback", "restore"):
        return
    path = f"{data.properties.timeline_dir}/{instant.file_name}"
    record = read_record(data.storage.read(path), f"{data.base_path}/{path}")
    yield from record.get("commitsRollback") or ()
    for rollbacks in (record.get("hoodieRestoreMetadata") or {}).values():
        for rollback in rollbacks:
            yield from rollback.get("commitsRollback") or ()
