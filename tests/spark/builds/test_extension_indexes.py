"""File indexes in the extension (statistics and filters, also of expressions), from their creation
to their removal; and slices that cannot be merged.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, create, upsert
from pyhudi_expr.index.catalog.status import State, index_status, index_statuses
from pyhudi_expr.index.prune import Pruner, PruneResult
from pyhudi_expr.manage.indexing.build_options import BuildResult
from pyhudi_expr.manage.operations import OperationFailed
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from tests.index.prune.matching_slices import INDEXES_ALONE, assert_no_row_lost, read, request
from tests.tables.directory_contents import contents, without_metadata_table

pytestmark = [pytest.mark.spark, pytest.mark.long]

_EXTENSION = "store = 'extension', shards = 1"
_INDEXES = {
    "ranges": f"USING column_stats(x, day) OPTIONS ({_EXTENSION})",
    "keys": f"USING bloom_filters OPTIONS ({_EXTENSION})",
    "long": f"USING column_stats(s) OPTIONS (expr = 'length', {_EXTENSION})",
    "up": f"USING bloom_filters(colour) OPTIONS (expr = 'upper', {_EXTENSION})",
}
#: How many of the eight files are kept.
_KEPT = {
    "x BETWEEN 12 AND 25": 2,
    "x > 1000": 0,
    "day = DATE'1970-03-05'": 1,
    "id = 'k33'": 1,
    "id = 'k99'": 0,
    "length(s) = 6": 1,
    "upper(colour) = 'C33'": 1,
    "upper(colour) = 'VIOLET'": 0,
    "colour IS NULL": 8,
}


def rows(spark: SparkSession, where: str = "true", x: str = "id") -> object:
    """Ten in a file. Files are larger than their indexes, so queries use those."""
    filler = "concat_ws('', transform(sequence(1, 100), i -> md5(cast(id * 100 + i as string))))"
    return spark.sql(
        f"select concat('k', id) as id, cast({x} as int) as x, 'p' || id div 40 as p, "
        "repeat('ab', cast(id div 10 as int)) || 'Name_' || id as s, "
        "date_add(date'1970-01-01', cast(id as int)) as day, "
        "if(id % 10 = 0, null, concat('c', id)) as colour, "
        f"{filler} as filler from range(0, 80, 1, 8) where {where}"
    )


def test_file_indexes_are_created_used_and_dropped(spark: SparkSession, table_root: Path) -> None:
    spec = TableSpec("indexed_files", ordering="x", partitions=("p",), stats_columns=None)
    table = create(rows(spark), spec, table_root)
    path, before = str(table.path), contents(table.path)
    for name, rest in _INDEXES.items():
        assert isinstance(execute(spark, f"CREATE INDEX {name} ON '{path}' {rest}"), BuildResult)
    assert {s.name: s.state for s in found(path)} == dict.fromkeys(_INDEXES, State.ACTIVE)
    assert kept(spark, path) == _KEPT

    upsert(table, rows(spark, "id in (5, 33)", "id + 2000"))
    assert {s.state for s in found(path)} == {State.LAGGING}
    assert all(count >= 2 for text, count in kept(spark, path).items() if text != "x > 1000")
    assert isinstance(execute(spark, f"REFRESH INDEX long ON '{path}'"), BuildResult)
    assert {s.state for s in found(path)} == {State.ACTIVE}
    assert kept(spark, path) == {**_KEPT, "x > 1000": 2, "x BETWEEN 12 AND 25": 3}
    for name in ("ranges", "up"):  # bounds and filters, of columns and of functions
        status = index_status(HudiTable.open(path), name)
        assert status is not None
        (verified,) = verify(spark, HudiTable.open(path), status)
        assert verified.checked >= 8
        assert verified.is_right, verified

    for name in _INDEXES:
        execute(spark, f"DROP INDEX {name} ON '{path}'")
    assert not (table.path / EXTENSION_DIR).exists()
    leftover_files = contents(table.path).keys() - before.keys()
    assert not [file for file in leftover_files if "pyhudi" in file and "indexes.json" not in file]


#: How many of the eight files are kept, whose values are interleaved.
_SCATTERED = {
    "d = 3.25": 1,
    "d IN (0.0, 19.5, 99)": 2,
    "d = 1000": 0,
    "d IS NULL": 1,
    "f = 2.5": 1,
    "b = cast('b13' as binary)": 1,
    "b = cast('b99' as binary)": 0,
    "n = 1.30": 1,
}


def test_secondary_indexes_on_types_that_hudi_does_not_index(
    spark: SparkSession, table_root: Path
) -> None:
    place = "(id * 37) % 80"
    frame = spark.sql(
        f"select concat('k', id) as id, cast(id as int) as x, if(id = 7, null, {place} * 0.25D) d, "
        f"cast({place} * 0.5 as float) f, cast(concat('b', {place}) as binary) b, "
        f"cast({place} * 0.1 as decimal(10, 2)) n, repeat('x', 4000) filler from range(0, 80, 1, 8)"
    )
    table = create(frame, TableSpec("scattered", ordering="x", stats_columns=None), table_root)
    path = str(table.path)
    for column in "dfbn":
        execute(spark, f"CREATE INDEX of_{column} ON '{path}' ({column}) OPTIONS ({_EXTENSION})")
    for status in found(path):
        assert all(one.is_right for one in verify(spark, HudiTable.open(path), status))
    rows = read(spark, table.path)
    assert assert_no_row_lost(Pruner(INDEXES_ALONE), table.path, rows, _SCATTERED) == _SCATTERED

    upsert(table, frame.where("x = 13").withColumn("d", frame.d + 1000))
    execute(spark, f"REFRESH INDEX of_d ON '{path}'")
    changed = {**_SCATTERED, "d = 1000.25": 1}
    rows = read(spark, table.path)
    counts = assert_no_row_lost(Pruner(INDEXES_ALONE), table.path, rows, changed)
    assert counts["d = 1000.25"] == 1
    for status in found(path):
        assert all(one.is_right for one in verify(spark, HudiTable.open(path), status))


def kept(spark: SparkSession, path: str) -> dict[str, int]:
    """The number of kept files for each predicate. No file with a matching row is dropped."""
    return assert_no_row_lost(Pruner(INDEXES_ALONE), Path(path), read(spark, Path(path)), _KEPT)


def found(path: str) -> list:
    return index_statuses(HudiTable.open(path))


@pytest.fixture
def merged(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    """A table in which some file slices have log files."""
    shutil.copytree(golden["mor_v8_metadata_pending_compaction"], tmp_path / "table")
    return tmp_path / "table"


def with_logs(path: Path) -> dict[str, str]:
    """The file groups of the snapshot's slices with log files, each with one log file."""
    metadata = MetadataTable.open(HudiTable.open(str(path)))
    assert metadata is not None
    listing = current_listing(metadata.table, metadata, TableView.SNAPSHOT)
    groups: list[Any] = listing.slice_file_id.take(pa.array(listing.file_slice)).to_pylist()
    names = listing.paths(np.arange(listing.num_files))
    return {groups[n]: names[n] for n in np.flatnonzero(listing.file_is_log).tolist()}


