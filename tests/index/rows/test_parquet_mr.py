"""Files of Spark's writer, parquet-mr: it reads the same page indexes, and Spark finds the rows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from pyhudi_expr.expr.frontend.sql.dialects import SPARK
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.tables.parquet.footer import ParquetFooter, read_footer
from pyhudi_expr.tables.parquet.page_index import read_locations, read_statistics
from pyhudi_expr.tables.storage import Storage
from tests.index.rows.ranges_of_files import evaluated, reader_of, rows_of
from tests.rows.nasty_tables import SCHEMA, nasty_rows, sql_texts

pytestmark = pytest.mark.spark

CONDITIONS = 150
GROUPS = 100
AS_STORED = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
SMALL = {"parquet.page.row.count.limit": "4", "parquet.page.size.row.check.min": "1"}
ROW_GROUPS = {"parquet.block.size": "4096", "parquet.page.size": "256"}
PLAIN = {"parquet.enable.dictionary": "false"}
#: The writer's options by a name, and Spark's own settings.
WRITERS: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "pages": (SMALL, {}),
    "row groups": (SMALL | ROW_GROUPS, {}),
    "pages of version 2": (SMALL | PLAIN | {"parquet.writer.version": "v2"}, {}),
    "uneven pages": (
        PLAIN | {"parquet.page.size": "64", "parquet.page.size.row.check.min": "1"},
        {},
    ),
    "truncated bounds": (SMALL | {"parquet.columnindex.truncate.length": "1"}, {}),
    "Bloom filters": (
        SMALL | ROW_GROUPS | PLAIN | {"parquet.bloom.filter.enabled": "true"},
        {},
    ),
    "INT96": (SMALL, {"spark.sql.parquet.outputTimestampType": "INT96"}),
    "milliseconds": (SMALL, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}),
    "legacy decimals": (SMALL, {"spark.sql.parquet.writeLegacyFormat": "true"}),
    "dictionaries": (ROW_GROUPS | {"parquet.compression": "gzip"}, {}),
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows whose pages will have few distinct values each."""
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(nasty_rows(Random(5), GROUPS, 0), path)
    return path


@pytest.fixture(params=WRITERS)
def file(request: pytest.FixtureRequest, spark: SparkSession, rows: Path, tmp_path: Path) -> Path:
    """The same rows as parquet-mr stores them."""
    options, settings = WRITERS[request.param]
    settings = {
        **settings,
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        frame = spark.read.options(**AS_STORED).parquet(str(rows)).coalesce(1)
        frame.write.options(**options).parquet(str(tmp_path / "out"))
    finally:
        for name in settings:
            spark.conf.unset(name)
    [found] = (tmp_path / "out").glob("*.parquet")
    return found


@pytest.mark.smoke("dictionaries")
def test_spark_finds_no_row_outside_of_the_ranges(spark: SparkSession, file: Path) -> None:
    texts = list(islice(sql_texts(Random(7), "<=>"), CONDITIONS))
    frame = spark.read.options(**AS_STORED).parquet(str(file))
    # As columns, so that Spark skips nothing itself.
    truths = frame.selectExpr("id", *(f"({text}) AS c{n}" for n, text in enumerate(texts)))
    found = truths.collect()
    ids = pq.ParquetFile(file).read(["id"])["id"].to_pylist()
    place = {id_: row for row, id_ in enumerate(ids)}
    reader, skipped = reader_of(file.parent), 0
    for number, text in enumerate(texts):
        matching = {place[row["id"]] for row in found if row[f"c{number}"]}
        predicate = parse_predicate(text, SPARK)
        [ranges] = evaluated([file], predicate, SCHEMA, "UTC", reader).files
        possible = rows_of(ranges)
        assert matching <= possible, text
        skipped += len(ids) - len(possible)
    assert skipped > 0.03 * len(ids) * len(texts)


@pytest.mark.smoke("dictionaries")
def test_the_page_index_is_what_parquet_mr_reads(spark: SparkSession, file: Path) -> None:
    storage = Storage.open(str(file.parent))
    ranges = storage.open_ranges(file.name, file.stat().st_size)
    footer = read_footer(ranges, file.stat().st_size)
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(str(file))
    stored = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
        path, spark._jsc.hadoopConfiguration()
    )
    with closing(jvm.org.apache.parquet.hadoop.ParquetFileReader.open(stored)) as reader:
        blocks = list(reader.getFooter().getBlocks())
        assert len(blocks) == len(footer.group_rows)
        compared = 0
        for group, block in enumerate(blocks):
            assert footer.group_rows[group] == block.getRowCount()
            assert footer.group_offsets[group] == block.getStartingPos()
            assert footer.group_bytes[group] == block.getCompressedSize()
            for position, chunk in enumerate(block.getColumns()):
                compared += _assert_same_pages(ranges, footer, (group, position), reader, chunk)
        assert compared


