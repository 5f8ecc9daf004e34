"""Entries become the HFiles of a metadata partition, which our reader reads."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from pyhudi_expr.spark.jobs.shard_writer import ENTRIES, ShardTarget, routes_to, write_shards
from pyhudi_expr.tables.mdt.bytes.keys import shard
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.file_group import all_cells
from pyhudi_expr.tables.storage import Storage

pytestmark = pytest.mark.spark

_SHARDS = 7


def target(root: Path, shards: int, partition: str = "secondary_index_city") -> ShardTarget:
    return ShardTarget(str(root), partition, "20260101000000000", shards)


def cells(root: Path, path: str) -> dict[bytes, bytes]:
    storage = Storage.open(str(root))
    with storage.open_input(path) as source:
        found = all_cells(HFile(source, source.size(), path))
    assert list(found.keys) == sorted(found.keys)
    return dict(zip(found.keys, found.values, strict=True))


def test_every_entry_is_in_the_file_of_its_shard(spark: SparkSession, tmp_path: Path) -> None:
    rows = 100_000
    keys = [f"clé-{number}" for number in range(rows)]
    shards = [shard(key, _SHARDS) for key in keys]
    frame = spark.createDataFrame(
        list(zip(keys, shards, strict=True)), "key string, shard int"
    ).selectExpr(
        "shard",
        "cast(key AS binary) AS key",
        "cast(reverse(key) AS binary) AS value",
        "0L AS version",
    )
    written = write_shards(frame, [target(tmp_path, _SHARDS)])

    assert [one.shard for one in written] == list(range(_SHARDS))
    assert [one.records for one in written] == np.bincount(shards).tolist()
    assert {one.path: one.bytes for one in written} == {
        str(path.relative_to(tmp_path)): path.stat().st_size for path in files(tmp_path)
    }
    assert written[3].path == (
        "secondary_index_city/secondary-index-city-0003-0_3-0-0_20260101000000000.hfile"
    )
    for one in written:
        assert cells(tmp_path, one.path) == {
            key.encode(): key[::-1].encode()
            for key, own in zip(keys, shards, strict=True)
            if own == one.shard
        }


def test_two_indexes_are_written_by_one_job(spark: SparkSession, tmp_path: Path) -> None:
    # Shards 0 and 1 are of the record index, 2 to 4 of the other one.
    rows = [(shard, f"key-{shard}".encode(), b"value", 0) for shard in (4, 0, 2)]
    targets = [target(tmp_path, 2, "record_index"), target(tmp_path, 3)]
    written = write_shards(spark.createDataFrame(rows, ENTRIES), targets)
    assert [(one.shard, one.file.partition, one.file.file_id) for one in written] == [
        (0, "record_index", "record-index-0000-0"),
        (2, "secondary_index_city", "secondary-index-city-0000-0"),
        (4, "secondary_index_city", "secondary-index-city-0002-0"),
    ]
    for one in written:
        assert cells(tmp_path, one.path) == {f"key-{one.shard}".encode(): b"value"}


def test_the_highest_version_of_a_key_wins(spark: SparkSession, tmp_path: Path) -> None:
    # More entries of one key than a batch has.
    frame = spark.range(30_000).selectExpr(
        "1 AS shard",
        "cast(if(id < 29999, 'a', 'b') AS binary) AS key",
        "cast(cast(id % 20000 AS string) AS binary) AS value",
        "id % 20000 AS version",
    )
    (written,) = write_shards(frame, [target(tmp_path, 3)])
    assert (written.shard, written.records) == (1, 2)
    assert cells(tmp_path, written.path) == {b"a": b"19999", b"b": b"9999"}


def test_entries_that_contradict_each_other_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [(0, b"key", b"one", 5), (0, b"key", b"two", 5)]
    frame = spark.createDataFrame(rows, ENTRIES)
    with pytest.raises(PythonException, match="two entries that differ have the key b'key'"):
        write_shards(frame, [target(tmp_path, 2)])
    assert files(tmp_path) == []


def test_files_of_a_killed_attempt_are_deleted(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(0, b"key", b"value", 0)], ENTRIES)
    (written,) = write_shards(frame, [target(tmp_path, 1)])
    path = tmp_path / written.path
    half = path.with_name(f".{path.name}.17.tmp")
    other = path.with_name(".of-another-build_20250101000000000.hfile.17.tmp")
    half.write_bytes(b"half")
    other.write_bytes(b"half")
    write_shards(frame, [target(tmp_path, 1)])
    assert files(tmp_path) == sorted([path, other])


@pytest.mark.smoke
def test_a_second_attempt_keeps_the_file_of_the_first(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(0, b"key", b"value", 0)], ENTRIES)
    first = write_shards(frame, [target(tmp_path, 1)])
    assert write_shards(frame, [target(tmp_path, 1)]) == first
    assert len(files(tmp_path)) == 1

    other = spark.createDataFrame([(0, b"key", b"another value", 0)], ENTRIES)
    with pytest.raises(PythonException, match="delete what an earlier build left behind"):
        write_shards(other, [target(tmp_path, 1)])
    assert cells(tmp_path, first[0].path) == {b"key": b"value"}
    assert len(files(tmp_path)) == 1


def test_files_of_keys_have_smaller_blocks(spark: SparkSession, tmp_path: Path) -> None:
    """A look-up of a key uncompresses a block."""
    frame = spark.range(20_000).selectExpr(
        "0 AS shard", "cast(md5(string(id)) AS binary) AS key", "key AS value", "0L AS version"
    )
    read = {}
    for partition in ("record_index", "bloom_filters"):
        (written,) = write_shards(frame, [target(tmp_path, 1, partition)])
        with Storage.open(str(tmp_path)).open_input(written.path) as source:
            read[partition] = HFile(source, source.size(), written.path).prefix_bytes([b"8"])
    assert read["record_index"] < read["bloom_filters"] / 3


@pytest.mark.parametrize("shards", [1, 2, 10, 100])
def test_each_shard_is_written_by_one_task(spark: SparkSession, shards: int) -> None:
    routes = spark.createDataFrame([(route,) for route in routes_to(shards)], "route int")
    found = routes.selectExpr(f"pmod(hash(route), {shards}) AS task").collect()
    assert [row.task for row in found] == list(range(shards))


def files(root: Path) -> list[Path]:
    """All files, including those of failed attempts."""
    return sorted(path for path in root.rglob("*") if path.is_file())
