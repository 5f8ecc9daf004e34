"""Make the snapshots of a table, and publish them for all services."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn, columns
from pyhudi_expr.expr.nodes import Column, IsNull
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.bounds_snapshots import BoundsSnapshots
from pyhudi_expr.index.statistics.column_stats import ColumnStats
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.shared_snapshots import SharedSnapshots
from pyhudi_expr.tables.storage import process_options

KeepBounds = Callable[
    [ColumnStats, FileListing, Sequence[BoundColumn], BoundsSnapshots],
    None,
]
"""Reads the bounds of columns and keeps them, see `spark.query.sharded_bounds.keep_bounds`."""

_FOOTER_SECONDS = 3600.0


@dataclass(frozen=True)
class Published:
    """What was published.

    Attributes:
        instant: The instant of the table; None: it has none.
        files: The files of the table.
        snapshots: Snapshots that were not there before.
        bytes: Their size.
    """

    instant: str | None
    files: int
    snapshots: int
    bytes: int


def publish(path: str, names: Sequence[str], uri: str, keep: KeepBounds | None) -> Published:
    """Make the listing of a table and the bounds of columns, and publish them.

    Args:
        path: The table.
        names: The columns; dots lead into structs.
        uri: The directory that services read (`shared_snapshots`).
        keep: Reads the bounds in Spark's tasks. None: this process reads them.

    Raises:
        HudiError: The table cannot be read, has no `column_stats` or lacks a column, or the
            directory cannot be written.
    """
    shared = SharedSnapshots.at(uri, process_options())
    assert shared is not None
    with TemporaryDirectory(prefix="pyhudi-snapshots-") as directory:
        options = PruneOptions(
            snapshot_dir=Path(directory),
            snapshot_bytes=sys.maxsize,
            cache_bytes=sys.maxsize,
            footer_wait=_FOOTER_SECONDS,
        )
        pruner = Pruner(options, process_options())
        snapshot = pruner.open(path)
        chosen = [_bound(snapshot, name) for name in names]
        if keep is None:
            for name in names:
                request = PruneRequest(IsNull(Column(tuple(name.split(".")))))
                pruner.prune_snapshot(snapshot, request)
        elif chosen:
            stats, kept = _kept(snapshot)
            keep(stats, snapshot.listing, chosen, kept)
        fresh = shared.publish(DiskCache(Path(directory), sys.maxsize).files())
        sizes = [file.stat().st_size for file in fresh]
    return Published(snapshot.listing.instant, snapshot.listing.num_files, len(sizes), sum(sizes))


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
    kept = None if entries is None else BoundsSnapshots.of(entries, snapshot.listing)
    if stats is None or kept is None:
        raise HudiError(
            f"{snapshot.table.base_path}: no snapshot of bounds can be made; it needs column_stats"
            f" and more files than {snapshot.listing.num_files}"
        )
    return stats, kept