def _assert_same_pages(
    ranges: Any, footer: ParquetFooter, at: tuple[int, int], reader: Any, chunk: JavaObject
) -> int:
    places = footer.places(*at)
    assert places is not None
    offsets, columns = reader.readOffsetIndex(chunk), reader.readColumnIndex(chunk)
    assert (places.offset_index is None) == (offsets is None)
    assert (places.column_index is None) == (columns is None)
    if offsets is None or columns is None or places.offset_index is None:
        return 0
    length, offset = places.offset_index[1], places.offset_index[0]
    rows = int(footer.group_rows[at[0]])
    locations = read_locations(ranges.read_at(length, offset), rows, places.chunk)
    pages = range(offsets.getPageCount())
    assert locations.first_row.tolist() == [offsets.getFirstRowIndex(page) for page in pages]
    assert places.column_index is not None
    offset, length = places.column_index
    found = read_statistics(ranges.read_at(length, offset), len(pages))
    assert found.is_null.tolist() == list(columns.getNullPages())
    assert found.nulls is not None
    assert found.nulls.tolist() == list(columns.getNullCounts())
    present = np.flatnonzero(~found.is_null).tolist()
    for ours, theirs in (
        (found.lower, columns.getMinValues()),
        (found.upper, columns.getMaxValues()),
    ):
        stored = [bytes(buffer.array())[buffer.position() : buffer.limit()] for buffer in theirs]
        assert [ours[page] for page in present] == [stored[page] for page in present]
    return 1


def test_a_value_that_is_not_there_is_found_missing(spark: SparkSession, tmp_path: Path) -> None:
    """Bounds of the column allow it, a dictionary or a Bloom filter does not."""
    # Repeated, as the writer gives up dictionaries that save nothing.
    values = [f"v{2 * (number // 5):05d}" for number in range(1000)]
    Random(3).shuffle(values)
    table = pa.table({"s": values, "n": [int(value[1:]) for value in values]})
    pq.write_table(table, tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet")).coalesce(1)
    filters = {"parquet.bloom.filter.enabled": "true", "parquet.bloom.filter.expected.ndv": "1000"}
    for name, options in {"filters": PLAIN | filters, "dictionaries": {}}.items():
        out = tmp_path / name
        frame.write.options(**options).parquet(str(out))
        [file] = out.glob("*.parquet")
        possible = [
            len(rows_of(evaluated([file], parse_predicate(text), table.schema).files[0]))
            for text in (
                *(f"s = '{value}'" for value in values[:100]),
                *(f"n = {int(value[1:])}" for value in values[:100]),
                f"s IN ('x', '{values[0]}')",
            )
        ]
        assert possible == [1000] * 201
        missing = [
            len(rows_of(evaluated([file], parse_predicate(text), table.schema).files[0]))
            for number in range(1, 400, 2)
            for text in (f"s = 'v{number:05d}'", f"n = {number}", f"n IN ({number}, {number + 2})")
        ]
        # Filters err in a few cases.
        assert missing.count(0) > 0.9 * len(missing), name
