"""Real Parquet files of random rows, and what our own builder of `column_stats` says of them.

Some files keep a column in a type that widens to the table's, as those of other writers and of
older schemas: milliseconds under microseconds, int under long, float under double, decimals of
fewer digits. Some lack a column that is NULL in all their rows, as those from before it was added.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.expr.bound import BoundExpression, columns
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.index.statistics.column_stats import WholeColumnStats
from pyhudi_expr.spark.entries.column_stats import column_stats
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.hfile.cells import Cells
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records.metadata_records import EncodedRecords
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics, decode_statistics
from pyhudi_expr.tables.slices.slice_files import file_slices

_INSTANT = "20260101000000000"
TABLE = "truth"
_PROPERTIES = f"""\
hoodie.table.name={TABLE}
hoodie.table.type=COPY_ON_WRITE
hoodie.table.version=8
hoodie.timeline.layout.version=2
hoodie.populate.meta.fields=false
hoodie.record.merge.mode=COMMIT_TIME_ORDERING
"""
#: Columns of types that a schema of Avro does not have, or not without another meaning.
_NOT_IN_AVRO = frozenset({"i1", "i2", "tn", "tm"})
_STORED_OTHERWISE = 0.4
_LEFT_OUT = 0.6
_FOOTER_WAIT = 60.0  # seconds


class Footers(Enum):
    """Whose footers the files have. Those of `parquet-java` have no range of a chunk with NaN."""

    ARROW = "arrow"
    DUCKDB = "duckdb"
    JAVA = "java"
    POLARS = "polars"


def write_table(
    path: Path,
    rows: pa.Table,
    members: Sequence[Sequence[int]],
    footers: Footers,
    rng: random.Random,
) -> None:
    """Writes a copy-on-write table without a metadata table; file F has the rows `members[F]`."""
    timeline = path / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (timeline / f"{_INSTANT}_{_INSTANT}.commit").write_bytes(b"")
    schema = json.dumps(_avro(rows.schema)).replace(":", "\\:")
    properties = f"{_PROPERTIES}hoodie.table.create.schema={schema}\n"
    (path / ".hoodie" / "hoodie.properties").write_text(properties)
    (path / ".hoodie_partition_metadata").write_text("partitionDepth=0\n")
    for number, own in enumerate(members):
        name = f"{file_id(number)}_0-1-0_{_INSTANT}.parquet"
        content = _stored(rows.take(list(own)), rng)
        _write(content, path / name, footers)


def _write(content: pa.Table, path: Path, footers: Footers) -> None:
    match footers:
        case Footers.ARROW:
            pq.write_table(content, path)
        case Footers.DUCKDB:
            duckdb.from_arrow(content).write_parquet(str(path))
        case Footers.JAVA:
            pq.write_table(content, path, write_statistics=_without_nan(content))
        case Footers.POLARS:
            pl.DataFrame(content).write_parquet(path, statistics=True)


def file_id(number: int) -> str:
    return f"{number:08d}-0000-4000-8000-000000000000-0"


def kept_among(ids: Collection[str], files: int) -> npt.NDArray[np.bool_]:
    """Which of the files of `write_table` are named."""
    return np.array([file_id(number) in ids for number in range(files)])


def in_avro(rows: pa.Table) -> pa.Table:
    """The columns of tables that `write_table` writes."""
    return rows.drop_columns([name for name in rows.column_names if name in _NOT_IN_AVRO])


def _without_nan(rows: pa.Table) -> list[str]:
    return [
        name
        for name, column in zip(rows.column_names, rows.columns, strict=True)
        if not (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py())
    ]


def _stored(rows: pa.Table, rng: random.Random) -> pa.Table:
    """Some columns in another type, if that holds their values; some of only NULL left out."""
    nulls = [name for name in rows.column_names if rows[name].null_count == rows.num_rows]
    rows = rows.drop_columns([name for name in nulls if rng.random() < _LEFT_OUT])
    for place, name in enumerate(rows.column_names):
        if rng.random() < _STORED_OTHERWISE:
            for type_ in _narrower(rows[name].type):
                cast = _exactly(rows[name], type_)
                if cast is not None:
                    rows = rows.set_column(place, name, cast)
                    break
    return rows


def _narrower(type_: pa.DataType) -> Sequence[pa.DataType]:
    if pa.types.is_timestamp(type_):
        return (pa.timestamp("ms", type_.tz),)
    if pa.types.is_decimal(type_):
        scales = range(max(0, type_.scale - 3), type_.scale)
        return [pa.decimal128(type_.precision - type_.scale + scale, scale) for scale in scales]
    return _NARROWER.get(type_, ())


_NARROWER: Mapping[pa.DataType, Sequence[pa.DataType]] = {
    pa.int64(): (pa.int32(),),
    pa.float64(): (pa.float32(),),
}


def _exactly(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray | None:
    try:
        cast = column.cast(type_)
        # Of NaN no value is equal, and of zeros both are.
        back = cast.cast(column.type)
    except pa.ArrowInvalid:
        return None
    return cast if repr(back.to_pylist()) == repr(column.to_pylist()) else None


@dataclass(frozen=True)
class StoredFiles:
    """The files of a table, by statistics of them."""

    statistics: WholeColumnStats
    schema: pa.Schema

    @staticmethod
    def by_footers(path: Path) -> StoredFiles:
        """By what the files themselves say."""
        table = HudiTable.open(str(path))
        listing = table.listing(TableView.READ_OPTIMIZED)
        return StoredFiles(WholeColumnStats(None, listing, table.storage), table.schema())

    @staticmethod
    def by_entries(path: Path) -> StoredFiles:
        """By the entries of all columns that our own builder computes."""
        table = HudiTable.open(str(path))
        listing = table.listing(TableView.READ_OPTIMIZED)
        schema = table.schema()
        fields = tuple(schema.names)
        definition = IndexDefinition(COLUMN_STATS, COLUMN_STATS, COLUMN_STATS, fields, {}, "V2")
        batches = column_stats(table, None, definition, 1)(file_slices(listing))
        entries = _Entries(list(batches))
        return StoredFiles(WholeColumnStats(entries, listing, table.storage), schema)

    def kept(self, bound: BoundExpression, files: int) -> npt.NDArray[np.bool_]:
        """Which files may have a row for which the expression is TRUE."""
        every = np.ones(1, np.bool_)
        loaded = self.statistics.load([*columns(bound).values()], every, _FOOTER_WAIT)
        return np.asarray(as_array(may_be(bound, True, [StatisticsEvidence(loaded)]), files))


class _Entries:
    """A source of entries in memory (`pyhudi_expr.index.statistics.entry_source`)."""

    cache = None
    meta_fields = False
    reading_threads = 1

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        entries = pa.Table.from_batches(batches)
        keys, values = (entries[name].to_pylist() for name in ("key", "value"))
        records = EncodedRecords("entries", RECORD_SCHEMA, Cells.of(keys, values))
        self._found = decode_statistics(records)

    def groups(self, partition: str) -> Sequence[FileGroup]:
        return ()

    def statistics_pieces(
        self, partition: str, prefixes: Sequence[str]
    ) -> list[Iterator[ColumnStatistics]]:
        begins = [
            any(key.startswith(one) for one in prefixes) for key in self._found.key.to_pylist()
        ]
        return [iter([self._found.filter(np.array(begins))])]


def _avro(schema: pa.Schema) -> dict[str, Any]:
    fields = [
        {"name": field.name, "type": ["null", _avro_type(field.name, field.type)], "default": None}
        for field in schema
    ]
    return {"type": "record", "name": "row", "fields": fields}


def _avro_type(name: str, type_: pa.DataType) -> Any:
    if pa.types.is_decimal(type_):
        size = next(n for n in range(1, 17) if 256**n // 2 > 10**type_.precision)
        digits = {"precision": type_.precision, "scale": type_.scale}
        return {
            "type": "fixed",
            "name": f"of_{name}",
            "size": size,
            "logicalType": "decimal",
            **digits,
        }
    return _AVRO[type_]


_AVRO: dict[pa.DataType, Any] = {
    **{pa.bool_(): "boolean", pa.int32(): "int", pa.int64(): "long"},
    **{pa.float32(): "float", pa.float64(): "double", pa.string(): "string", pa.binary(): "bytes"},
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
}
