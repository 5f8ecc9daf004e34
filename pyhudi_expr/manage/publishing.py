"""Snapshots of a table's metadata, made here and published for all services.

The plan has to know the snapshots, whose names follow from what they are made of. So they are made,
in a directory of this machine, before anything is published.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn, columns
from pyhudi_expr.expr.nodes import Column, IsNull
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.column_bounds import BoundsSnapshots
from pyhudi_expr.index.statistics.column_stats import ColumnStats
from pyhudi_expr.manage.operations import Action, Change
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache, SharedSnapshots
from pyhudi_expr.tables.storage import Storage, process_options

BoundsReader = Callable[
    [ColumnStats, FileListing, Sequence[BoundColumn], BoundsSnapshots],
    None,
]
"""Reads the bounds of columns and keeps them, see `spark.query.sharded_bounds.keep_bounds`."""

_FOOTER_SECONDS = 3600.0


@dataclass(frozen=True)
class MadeSnapshot:
    """A snapshot that was made here.

    Attributes:
        action: What publishing does: it replaces a damaged one. None: the directory has it.
    """

    file: Path
    bytes: int
    action: Action | None


@dataclass(frozen=True)
class SnapshotPlan:
    """What is published.

    Attributes:
        directory: The services' directory.
        instant: The instant of the table; None: it has none.
        files: The files of the table.
        snapshots: All snapshots of this state of the table.
    """

    table: str
    directory: str
    instant: str | None
    files: int
    snapshots: tuple[MadeSnapshot, ...]

    @property
    def operation(self) -> str:
        """The operation."""
        return "snapshot"

    @property
    def changes(self) -> tuple[Change, ...]:
        """The files of the directory that are written."""
        root = self.directory.rstrip("/")
        return tuple(
            Change(one.action, f"{root}/{one.file.name}", bytes=one.bytes)
            for one in self.snapshots
            if one.action is not None
        )


@dataclass(frozen=True)
class Published:
    """What was published.

    Attributes:
        instant: The instant of the table; None: it has none.
        files: The files of the table.
        snapshots: Snapshots that were not there before, or were damaged.
        bytes: Their size.
    """

    instant: str | None
    files: int
    snapshots: int
    bytes: int


@dataclass(frozen=True)
class SnapshotPublication:
    """The listing of a table and the bounds of columns, published.

    Nothing below the table is written. A snapshot is complete when others see it, and is named by
    what it was made of, so each of them is a whole.

    Attributes:
        table: The table.
        columns: Their names; dots lead into structs.
        directory: Where services read them (`shared_snapshots`).
        workplace: An empty directory of this machine, in which they are made.
        reader: Reads the bounds in Spark's tasks. None: this process reads them.
    """

    table: str
    columns: tuple[str, ...]
    directory: str
    workplace: Path
    reader: BoundsReader | None

    def plan(self) -> SnapshotPlan:
        """Make the snapshots, and return which of them the directory lacks.

        Raises:
            HudiError: The table cannot be read, has no `column_stats` or lacks a column, or the
                directory cannot be read.
        """
        shared = self._shared()
        snapshot = self._made()
        made = tuple(
            MadeSnapshot(file, file.stat().st_size, _action(shared, file))
            for file in DiskCache(self.workplace, sys.maxsize).files()
        )
        listing = snapshot.listing
        base_path = snapshot.table.base_path
        return SnapshotPlan(base_path, self.directory, listing.instant, listing.num_files, made)

    def check(self, plan: SnapshotPlan) -> None:
        """Check that the directory does not lie in the table."""
        if Storage.open(self.table, process_options()).contains(self._shared().storage):
            raise HudiError(
                f"{plan.table}: snapshots cannot be published to {plan.directory}, which lies in "
                "the table; name another directory, which all services can read"
            )

    def act(self, plan: SnapshotPlan) -> None:
        """Copy the snapshots that are lacking."""
        shared = self._shared()
        for one in plan.snapshots:
            if one.action is not None:
                shared.publish(one.file)

    def verify(self, plan: SnapshotPlan, done: None) -> Published:
        """Check that the directory has each snapshot, byte for byte."""
        shared = self._shared()
        for one in plan.snapshots:
            if not shared.has(one.file):
                raise HudiError(
                    f"{plan.directory}/{one.file.name}: the file is not what was written; if "
                    "nobody else writes there, its storage loses data; no service uses it"
                )
        sizes = [change.bytes for change in plan.changes]
        return Published(plan.instant, plan.files, len(sizes), sum(sizes))

    def restore(self, plan: SnapshotPlan) -> str:
        """Remove what is not what was made; a snapshot that is whole serves others, too."""
        shared = self._shared()
        for one in plan.snapshots:
            if one.action is not None and not shared.has(one.file):
                shared.remove(one.file.name)
        return "the table is as before; the snapshots that are whole by now stay, run it again"

    def _shared(self) -> SharedSnapshots:
        shared = SharedSnapshots.at(self.directory, process_options())
        assert shared is not None
        return shared

    def _made(self) -> TableSnapshot:
        """Make the snapshots in the workplace; return the state of the table. Raises HudiError."""
        options = PruneOptions(
            snapshot_dir=self.workplace,
            snapshot_bytes=sys.maxsize,
            cache_bytes=sys.maxsize,
            footer_wait=_FOOTER_SECONDS,
        )
        pruner = Pruner(options, process_options())
        snapshot = pruner.open(self.table)
        chosen = [_bound(snapshot, name) for name in self.columns]
        if self.reader is None:
            for name in self.columns:
                request = PruneRequest(IsNull(Column(tuple(name.split(".")))))
                pruner.prune_snapshot(snapshot, request)
        elif chosen:
            stats, kept = _kept(snapshot)
            self.reader(stats, snapshot.listing, chosen, kept)
        return snapshot


def _action(shared: SharedSnapshots, file: Path) -> Action | None:
    if shared.has(file):
        return None
    return Action.WRITE if shared.lacks(file.name) else Action.REPLACE


def _bound(snapshot: TableSnapshot, name: str) -> BoundColumn:
    predicate = bind(IsNull(Column(tuple(name.split(".")))), snapshot.scope)
    found = [*columns(predicate).values()]
    if len(found) != 1:
        raise HudiError(f"{snapshot.table.base_path}: there is no column {name} with bounds")
    return found[0]


def _kept(snapshot: TableSnapshot) -> tuple[ColumnStats, BoundsSnapshots]:
    """Return the statistics of a table, and where their bounds are kept."""
    stats = snapshot.column_stats
    entries = None if stats is None else stats.entries
    kept = None if entries is None else BoundsSnapshots.of(entries)
    if stats is None or kept is None:
        raise HudiError(
            f"{snapshot.table.base_path}: no snapshot of bounds can be made; it needs column_stats"
            f" and more files than {snapshot.listing.num_files}"
        )
    return stats, kept
