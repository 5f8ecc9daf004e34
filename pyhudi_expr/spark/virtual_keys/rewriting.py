"""Write file slices anew without stored keys, or with them, by a clustering of these slices.

The slices are chosen by `manage.virtual_keys`; Hudi reads, merges, writes and commits them, in
commits of a limited size. What a killed run started is rolled back, and the next run chooses what
is left.

Hudi's own clustering would copy the meta columns of old files. Without keys they are null, as in
all files that Hudi writes without meta fields. With keys each row keeps what it has; where it has
nothing it gets its key as Hudi spells it, and as its commit time the newest instant of its slice:
its own is not known any more, and it is not newer than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial, reduce
from itertools import groupby
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.writer_options import clustering_options
from pyhudi_expr.manage.invariants import SliceKeys
from pyhudi_expr.manage.layout.selection import statistics_plan
from pyhudi_expr.manage.operations import run
from pyhudi_expr.manage.virtual_keys import (
    DisableVirtualKeys,
    KeyReport,
    RewriteWithoutKeys,
    Rewritten,
)
from pyhudi_expr.spark.clustering.clustering_client import ClusteringClient
from pyhudi_expr.spark.clustering.write_client import SliceFiles, slice_files
from pyhudi_expr.spark.indexes import carry_out
from pyhudi_expr.spark.virtual_keys.key_column import with_keys
from pyhudi_expr.spark.virtual_keys.writing import service_options
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import (
    COMMIT_SEQNO,
    COMMIT_TIME,
    FILE_NAME,
    META_COLUMNS,
    PARTITION_PATH,
    RECORD_KEY,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import KeyDefinition, key_definition
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.pending_writes import writes_pending_before
from pyhudi_expr.tables.storage import Storage

_PLAN = "pyhudi.virtual.keys"
"""Marks our plans among the parameters of their strategy."""
_FILE_BYTES = 1 << 40
"""A group's rows stay in one file, however many they are."""
COMMIT_BYTES = 1 << 30
"""About the size of the files that one commit replaces, unless another is asked for."""
_MADE = "_pyhudi_made_key"

Progress = Callable[[int, int], None]
"""Called with how many file groups are done, and of how many."""


def rewrite(
    spark: SparkSession,
    path: str,
    partitions: Collection[str] | None,
    commit_bytes: int,
    progress: Progress,
) -> Rewritten:
    """Rewrite the files of a table that have stored keys, without them.

    Args:
        spark: The session.
        path: The base path.
        partitions: Paths of partitions. None: all.
        commit_bytes: Size of a commit.
        progress: Called after each commit.

    Raises:
        HudiError: It is refused, or a commit failed; earlier commits stay.
    """
    rewriter = ClusteringRewriter.without_keys(spark, path, commit_bytes, progress)
    builder = partial(statistics, spark, path, BuildOptions().wait)
    return run(RewriteWithoutKeys(Storage.open(path), partitions, rewriter, builder)).rewritten


def restore(spark: SparkSession, path: str, lock_wait: float = 60.0) -> KeyReport:
    """Store the keys of a table with virtual keys again, and remove the settings.

    Raises:
        HudiError: It is refused, or failed; the table has virtual keys, or none, as before.
    """
    storage = Storage.open(path)
    rewriter = ClusteringRewriter.with_keys(spark, path, COMMIT_BYTES, lambda *_: None)
    lock = TableLock.of(storage, wait=lock_wait)
    builder = partial(statistics, spark, path, BuildOptions().wait)
    return run(DisableVirtualKeys(storage, lock, rewriter, builder))


def statistics(spark: SparkSession, path: str, wait: float) -> tuple[str, ...]:
    """Build the `column_stats` of a table anew; return what was left out.

    Args:
        spark: The session.
        path: The base path.
        wait: Seconds to wait for other writers.

    Raises:
        HudiError: It is refused, or failed; before it can begin, nothing is removed.
    """
    plan = statistics_plan(HudiTable.open(path), ())
    built = None if plan is None else carry_out(spark, plan, BuildOptions(wait=wait))
    return () if built is None else built.notes


class MetaColumns(Protocol):
    """What is written into the meta columns."""

    @property
    def writer_settings(self) -> Mapping[str, str]:
        """The settings of Hudi's writer for it."""

    def of(self, frame: DataFrame, partition: str, instant: str) -> DataFrame:
        """Return rows of a partition, last written at an instant, with these meta columns."""


@dataclass(frozen=True)
class NoMetaColumns:
    """They are null."""

    @property
    def writer_settings(self) -> Mapping[str, str]:
        """The table's own."""
        return {}

    def of(self, frame: DataFrame, partition: str, instant: str) -> DataFrame:
        """Return the rows without what they have."""
        nothing = f.lit(None).cast("string")
        return _replaced(frame, dict.fromkeys(META_COLUMNS, nothing))


