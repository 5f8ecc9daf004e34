"""Lay a Hudi table out: rewrite its file groups in a layout's order, in one replace commit.

1. What a killed run left is rolled back. The chosen slices are announced as a pending clustering:
   from then on Hudi's writers refuse to update them.
2. Wait for writers that started before. If they changed a chosen slice, the plan is withdrawn, and
   made anew.
3. The slices are read and merged by Hudi's own reader, ordered, written by Hudi's writer with their
   keys and commit times unchanged, read again and compared, and committed by Hudi, with the indexes
   of its metadata table. Indexes of the extension are refreshed afterwards.

Until the commit readers see the old files, and after it the new ones; Hudi's cleaner deletes the
old ones by its settings. A process that dies leaves a pending clustering, which the next `cluster`
rolls back, or indexes that lag, which it refreshes. A partition that has the layout already is
skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.statements import RefreshIndex
from pyhudi_expr.manage.indexing.writer_options import clustering_options
from pyhudi_expr.manage.laying_out import (
    Clustered,
    LayOut,
    LayoutCommit,
    LayoutPlan,
)
from pyhudi_expr.manage.layout.row_order import Layout, Pieces, row_order
from pyhudi_expr.manage.layout.selection import (
    LAYOUT,
    Choice,
    Selection,
    Size,
    select,
    statistics_plan,
)
from pyhudi_expr.manage.operations import run
from pyhudi_expr.spark.clustering.clustering_client import ClusteringClient
from pyhudi_expr.spark.clustering.layout_frames import Part, arrange, samples
from pyhudi_expr.spark.clustering.write_client import ClusteringFailed, slice_files
from pyhudi_expr.spark.indexes import carry_out, refresh_index
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.tables.hudi_names import FILE_NAME, PARTITION_PATH
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.pending_writes import wait_for_instants, writes_pending_before
from pyhudi_expr.tables.storage import Storage, using_storage_options

_ATTEMPTS = 3
_LEAST_FILE_LIMIT = 128 << 20
_TASKS_PER_CORE = 4  # of a partition's; Hudi makes one for each slice, and Python begins in each


@dataclass(frozen=True)
class ClusterOptions:
    """Options of a clustering.

    Attributes:
        partitions: Paths of the partitions to lay out. None: all.
        file_groups: Ids of file groups. None: all of the partitions.
        size: The size of the result.
        wait: Seconds to wait for writers that started before.
        writer: Options for Hudi's writer, which override the defaults; by default the table's lock
            is `FileSystemBasedLockProvider`'s.
        statistics: Whether to build `column_stats` of the layout's columns where there are none:
            an order skips no file without them (RFC-28).
    """

    partitions: frozenset[str] | None = None
    file_groups: frozenset[str] | None = None
    size: Size = field(default_factory=Size)
    wait: float = 600.0
    writer: Mapping[str, str] = field(default_factory=dict)
    statistics: bool = True


def cluster(
    spark: SparkSession,
    table: str,
    layout: Layout,
    options: ClusterOptions | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> Clustered:
    """Lay out the table at a base path.

    Args:
        spark: The session, with Hudi's bundle.
        table: The base path.
        layout: The order of the rows.
        options: What to rewrite, and how.
        storage_options: Credentials and other settings for this package's own reads and writes, see
            `Storage.open`. Hudi reads and writes with Spark's settings (`spark.hadoop.*`).

    Raises:
        InvalidLayout: Unknown columns, partitions or file groups, or a type without an order.
        OperationFailed: Another run is active, a writer did not end in time, or Hudi refused.
        HudiError: Another error.

    After an error the rows are as before.
    """
    chosen = options or ClusterOptions()
    choice = Choice(layout, chosen.partitions, chosen.file_groups, chosen.size)
    writer = ClusteringWriter(spark, table, chosen.wait, chosen.writer)
    with using_storage_options(storage_options):
        return run(LayOut(Storage.open(table), choice, chosen.statistics, writer))


@dataclass(frozen=True)
class ClusteringWriter:
    """Writes the file slices of plans anew, by Hudi's clustering in a session of Spark.

    Attributes:
        spark: The session, with Hudi's bundle.
        path: The base path.
        wait: Seconds to wait for writers that started before.
        settings: Options of Hudi's writer, which override the defaults.
    """

    spark: SparkSession
    path: str
    wait: float
    settings: Mapping[str, str]

    def __call__(self, plan: LayoutPlan) -> LayoutCommit:
        """Write the slices, then refresh the extension's indexes and build statistics.

        Raises:
            ClusteringFailed: Another run is active, a writer did not end in time, or Hudi refused.
            HudiError: Another error; the rows are as before.
        """
        table = HudiTable.open(self.path)
        settings = {**clustering_options(table), **self.settings}
        with translate_spark_errors():
            with closing(ClusteringClient.open(self.spark, self.path, settings)) as client:
                done = self._rewritten(client, table, plan.rewritten)
            # A run that died after its commit has not refreshed the indexes.
            followed = (*self._refreshed_indexes(), *self._built_statistics(plan))
        return replace(done, notes=(*done.notes, *followed))

    def _rewritten(
        self, client: ClusteringClient, table: HudiTable, choice: Choice
    ) -> LayoutCommit:
        notes = [
            f"rolled back the clustering {instant}, which an earlier run had started"
            for instant in client.take_back(LAYOUT)
        ]
        for _ in range(_ATTEMPTS):
            selected = select(table.refreshed(), choice, client.busy_groups())
            notes_of_all = (*notes, *selected.notes)
            if not selected.listing.num_slices:
                return LayoutCommit(selected, None, 0, notes_of_all)
            instant = _announced(client, selected)
            try:
                now = _wait_for_earlier_writers(client, table, instant, self.wait)
                if selected.is_unchanged(now.listing()):
                    rows = _write(self.spark, client, selected, instant)
                    return LayoutCommit(selected, instant, rows, notes_of_all)
            except BaseException:
                client.withdraw(instant)
                raise
            client.withdraw(instant)
        raise ClusteringFailed(
            f"{self.path}: other writers changed the chosen slices {_ATTEMPTS} times while they "
            "were planned; try again when they are done"
        )

    def _refreshed_indexes(self) -> Iterator[str]:
        """Refresh the extension's indexes; Hudi itself maintains its own."""
        for status in index_statuses(HudiTable.open(self.path)):
            if status.store is Store.EXTENSION and status.state is State.LAGGING:
                refresh_index(self.spark, RefreshIndex(status.name, self.path), BuildOptions())
                yield f"refreshed the index {status.name}"

    def _built_statistics(self, plan: LayoutPlan) -> Iterator[str]:
        """Build `column_stats` with the columns that it lacks.

        An index that exists is built anew with these columns more. A failure is one of the notes:
        the rows are laid out by then.
        """
        if not plan.statistics:
            return
        names = ", ".join(plan.statistics)
        columns = plan.selection.choice.layout.columns
        try:
            building = statistics_plan(HudiTable.open(self.path), columns)
            built = None if building is None else carry_out(self.spark, building, BuildOptions())
        except HudiError as error:
            yield f"column_stats of {names}, without which no file is skipped, failed: {error}"
            return
        if built is not None:
            yield f"built column_stats of {names}; Hudi's writers keep them by writer_options"
            yield from built.notes