def damage(log: Path) -> None:
    content = log.read_bytes()
    half = len(content) // 2
    log.write_bytes(content[:half] + bytes(len(content) - half))


def test_a_slice_that_cannot_be_merged_is_not_covered(
    spark: SparkSession, merged: Path, caplog: pytest.LogCaptureFixture
) -> None:
    group, log = next(iter(with_logs(merged).items()))
    without_metadata_table(merged)
    damage(merged / log)
    with caplog.at_level(logging.WARNING):
        built = execute(spark, f"CREATE INDEX i ON '{merged}' (s) OPTIONS ({_EXTENSION})")
    assert isinstance(built, BuildResult)
    (note,) = built.notes
    assert note.startswith("1 of ")
    assert group in note
    (line,) = caplog.messages
    assert line == f"{merged}: {note}"
    nothing = pruned(merged, "s = 'nobody'")
    slices = nothing.listing.slice_file_id.to_pylist()
    assert [slices[i] for i in nothing.keep.nonzero()[0]] == [group]
    status = index_status(HudiTable.open(str(merged)), "i")
    assert status is not None
    assert status.state is State.ACTIVE


def test_custom_mergers_are_not_supported(spark: SparkSession, merged: Path) -> None:
    properties = merged / ".hoodie/hoodie.properties"
    text = properties.read_text()
    assert "hoodie.record.merge.mode=" in text
    lines = [line for line in text.splitlines() if not line.startswith("hoodie.record.merge.mode=")]
    properties.write_text("\n".join([*lines, "hoodie.record.merge.mode=CUSTOM", ""]))
    (merged / ".hoodie/.hoodie.properties.crc").unlink(missing_ok=True)
    groups = with_logs(merged)
    before = contents(merged)
    with pytest.raises(OperationFailed, match=f"of {len(groups)} of .* 'extension'"):
        execute(spark, f"CREATE INDEX i ON '{merged}' (s)")
    assert contents(merged) == before

    execute(spark, f"DROP INDEX column_stats ON '{merged}'")
    built = execute(spark, f"CREATE INDEX i ON '{merged}' USING column_stats(dt)")
    assert isinstance(built, BuildResult)
    assert list(built.records) == ["column_stats"]
    assert built.notes[0].startswith("partition_stats is left out")
    nothing = pruned(merged, "dt = DATE'1900-01-01'")
    slices = nothing.listing.slice_file_id.to_pylist()
    assert {slices[i] for i in nothing.keep.nonzero()[0]} == set(groups)


def pruned(path: Path, text: str) -> PruneResult:
    return Pruner(INDEXES_ALONE).prune(str(path), request(text))