@dataclass(frozen=True)
class AllMetaColumns:
    """They are those of a table with stored keys.

    Attributes:
        definition: Of the keys, as Hudi has them.
    """

    definition: KeyDefinition

    @property
    def writer_settings(self) -> Mapping[str, str]:
        """With them Hudi also writes the Bloom filter of keys into the footer."""
        return {hudi_names.POPULATE_META_FIELDS: "true"}

    def of(self, frame: DataFrame, partition: str, instant: str) -> DataFrame:
        """Return the rows with what they lack."""
        number = f.concat_ws("_", f.lit(instant), f.lit(0), f.monotonically_increasing_id())
        with_made = with_keys(frame, self.definition, _MADE)
        return _replaced(
            with_made,
            {
                RECORD_KEY: _filled(RECORD_KEY, f.col(_MADE)),
                COMMIT_TIME: _filled(COMMIT_TIME, f.lit(instant)),
                COMMIT_SEQNO: _filled(COMMIT_SEQNO, number),
                PARTITION_PATH: f.lit(partition),
                FILE_NAME: f.lit(""),  # the writer fills it in
            },
        ).drop(_MADE)


@dataclass(frozen=True)
class ClusteringRewriter:
    """Writes slices anew with these meta columns.

    Attributes:
        commit_bytes: Size of the files that one commit replaces, about.
        progress: Called after each commit.
    """

    spark: SparkSession
    path: str
    meta: MetaColumns
    commit_bytes: int
    progress: Progress

    @staticmethod
    def without_keys(
        spark: SparkSession, path: str, commit_bytes: int, progress: Progress
    ) -> ClusteringRewriter:
        """Return the one that leaves stored keys out."""
        return ClusteringRewriter(spark, path, NoMetaColumns(), commit_bytes, progress)

    @staticmethod
    def with_keys(
        spark: SparkSession, path: str, commit_bytes: int, progress: Progress
    ) -> ClusteringRewriter:
        """Return the one that stores keys. Raises HudiError for a table that defines none."""
        definition = key_definition(HudiTable.open(path).properties, path).as_hudi_has_it()
        return ClusteringRewriter(spark, path, AllMetaColumns(definition), commit_bytes, progress)

    def __call__(self, slices: Sequence[SliceKeys]) -> Rewritten:
        """Rewrite the slices but those with pending compactions or clusterings.

        Raises:
            HudiError: A commit failed; earlier commits stay.
        """
        table = HudiTable.open(self.path)
        settings = {**service_options(self.path), **clustering_options(table)}
        with closing(ClusteringClient.open(self.spark, self.path, settings)) as client:
            client.take_back(_PLAN)
            busy = client.busy_groups()
            free = [one for one in slices if (one.slice.partition, one.slice.file_id) not in busy]
            instants: list[str] = []
            done = 0
            for batch in _batches(free, self.commit_bytes):
                instants.append(self._rewritten(client, batch))
                done += len(batch)
                self.progress(done, len(free))
        return Rewritten(tuple(instants), done, len(slices) - len(free))

    def _rewritten(self, client: ClusteringClient, batch: Sequence[SliceKeys]) -> str:
        """Rewrite some slices with one commit; return its instant. Raises HudiError."""
        counts = Counter(one.slice.partition for one in batch)
        instant = client.plan(list(map(_files, batch)), counts, {_PLAN: "rewrite"})
        try:
            _require_unchanged(HudiTable.open(self.path), instant, batch)
            with client.running(instant) as clustering:
                rows = reduce(DataFrame.unionByName, self._frames(client, batch, instant))
                extra = {_PLAN: "rewrite"}
                clustering.commit(rows, _FILE_BYTES, extra, self.meta.writer_settings)
        except BaseException:
            client.withdraw(instant)
            raise
        return instant

    def _frames(
        self, client: ClusteringClient, batch: Sequence[SliceKeys], instant: str
    ) -> Iterator[DataFrame]:
        """Return the rows of slices of one partition that were last written at one instant."""
        ordered = sorted(batch, key=_source)
        for (partition, written), group in groupby(ordered, key=_source):
            slices = list(map(_files, group))
            frame = client.frame(slices, instant)
            yield self.meta.of(frame, partition, written).coalesce(len(slices))


def _source(one: SliceKeys) -> tuple[str, str]:
    return one.slice.partition, one.instant


def _files(one: SliceKeys) -> SliceFiles:
    return SliceFiles.of(one.slice)


def _filled(name: str, otherwise: Column) -> Column:
    return f.coalesce(f.nullif(f.col(name), f.lit("")), otherwise)


def _replaced(frame: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    return frame.select(
        *(
            columns[name].alias(name) if name in columns else f.col(f"`{name}`")
            for name in frame.columns
        )
    )


def _require_unchanged(table: HudiTable, instant: str, batch: Sequence[SliceKeys]) -> None:
    """Raise HudiError if a writer that started before the plan changed what was chosen, or may.

    Writers that start later cannot.
    """
    pending = sorted(writes_pending_before(table, instant))
    if pending:
        raise HudiError(
            f"{table.base_path}: writers are at work ({', '.join(pending)}); try again when they "
            "are done, or roll their instants back if they are gone"
        )
    now = set(slice_files(table.listing()))
    for one in batch:
        if _files(one) not in now:
            raise HudiError(
                f"{table.base_path}: a writer has changed the file group {one.slice.file_id} "
                "meanwhile; try again"
            )


def _batches(slices: Sequence[SliceKeys], most: int) -> Iterator[list[SliceKeys]]:
    """Return slices of about so many bytes together, at least one."""
    batch: list[SliceKeys] = []
    taken = 0
    for one in slices:
        if batch and taken + one.bytes > most:
            yield batch
            batch, taken = [], 0
        batch.append(one)
        taken += one.bytes
    if batch:
        yield batch
