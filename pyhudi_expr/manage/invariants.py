"""What must hold after every operation, and which rows of a table have a stored key.

A table that stores its keys has one in each row. While virtual keys are on, the usual state is a
mixture inside of each file: an update writes a file anew, and gives no key to the rows it changes.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import partial

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.key_storage import BaseFile, base_files
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.changes.partitions import check_metadata_table
from pyhudi_expr.tables.properties import require_changeable
from pyhudi_expr.tables.slices.log_rows import log_keys
from pyhudi_expr.tables.slices.slice_files import FileSlice, file_slices

_THREADS = 4
"""Log files are held in memory as they are read."""


class Extent(str, Enum):
    """How many of a table's rows have a stored key."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


@dataclass(frozen=True)
class SliceKeys:
    """The stored keys of a file slice.

    Attributes:
        slice: The slice.
        bytes: Size of its base file.
        rows: Number of rows in the base file.
        keys: How many of them have a key.
        log_rows: Number of rows in the log files, before merging.
        log_keys: How many of them have a key.
        instant: The newest one that wrote into the slice.
        damaged: See `LogKeys`.
    """

    slice: FileSlice
    bytes: int
    rows: int
    keys: int
    log_rows: int
    log_keys: int
    instant: str
    damaged: tuple[tuple[str, int], ...]

    @property
    def has_keys(self) -> bool:
        """Whether any row has a key."""
        return self.keys + self.log_keys > 0

    @property
    def lacks_keys(self) -> bool:
        """Whether any row has none."""
        return self.keys + self.log_keys < self.rows + self.log_rows


def stored_keys(table: HudiTable, listing: FileListing) -> list[SliceKeys]:
    """Count the stored keys of a listing's slices, in the order of partitions and file groups.

    Raises:
        HudiError: A file cannot be read.
    """
    bases = {file.path: file for file in base_files(table, listing)}
    slices = sorted(file_slices(listing), key=lambda one: (one.partition, one.file_id))
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(partial(_slice_keys, table, bases), slices))


def extent(slices: Sequence[SliceKeys]) -> Extent:
    """Return how many rows have keys. A table without rows has them all."""
    if not any(one.lacks_keys for one in slices):
        return Extent.ALL
    return Extent.SOME if any(one.has_keys for one in slices) else Extent.NONE


def _slice_keys(table: HudiTable, bases: dict[str, BaseFile], one: FileSlice) -> SliceKeys:
    base = None if one.base is None else bases[one.path(one.base)]
    logs = [one.path(name) for name in one.logs]
    own = log_keys(table.storage, logs, table.timeline.pending)
    instant = max(one.base_instant, own.instant)
    if base is None:
        return SliceKeys(one, 0, 0, 0, own.rows, own.keys, instant, own.damaged)
    of_base = base.size, base.rows, base.keys
    return SliceKeys(one, *of_base, own.rows, own.keys, instant, own.damaged)


_SHOWN = 3


def active_indexes(table: HudiTable) -> frozenset[str]:
    """Return the names of the indexes that answer. Raises HudiError."""
    return frozenset(
        status.name for status in index_statuses(table) if status.state is State.ACTIVE
    )


def stopped_indexes(table: HudiTable, before: Set[str]) -> tuple[str, ...]:
    """Return a line for each index that answered before and does not any more.

    Raises:
        HudiError: The table's indexes cannot be read.
    """
    states = {status.name: status.state.value for status in index_statuses(table)}
    return tuple(
        f"the index {name} is {states.get(name, 'gone')}: refresh it (pyhudi index refresh "
        f"{table.base_path} {name})"
        for name in sorted(before)
        if states.get(name) != State.ACTIVE.value
    )


def slices_without_keys(table: HudiTable) -> list[SliceKeys]:
    """Return the slices in which a row has no stored key. Raises HudiError."""
    return [one for one in stored_keys(table, table.listing()) if one.lacks_keys]


def require_stored_keys(table: HudiTable) -> None:
    """Check that each row of a table has its stored key.

    Raises:
        HudiError: One has none; the message names files.
    """
    lacking = slices_without_keys(table)
    if lacking:
        rows = sum(one.rows - one.keys + one.log_rows - one.log_keys for one in lacking)
        names = ", ".join(one.slice.name for one in lacking[:_SHOWN])
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        raise HudiError(
            f"{table.base_path}: {rows} rows have no stored key, in the file slices {names}{more}"
        )


def require_clusterable(table: HudiTable) -> None:
    """Check that rows of a table may go to other file groups. Raises HudiError."""
    require_changeable(table.properties, table.base_path)
    raw = table.properties.raw
    if raw.get(hudi_names.BOOTSTRAP_BASE_PATH):
        raise HudiError(f"{table.base_path}: files of tables made by bootstrap cannot be rewritten")
    if "BUCKET" in raw.get(hudi_names.INDEX_TYPE, "").upper():
        raise HudiError(
            f"{table.base_path}: a bucket index decides the file of each row; files cannot be "
            "rewritten"
        )
    check_metadata_table(table)
