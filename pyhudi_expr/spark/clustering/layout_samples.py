"""Sample the rows that are laid out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from pyhudi_expr.arrays import string_list
from pyhudi_expr.manage.layout.sampling import sample_file
from pyhudi_expr.manage.layout.selection import Selection
from pyhudi_expr.rows.slice_files import FileSlice, slice_table
from pyhudi_expr.spark.clustering.layout_frames import sample_rows
from pyhudi_expr.spark.jobs.arrow_ipc import from_ipc, to_ipc
from pyhudi_expr.spark.jobs.batch_runner import LocalRunner, Runner, SparkRunner, each_item
from pyhudi_expr.spark.jobs.slice_frames import of_slices

_SEED = 28
_LOCAL_BYTES = 1 << 30
"""Of files whose few columns this process reads itself, one after the other: that takes less time
than Spark's Python workers take to begin."""


def samples(spark: SparkSession, selected: Selection) -> list[pa.Table]:
    """Return for each partition random rows of its base files, with the layout's columns."""
    table, listing, layout = selected.table, selected.listing, selected.choice.layout
    schema = pa.schema([table.schema().field(name) for name in layout.columns])
    bases = np.flatnonzero(~listing.file_is_log)
    needed = np.array([sample_rows(count) for count in selected.files], np.int64)
    of_base = listing.file_partition[bases]
    share = (
        listing.file_size[bases]
        / np.maximum(np.bincount(of_base, listing.file_size[bases], len(needed)), 1)[of_base]
    )
    rows = np.ceil(needed[of_base] * share).astype(np.int64)
    by_name = dict(zip(listing.file_name.take(bases).to_pylist(), rows.tolist(), strict=True))
    storage = table.storage

    def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
        """Sample one slice."""
        if one.base is not None:
            found = sample_file(storage, one.path(one.base), schema, by_name[one.base], _SEED)
            yield pa.record_batch([[one.partition], [to_ipc(found)]], ["partition", "stream"])

    found: dict[str, list[pa.Table]] = {name: [] for name in string_list(listing.partitions)}
    is_little = int(listing.file_size.sum()) <= _LOCAL_BYTES
    runner: Runner = LocalRunner() if is_little else SparkRunner(spark)
    streams = runner.each(
        slice_table(listing), of_slices(each_item(extract)), "partition string, stream binary"
    )
    for row in streams.rows():
        found[row["partition"]].append(from_ipc(row["stream"]))
    return [pa.concat_tables(parts) if parts else schema.empty_table() for parts in found.values()]