def _announced(client: ClusteringClient, selected: Selection) -> str:
    """Announce a clustering, and return its instant."""
    files = dict(zip(selected.partitions, selected.files, strict=True))
    slices = list(slice_files(selected.listing))
    return client.plan(slices, files, {LAYOUT: selected.choice.description})


def _wait_for_earlier_writers(
    client: ClusteringClient, table: HudiTable, instant: str, wait: float
) -> HudiTable:
    """Return the table once the writers that started before the announcement are done.

    Raises:
        ClusteringFailed: They are not done after `wait` seconds.
    """
    plans = {plan.instant for plan in client.pending_plans()}
    earlier = writes_pending_before(table.refreshed(), instant) - plans
    return wait_for_instants(table, earlier, wait, ClusteringFailed)


def _write(spark: SparkSession, client: ClusteringClient, selected: Selection, instant: str) -> int:
    """Write the slices anew, and commit; return the number of rows. Raises HudiError."""
    layout = selected.choice.layout
    found = dict(zip(selected.partitions, samples(spark, selected), strict=True))
    counts = dict(zip(selected.partitions, selected.files, strict=True))
    with client.running(instant) as clustering:
        parts: list[Part] = []
        first = 0
        for name, frame in clustering.frames():
            order = row_order(layout, found[name], counts[name])
            columns = [found[name].column(column).combine_chunks() for column in layout.columns]
            pieces = Pieces.of(order.places(columns), counts[name])
            rows = frame.coalesce(_TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
            parts.append(Part(rows, layout, order, pieces, first, _constants(selected, name)))
            first += counts[name]
        return clustering.commit(
            arrange(parts, first),
            max(2 * selected.file_bytes, _LEAST_FILE_LIMIT),
            {LAYOUT: selected.choice.description},
            {},
        )


def _constants(selected: Selection, partition: str) -> dict[str, str]:
    """Meta columns that need not be moved with the rows: the writer fills in the file's name."""
    if not selected.table.properties.meta_fields:
        return {}
    known = {PARTITION_PATH: partition, FILE_NAME: ""}
    return {
        name: text for name, text in known.items() if name not in selected.choice.layout.columns
    }
