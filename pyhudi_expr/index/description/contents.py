"""What a table consists of, as Arrow tables: files, instants and indexes."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, BoolArray, timestamp_type
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.index_sizes import index_sizes
from pyhudi_expr.index.catalog.status import checked_statuses
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.timeline.timeline import Timeline

_DIGITS = len("yyyyMMddHHmmssSSS")
_INDEXES = pa.schema(
    [
        ("name", pa.string()),
        ("kind", pa.string()),
        ("columns", pa.list_(pa.string())),
        ("state", pa.string()),
        ("covers", pa.string()),
        ("store", pa.string()),
        ("bytes", pa.int64()),
        ("note", pa.string()),
    ]
)


def files_table(listing: FileListing, files: BoolArray | None = None) -> pa.Table:
    """Return the files of a listing, or those that are flagged; see `Table.files`."""
    return pa.table(file_columns(listing, files))


def file_columns(listing: FileListing, files: BoolArray | None = None) -> dict[str, AnyArray]:
    """Return the columns of `files_table`."""
    chosen = np.arange(listing.num_files) if files is None else np.flatnonzero(files)
    slices = pa.array(listing.file_slice[chosen])
    is_log = pa.array(listing.file_is_log[chosen])
    kinds = pa.array(["base", "log"]).take(is_log.cast(pa.int8()))
    return {
        "path": pa.array(listing.paths(chosen), pa.string()),
        "partition": listing.partitions.take(pa.array(listing.file_partition[chosen])),
        "kind": kinds,
        "bytes": pa.array(listing.file_size[chosen], pa.int64()),
        "file_id": listing.slice_file_id.take(slices),
        "instant": listing.slice_base_instant.take(slices),
    }


def history_table(timeline: Timeline, is_utc: bool) -> pa.Table:
    """Return the instants of a timeline, oldest first; see `Table.history`.

    Args:
        timeline: The timeline.
        is_utc: Whether its times are in UTC; else their zone is the writer's, and not known.
    """
    every = timeline.instants
    time = timestamp_type("ms", "UTC" if is_utc else None)
    return pa.table(
        {
            "instant": pa.array([one.requested for one in every], pa.string()),
            "action": pa.array([one.action for one in every], pa.string()),
            "state": pa.array([one.state.name.lower() for one in every], pa.string()),
            "requested_at": pa.array([_time(one.requested) for one in every], time),
            "completed_at": pa.array([_time(one.completed) for one in every], time),
        }
    )


def indexes_table(catalog: IndexCatalog) -> pa.Table:
    """Return the indexes of a table, by name; see `Table.indexes`."""
    statuses = checked_statuses(catalog)
    rows = [
        {
            "name": each.name,
            "kind": each.kind,
            "columns": list(each.columns),
            "state": each.state.value,
            "covers": each.covers,
            "store": each.store.value,
            "bytes": sum(part.bytes for part in sizes),
            "note": each.note,
        }
        for each, sizes in zip(statuses, index_sizes(catalog, statuses), strict=True)
    ]
    return pa.Table.from_pylist(rows, _INDEXES)


def _time(instant: str | None) -> datetime | None:
    """Return the time of an instant's digits; None if they are none."""
    digits = (instant or "").ljust(_DIGITS, "0")[:_DIGITS]
    try:
        return datetime.strptime(f"{digits}000", "%Y%m%d%H%M%S%f")
    except ValueError:
        return None
