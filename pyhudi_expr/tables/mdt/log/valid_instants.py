"""The instants whose log blocks of the metadata table are valid.

This is Hudi's `getValidInstantTimestamps`: the metadata table is written before the data table's
instant completes, so a block is valid only if its instant completed on the data table, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.timeline.commit_metadata import read_record
from pyhudi_expr.tables.timeline.timeline import Instant

BOOTSTRAP_PREFIX = "00000000000000"
"""Instants that begin so initialised a partition of the metadata table."""


def valid_instants(data: HudiTable, metadata: HudiTable) -> frozenset[str]:
    """Return the requested times whose log blocks are valid."""
    completed = {i.requested for i in data.timeline.instants if i.is_completed}
    earliest = min(completed, default=BOOTSTRAP_PREFIX)
    valid = set(completed)
    for instant in metadata.timeline.instants:
        if not instant.is_completed:
            continue
        if instant.action == "deltacommit":
            # Index builds, and what the data table has archived, have no instant there any more.
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
    """Return what a rollback or restore removed: its corrections are merged on top of it."""
    if instant.action not in ("rollback", "restore"):
        return
    path = f"{data.properties.timeline_dir}/{instant.file_name}"
    record = read_record(data.storage.read(path), f"{data.base_path}/{path}")
    yield from record.get("commitsRollback") or ()
    for rollbacks in (record.get("hoodieRestoreMetadata") or {}).values():
        for rollback in rollbacks:
            yield from rollback.get("commitsRollback") or ()
