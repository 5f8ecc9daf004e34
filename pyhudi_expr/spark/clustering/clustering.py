"""Laying a Hudi table out: its file groups rewritten in a layout's order, in one replace commit.

1. What a killed run left is taken back. The chosen slices are announced as a pending clustering:
   from then on Hudi's writers refuse to update them.
2. Writers that had begun before are waited for. If they changed what was chosen, that is taken
   back, and begun anew.
3. The slices are read and merged by Hudi's own reader, ordered, written by Hudi's writer with their
   keys and commit times as they were, and committed by Hudi, with the indexes of its metadata
   table. Indexes of the extension are refreshed afterwards.

Until the commit readers see the old files, and after it the new ones; the old ones are deleted by
Hudi's cleaner, when its settings say. A process that dies leaves a pending clustering, which the
next `cluster` takes back. A partition that is laid out so already is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
from pyspark.sql import SparkSession

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.indexing.build_options import BuildOptions
from pyhudi_expr.indexing.statements import RefreshIndex
from pyhudi_expr.indexing.writer_options import clustering_options
from pyhudi_expr.layout.row_order import InvalidLayout, Layout, Pieces, row_order
from pyhudi_expr.layout.selection import LAYOUT, Choice, Selection, Size, select
from pyhudi_expr.spark.clustering.clustering_client import ClusteringClient
from pyhudi_expr.spark.clustering.clustering_plan import ClusteringFailed, slice_files
from pyhudi_expr.spark.clustering.layout_frames import Part, arrange
from pyhudi_expr.spark.clustering.layout_samples import samples
from pyhudi_expr.spark.indexes import refresh_index
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.pending_writes import wait_for_instants, writes_begun_before

_ATTEMPTS = 3
_LEAST_FILE_LIMIT = 128 << 20
_TASKS_PER_CORE = 4  # of a partition's; Hudi makes one for each slice, and Python begins in each


@dataclass(frozen=True)
class ClusterOptions:
    """partitions: paths of those to lay out, None for all. file_groups: ids of file groups, None
    for all of the partitions. size: of the result. wait: seconds for which writers are waited for
    that had begun before. writer: options for Hudi's writer, which win; by default the table's lock
    is `FileSystemBasedLockProvider`'s.
    """

    partitions: frozenset[str] | None = None
    file_groups: frozenset[str] | None = None
    size: Size = field(default_factory=Size)
    wait: float = 600.0
    writer: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Clustered:
    """What became of a table. instant: of the replace commit, None where there was nothing to do;
    files, bytes: of what was rewritten, before and after; notes: what was left out or mended.
    """

    instant: str | None
    partitions: tuple[str, ...]
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    notes: tuple[str, ...]


def cluster(
    spark: SparkSession, table: str, layout: Layout, options: ClusterOptions | None = None
) -> Clustered:
    """Lays the table at a base path out.

    Raises InvalidLayout (an unknown column, partition or file group, a type without an order),
    ClusteringFailed (another run is at work, a writer did not end in time, Hudi's refusal) or
    another HudiError. The rows are as before then, and so is the timeline.
    """
    options = options or ClusterOptions()
    opened = HudiTable.open(table)
    layout.check(opened.schema())
    _refuse_unsupported(opened)
    choice = Choice(layout, options.partitions, options.file_groups, options.size)
    settings = {**clustering_options(opened), **options.writer}
    with closing(ClusteringClient(spark, table, settings)) as client:
        notes = [
            f"took back the clustering {instant}, which an earlier run had begun"
            for instant in client.take_back(LAYOUT)
        ]
        for _ in range(_ATTEMPTS):
            selected = select(opened.refreshed(), choice, client.busy_groups())
            if not selected.listing.num_slices:
                return Clustered(None, (), 0, 0, 0, 0, (*notes, *selected.notes))
            instant = _announced(client, selected)
            try:
                if selected.is_unchanged(_settled(client, opened, instant, options.wait).listing()):
                    _rewritten(spark, client, selected, instant)
                    break
            except BaseException:
                client.withdraw(instant)
                raise
            client.withdraw(instant)
        else:
            raise ClusteringFailed(
                f"{table}: other writers changed the chosen slices {_ATTEMPTS} times while they "
                "were planned; try again when they are done"
            )
    notes.extend(selected.notes)
    notes.extend(_refreshed_indexes(spark, table))
    return _outcome(selected, instant, notes)


def _refuse_unsupported(table: HudiTable) -> None:
    raw = table.properties.raw
    if raw.get("hoodie.bootstrap.base.path"):
        raise InvalidLayout(f"{table.base_path}: tables made by bootstrap cannot be laid out")
    if "BUCKET" in raw.get("hoodie.index.type", "").upper():
        raise InvalidLayout(
            f"{table.base_path}: a bucket index decides in which file a row is; there is no layout"
        )


def _refreshed_indexes(spark: SparkSession, table: str) -> Iterator[str]:
    """Brings the extension's indexes up to the commit; Hudi itself did so with its own."""
    for status in index_statuses(HudiTable.open(table)):
        if status.store is Store.EXTENSION and status.state is State.LAGGING:
            refresh_index(spark, RefreshIndex(status.name, table), BuildOptions())
            yield f"refreshed the index {status.name}"


def _announced(client: ClusteringClient, selected: Selection) -> str:
    """The instant of a clustering that is pending from now on."""
    files = dict(zip(selected.partitions, selected.files, strict=True))
    slices = list(slice_files(selected.listing))
    return client.plan(slices, files, {LAYOUT: selected.choice.description})


def _settled(client: ClusteringClient, table: HudiTable, instant: str, wait: float) -> HudiTable:
    """The table once the writers are done that had begun before a clustering was announced.

    Raises ClusteringFailed where they are not within so many seconds.
    """
    plans = {plan.instant for plan in client.pending_plans()}
    earlier = writes_begun_before(table.refreshed(), instant) - plans
    return wait_for_instants(table, earlier, wait, ClusteringFailed)


def _rewritten(
    spark: SparkSession, client: ClusteringClient, selected: Selection, instant: str
) -> None:
    """Rewrites the slices, and commits. Raises HudiError."""
    layout = selected.choice.layout
    found = dict(zip(selected.partitions, samples(spark, selected), strict=True))
    counts = dict(zip(selected.partitions, selected.files, strict=True))
    with client.begun(instant) as clustering:
        parts: list[Part] = []
        first = 0
        for name, frame in clustering.frames():
            order = row_order(layout, found[name], counts[name])
            columns = [found[name].column(column).combine_chunks() for column in layout.columns]
            pieces = Pieces.of(order.places(columns), counts[name])
            rows = frame.coalesce(_TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
            parts.append(Part(rows, layout, order, pieces, first, _constants(selected, name)))
            first += counts[name]
        clustering.commit(
            arrange(parts, first),
            max(2 * selected.file_bytes, _LEAST_FILE_LIMIT),
            {LAYOUT: selected.choice.description},
        )


def _constants(selected: Selection, partition: str) -> dict[str, str]:
    """Meta columns that need not be moved with the rows: the writer fills in the file's name."""
    if not selected.table.properties.meta_fields:
        return {}
    known = {"_hoodie_partition_path": partition, "_hoodie_file_name": ""}
    return {
        name: text for name, text in known.items() if name not in selected.choice.layout.columns
    }


def _outcome(selected: Selection, instant: str, notes: Sequence[str]) -> Clustered:
    before, now = selected.listing, selected.table.refreshed().listing()
    made = [found == instant for found in now.slice_base_instant.to_pylist()]
    after = now.some(np.array(made, np.bool_))
    return Clustered(
        instant=instant,
        partitions=selected.partitions,
        files_before=before.num_files,
        files_after=after.num_files,
        bytes_before=int(before.file_size.sum()),
        bytes_after=int(after.file_size.sum()),
        notes=tuple(notes),
    )
