"""Which instants' log blocks are valid, and files of the metadata table that are gone or empty.

This is Hudi's `getValidInstantTimestamps`: the metadata table is written before the data table's
instant completes, so a block is valid only if its instant completed on the data table, too.

A reader that does not notice that takes the records before a lost log file for the newest ones, and
loses the files that it lists. Here the completed commits tell which files there have to be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from pyhudi_expr.arrays import arrow_list, string_list
from pyhudi_expr.tables.hudi_names import log_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.timeline import Instant, read_record

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


_Paths = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class RequiredBlocks:
    """Which blocks a file slice must have. The names of its files do not tell, in layout 1."""

    written: WrittenFiles
    partition: str
    built: str

    def lost(self, there: Collection[str | None]) -> list[str]:
        """Return the commits of which there is no block, see `WrittenFiles.lost_blocks`."""
        return self.written.lost_blocks(self.partition, self.built, there)


@dataclass(frozen=True)
class WrittenFiles:
    """What the commits of a metadata table wrote. Each is read once.

    Attributes:
        recorded: The data table's writes that its completed delta commits record.
    """

    metadata: HudiTable
    recorded: frozenset[str]
    _read: dict[str, _Paths] = field(default_factory=dict, repr=False, compare=False)

    def lost(
        self, partition: str, file_id: str, built: str, there: Collection[str]
    ) -> Iterator[tuple[str, str]]:
        """Return the files of a file slice that are not there.

        Of the commits since the slice was built only those are read that may have left a file which
        the names do not show. In `files` there is none, as every write is recorded in it.

        Args:
            partition: The partition.
            file_id: The file group.
            built: The instant of the slice.
            there: The names of the group's files that are not empty.

        Returns:
            Paths from the metadata table's base path, each with the commit's requested time.

        Raises:
            HudiError: A commit cannot be read.
        """
        has_base = any(name.endswith(f"_{built}.hfile") for name in there)
        known = frozenset[str]() if not has_base else self._writers(there)
        for instant in self._since(built):
            if instant.requested in known:
                continue
            for path in self._written(instant).get(partition, ()):
                name = path.rpartition("/")[2]
                if name.removeprefix(".").startswith(f"{file_id}_") and name not in there:
                    yield path, instant.requested

    def lost_blocks(self, partition: str, built: str, there: Collection[str | None]) -> list[str]:
        """Return the commits since a slice was built of which it has no block, see `lost`.

        Args:
            partition: A partition of one file group.
            built: The instant of the slice.
            there: The instants of its blocks.

        Raises:
            HudiError: A commit cannot be read.
        """
        missing = self.recorded - {*there}
        due = [one for one in self._since(built) if one.requested in missing]
        return [one.requested for one in due if self._written(one).get(partition)]

    def _writers(self, there: Collection[str]) -> frozenset[str]:
        """Return the commits that need not be read: they left a log file, or record no write."""
        every = frozenset(i.requested for i in self.metadata.timeline.writes)
        if self.metadata.properties.timeline_layout == 1:
            return every
        logs = log_files(arrow_list([*there], pa.string())).instant
        return (every - self.recorded) | frozenset(string_list(logs))

    def _since(self, built: str) -> list[Instant]:
        """Return the commits from a slice's instant on.

        An index that was dropped and built again has files of its new build only, so its instant is
        not compared, but when that was complete.
        """
        writes = self.metadata.timeline.writes
        if self.metadata.properties.timeline_layout == 1:
            return [instant for instant in writes if instant.requested >= built]
        start = next((i.completed for i in writes if i.requested == built), None)
        if start is None and not built.startswith(BOOTSTRAP_PREFIX):
            start = built  # archived; all later commits were complete after it was requested
        return [i for i in writes if start is not None and (i.completed or "") >= start]

    def _written(self, instant: Instant) -> _Paths:
        known = self._read.get(instant.requested)
        if known is None:
            known = self._read[instant.requested] = self.metadata.commit_metadata(instant).written
        return known
