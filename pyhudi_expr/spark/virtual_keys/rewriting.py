"""Rewrite old files without their stored keys: a clustering of only these file groups.

The groups are chosen here, by the footers; Hudi reads, merges, writes and commits them, in commits
of a limited size. What a killed run started is rolled back, and rewritten groups have no stored
keys, so the command continues where it stopped.

Hudi's own clustering would copy the meta columns of old files; here they are null, as in all files
that Hudi writes without meta fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyhudi_expr.indexing import virtual_key_settings
from pyhudi_expr.indexing.writer_options import clustering_options
from pyhudi_expr.keys.key_storage import base_files
from pyhudi_expr.spark.clustering.clustering_client import ClusteringClient
from pyhudi_expr.spark.clustering.clustering_plan import SliceFiles, slice_files
from pyhudi_expr.spark.virtual_keys.writing import service_options
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import META_COLUMNS
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.pending_writes import writes_pending_before

_PLAN = "pyhudi.virtual.keys"
"""Marks our plans among the parameters of their strategy."""
_FILE_BYTES = 1 << 40
"""A group's rows stay in one file, however many they are."""

Progress = Callable[[int, int], None]
"""Told how many file groups are done, and of how many."""


@dataclass(frozen=True)
class Rewritten:
    """The result.

    Attributes:
        instants: The instants of the commits.
        file_groups: Number of rewritten file groups.
        skipped: Number of file groups with pending compactions or clusterings.
    """

    instants: tuple[str, ...]
    file_groups: int
    skipped: int


@dataclass(frozen=True)
class _Group:
    files: SliceFiles
    bytes: int


def rewrite(
    spark: SparkSession,
    path: str,
    partitions: Collection[str] | None,
    commit_bytes: int,
    progress: Progress,
) -> Rewritten:
    """Rewrite the file groups of a table whose base files have stored keys.

    Args:
        spark: The session.
        path: The base path.
        partitions: Paths of partitions. None: all.
        commit_bytes: Size of a commit.
        progress: Called after each commit.

    Raises:
        HudiError: A commit failed; earlier commits stay.
    """
    table = HudiTable.open(path)
    virtual_key_settings.check_rewritable(table)
    settings = {**service_options(path), **clustering_options(table)}
    with closing(ClusteringClient.open(spark, path, settings)) as client:
        client.take_back(_PLAN)
        groups = _groups(HudiTable.open(path), partitions)
        busy = client.busy_groups()
        free = [one for one in groups if (one.files.partition, one.files.file_id) not in busy]
        instants: list[str] = []
        done = 0
        for batch in _batches(free, commit_bytes):
            instants.append(_rewritten(client, path, batch))
            done += len(batch)
            progress(done, len(free))
    return Rewritten(tuple(instants), done, len(groups) - len(free))


def _rewritten(client: ClusteringClient, path: str, batch: Sequence[_Group]) -> str:
    """Rewrite some groups with one commit; return its instant. Raises HudiError."""
    counts = Counter(one.files.partition for one in batch)
    instant = client.plan([one.files for one in batch], counts, {_PLAN: "rewrite"})
    try:
        _require_unchanged(HudiTable.open(path), instant, batch)
        with client.running(instant) as clustering:
            frames = [
                _without_meta(frame).coalesce(counts[partition])
                for partition, frame in clustering.frames()
            ]
            rows = reduce(DataFrame.unionByName, frames)
            clustering.commit(rows, _FILE_BYTES, {_PLAN: "rewrite"})
    except BaseException:
        client.withdraw(instant)
        raise
    return instant


def _without_meta(frame: DataFrame) -> DataFrame:
    nothing = f.lit(None).cast("string")
    return frame.select(
        *(
            nothing.alias(name) if name in META_COLUMNS else f.col(f"`{name}`")
            for name in frame.columns
        )
    )


def _require_unchanged(table: HudiTable, instant: str, batch: Sequence[_Group]) -> None:
    """Raise HudiError if a writer that started before the plan changed what was chosen, or may.

    Writers that start later cannot.
    """
    pending = sorted(writes_pending_before(table, instant))
    if pending:
        raise HudiError(
            f"{table.base_path}: writers are at work ({', '.join(pending)}); try again when they "
            "are done, or roll their instants back if they are gone"
        )
    now = {(one.partition, one.file_id): one for one in slice_files(table.listing())}
    for group in batch:
        if now.get((group.files.partition, group.files.file_id)) != group.files:
            raise HudiError(
                f"{table.base_path}: a writer has changed the file group {group.files.file_id} "
                "meanwhile; try again"
            )


def _groups(table: HudiTable, partitions: Collection[str] | None) -> list[_Group]:
    """Return the groups whose base files have stored keys, in order.

    Raises:
        HudiError: A partition does not exist.
    """
    listing = table.listing()
    unknown = sorted(set(partitions or ()) - set(listing.partitions.to_pylist()))
    if unknown:
        raise HudiError(f"{table.base_path}: there is no partition with files {unknown[0]!r}")
    found = {file.path: file for file in base_files(table, listing)}
    groups = [
        _Group(one, found[one.base].size)
        for one in slice_files(listing)
        if one.base and found[one.base].has_keys
        if partitions is None or one.partition in partitions
    ]
    return sorted(groups, key=lambda group: (group.files.partition, group.files.file_id))


def _batches(groups: Sequence[_Group], most: int) -> Iterator[list[_Group]]:
    """Return groups of about so many bytes together, at least one."""
    batch: list[_Group] = []
    taken = 0
    for one in groups:
        if batch and taken + one.bytes > most:
            yield batch
            batch, taken = [], 0
        batch.append(one)
        taken += one.bytes
    if batch:
        yield batch
