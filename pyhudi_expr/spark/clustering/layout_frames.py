"""Order DataFrames by a layout, for any writer, by a sample of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from pyhudi_expr.arrays import AnyArray, Int32Array, arrow_buffer, string_list
from pyhudi_expr.manage.layout.analysis import sample_file
from pyhudi_expr.manage.layout.curves import Curve
from pyhudi_expr.manage.layout.row_order import Layout, Mapping, Order, Pieces, row_order
from pyhudi_expr.manage.layout.selection import Selection
from pyhudi_expr.spark.jobs.batch_runner import LocalRunner, Runner, SparkRunner, each_item
from pyhudi_expr.spark.jobs.shard_writer import routes_to
from pyhudi_expr.spark.jobs.slice_frames import arrow_type, from_ipc, of_slices, to_ipc
from pyhudi_expr.tables.slices.slice_files import FileSlice, slice_table

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


SAMPLE_ROWS = 100_000
_SAMPLE_ROWS_OF_FILE = 200
_SEED = 28  # the same rows are sampled each time, so that a repeated task divides rows as before
_PLACE, _ROUTE = "_layout_place", "_layout_route"


def sample_rows(files: int) -> int:
    """Return the size of a sample that divides rows into so many files of nearly equal size."""
    return max(SAMPLE_ROWS, _SAMPLE_ROWS_OF_FILE * files)


@dataclass(frozen=True)
class Part:
    """Rows that are ordered together, for example, of one table partition.

    Attributes:
        order: The order of `layout` for them.
        first: The number of the first of the files that `pieces` divides them into.
        constants: The texts of columns with one value in all rows, which are not sent through
            Python.
    """

    frame: DataFrame
    layout: Layout
    order: Order
    pieces: Pieces
    first: int = 0
    constants: dict[str, str] = field(default_factory=dict)


def order_by(
    frame: DataFrame,
    columns: Sequence[str],
    curve: Curve = Curve.HILBERT,
    mapping: Mapping = Mapping.SAMPLED,
    *,
    files: int | None = None,
    target_file_size: int | None = None,
) -> DataFrame:
    """Order rows by a layout: each Spark partition is a range of it, and sorted.

    The frame is read once for a sample of the columns, and once more. Fewer partitions have rows if
    too many rows are equal.

    Args:
        frame: The rows.
        columns: The columns of the layout.
        curve: The curve.
        mapping: How values are mapped to numbers.
        files: Number of Spark partitions, of about equal numbers of rows.
        target_file_size: Bytes of each partition, by Spark's estimate of the frame's size; instead
            of `files`.

    Raises:
        InvalidLayout: The layout is not possible.
        ValueError: Not exactly one of the two sizes is given, above 0.
    """
    count = _count(frame, files, target_file_size)
    layout = Layout(tuple(columns), Curve(curve), Mapping(mapping))
    layout.check(_schema(frame))
    sample = _sample(frame, layout.columns, sample_rows(count))
    order = row_order(layout, sample, count)
    places = order.places([sample.column(name).combine_chunks() for name in layout.columns])
    return arrange([Part(frame, layout, order, Pieces.of(places, count))], count)


def arrange(parts: Sequence[Part], files: int) -> DataFrame:
    """Return the parts' rows, those of file n in Spark partition n and sorted.

    All parts have the same layout and schema.
    """
    routes = np.array(routes_to(files), np.int32)
    layout, names = parts[0].layout, parts[0].frame.columns
    placed = (_placed(part, routes[part.first : part.first + part.pieces.count]) for part in parts)
    rows = reduce(DataFrame.union, placed).repartition(files, _ROUTE)
    if layout.curve is Curve.LINEAR:
        columns = (f"c{names.index(column)}" for column in layout.columns)
        ordered = rows.sortWithinPartitions(*(f.asc_nulls_last(column) for column in columns))
    else:
        ordered = rows.sortWithinPartitions(_PLACE)
    return ordered.drop(_ROUTE, _PLACE).toDF(*names)


def _placed(part: Part, routes: Int32Array) -> DataFrame:
    """Return the rows with numbers for column names, each with its route.

    Their place is added if Spark cannot sort by the columns themselves.
    """
    sent = [f"c{n}" for n, name in enumerate(part.frame.columns) if name not in part.constants]
    numbered = _numbered(part.frame).select(*sent)
    positions = [
        sent.index(f"c{part.frame.columns.index(column)}") for column in part.layout.columns
    ]
    fields = [*numbered.schema, t.StructField(_ROUTE, t.IntegerType())]
    curve = part.layout.curve
    if curve is not Curve.LINEAR:
        fields.append(t.StructField(_PLACE, t.BinaryType()))
    rows = numbered.mapInArrow(
        _placing(positions, part.order, part.pieces, routes, curve), t.StructType(fields)
    )
    whole = (
        f.lit(part.constants[name]).alias(f"c{n}") if name in part.constants else f.col(f"c{n}")
        for n, name in enumerate(part.frame.columns)
    )
    return rows.select(*whole, *(f.col(one.name) for one in fields[len(sent) :]))


def _numbered(frame: DataFrame) -> DataFrame:
    """Rename the columns for PySpark, which does not accept dots and backticks."""
    return frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))


def _placing(
    positions: Sequence[int],
    order: Order,
    pieces: Pieces,
    routes: Int32Array,
    curve: Curve,
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """Return the step that adds the number of each row's file, and its place on a curve."""

    def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            places = order.places([batch.column(position) for position in positions])
            added: dict[str, AnyArray] = {_ROUTE: pa.array(routes[pieces.numbers(places)])}
            if curve is not Curve.LINEAR:
                content = pa.FixedSizeBinaryArray.from_buffers(
                    pa.binary(places.shape[1]), len(places), [None, arrow_buffer(places)]
                )
                added[_PLACE] = content.cast(pa.binary())
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, *added.values()], [*batch.schema.names, *added]
            )

    return place


def _count(frame: DataFrame, files: int | None, target_file_size: int | None) -> int:
    if (files is None) == (target_file_size is None):
        raise ValueError("either files or target_file_size has to be given")
    if files is None:
        assert target_file_size is not None
        if target_file_size < 1:
            raise ValueError(f"files cannot have {target_file_size} bytes")
        size = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
        files = max(-(-int(str(size)) // target_file_size), 1)
    if files < 1:
        raise ValueError(f"rows cannot be laid out in {files} files")
    return files


def _schema(frame: DataFrame) -> pa.Schema:
    return pa.schema([(field.name, _arrow_type(field.dataType)) for field in frame.schema])


def _arrow_type(type_: t.DataType) -> pa.DataType:
    """Return the Arrow type; one without an order if Arrow has none for it."""
    try:
        return arrow_type(type_)
    except PySparkTypeError:
        return pa.struct([])


def _sample(frame: DataFrame, columns: Sequence[str], rows: int) -> pa.Table:
    """Return about so many random rows of these columns, or all."""
    positions = [frame.columns.index(name) for name in columns]
    chosen = _numbered(frame).select(*(f"c{position}" for position in positions))
    count = chosen.count()
    if count > rows:
        chosen = chosen.sample(withReplacement=False, fraction=rows / count, seed=_SEED)
    batches = chosen.mapInArrow(_as_streams, "stream binary").collect()
    found = [from_ipc(row.stream) for row in batches]
    if not found:
        found = [
            pa.schema(
                [(one.name, _arrow_type(one.dataType)) for one in chosen.schema]
            ).empty_table()
        ]
    return pa.concat_tables(found).rename_columns(list(columns))


def _as_streams(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch([pa.array([to_ipc(batch)])], ["stream"])
