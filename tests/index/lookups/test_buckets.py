"""Tables with buckets, written by Flink: the number is proved by the files, whatever is stated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import pyhudi_expr as ph
from pyhudi_expr.protocol.generated.constants import BUCKET_OPTIONS
from pyhudi_expr.tables.hudi_names import OF_BUCKETS
from pyhudi_expr.tables.properties import BucketEngine, StatedBuckets
from tests.flink_rows import expected

_NUMBER = "hoodie.bucket.index.num.buckets"


def opened(path: Path, number: int, **more: str) -> ph.Table:
    return ph.table(path, catalog_properties={"index.type": "BUCKET", _NUMBER: str(number), **more})


def skipped(table: ph.Table, predicate: str) -> int:
    return table.prune(predicate).skipped_by.get("buckets", 0)


def test_every_row_is_found_in_its_bucket(flink: Mapping[str, Path]) -> None:
    table, rows = opened(flink["mor_bucket"], 2), expected("mor_bucket")
    found = [table.scan(f"id = {row['id']}", ["id"]).to_arrow()["id"].to_pylist() for row in rows]
    assert found == [[row["id"]] for row in rows]
    assert all(skipped(table, f"id = {row['id']}") for row in rows)
    everything = ", ".join(str(row["id"]) for row in rows)
    assert table.scan(f"id IN ({everything})").count() == len(rows)


def test_each_partition_may_have_another_number(flink: Mapping[str, Path]) -> None:
    by_partition = {"hoodie.bucket.index.partition.expressions": "O.*,2"}
    table, rows = opened(flink["mor_bucket"], 7, **by_partition), expected("mor_bucket")
    found = [table.scan(f"id = {row['id']}", ["id"]).to_arrow()["id"].to_pylist() for row in rows]
    assert found == [[row["id"]] for row in rows]
    assert any(skipped(table, f"id = {row['id']}") for row in rows)


RING = {"hoodie.index.bucket.engine": "CONSISTENT_HASHING"}
METADATA = ".hoodie/.bucket_index/consistent_hashing_metadata"


def test_every_row_is_found_in_its_range_of_the_ring(flink: Mapping[str, Path]) -> None:
    table, rows = opened(flink["mor_consistent"], 2, **RING), expected("mor_consistent")
    found = [table.scan(f"id = {row['id']}", ["id"]).to_arrow()["id"].to_pylist() for row in rows]
    assert found == [[row["id"]] for row in rows]
    assert all(skipped(table, f"id = {row['id']}") for row in rows)


@pytest.mark.parametrize(
    "change",
    [
        lambda nodes: b"{",
        lambda nodes: b"[" * 100_000,
        lambda nodes: b'{"nodes": 7}',
        lambda nodes: b'{"nodes": [{"value": 1}]}',
        lambda nodes: json.dumps({"nodes": nodes[:1]}).encode(),
        lambda nodes: json.dumps({"nodes": []}).encode(),
        lambda nodes: None,
    ],
    ids=[
        "cut off",
        "deep",
        "of another form",
        "without a file group",
        "one left out",
        "none",
        "gone",
    ],
)
def test_partitions_without_right_metadata_are_kept(
    flink: Mapping[str, Path],
    tmp_path: Path,
    change: Callable[[Sequence[Mapping[str, object]]], bytes | None],
) -> None:
    path = shutil.copytree(flink["mor_consistent"], tmp_path / "table")
    for file in path.glob(f"{METADATA}/*/*"):
        content = change(json.loads(file.read_text())["nodes"])
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
    plan = opened(path, 2, **RING).prune("id = 3")
    # A partition that has one file group, and metadata of it.
    assert plan.skipped_by.get("buckets", 0) <= 1
    assert "does not name all file groups" in plan.notes[-1]


def test_ranges_that_contradict_each_other_exclude_nothing(
    flink: Mapping[str, Path], tmp_path: Path
) -> None:
    path = shutil.copytree(flink["mor_consistent"], tmp_path / "table")
    for file in path.glob(f"{METADATA}/*/*"):
        first, last = json.loads(file.read_text())["nodes"]
        nodes = [{**first, "value": 5}, last]
        (file.parent / "20260101000000000.hashing_meta").write_text(json.dumps({"nodes": nodes}))
    assert not skipped(opened(path, 2, **RING), "id = 3")


def test_the_hashed_columns_of_a_ring_have_to_be_known(flink: Mapping[str, Path]) -> None:
    by_name = {**RING, "hoodie.bucket.index.hash.field": "name"}
    assert not skipped(opened(flink["mor_consistent"], 2, **by_name), "id = 3 AND name = 'x'")


@pytest.mark.parametrize("number", [1, 3, 4, 6, 256])
def test_another_number_is_contradicted(flink: Mapping[str, Path], number: int) -> None:
    plan = opened(flink["mor_bucket"], number).prune("id = 3")
    assert "buckets" not in plan.skipped_by
    (note,) = plan.notes
    assert f"contradict {number} buckets" in note


@pytest.mark.parametrize("name", ["mor_state", "mor_consistent", "cow_state"])
def test_other_file_groups_than_those_of_buckets_are_kept(
    flink: Mapping[str, Path], name: str
) -> None:
    for number in (1, 2, 8):
        assert not skipped(opened(flink[name], number), "id = 3")


@pytest.mark.parametrize(
    "predicate",
    [
        *("id > 3", "id <> 3", "NOT (id = 3)", "id IS NULL", "id = 3 OR ts > 0"),
        *("name = 'name 2 of 2'", "id + 1 = 4", "id = 3.5"),
    ],
)
def test_only_equalities_of_the_hashed_columns_name_buckets(
    flink: Mapping[str, Path], predicate: str
) -> None:
    assert not skipped(opened(flink["mor_bucket"], 2), predicate)


def test_a_column_that_is_not_of_the_key_is_not_hashed(flink: Mapping[str, Path]) -> None:
    table = opened(flink["mor_bucket"], 2, **{"hoodie.bucket.index.hash.field": "name"})
    assert not skipped(table, "id = 3 AND name = 'name 2 of 2'")


def test_nothing_is_stated_without_a_bucket_index() -> None:
    bucket = {"hoodie.index.type": "BUCKET", _NUMBER: "8"}
    assert StatedBuckets.of(bucket) == StatedBuckets(8)
    by_columns = {**bucket, "hoodie.bucket.index.hash.field": "b,a"}
    assert StatedBuckets.of(by_columns) == StatedBuckets(8, ("b", "a"))
    unknown = {"hoodie.index.bucket.engine": "ANOTHER"}
    for other in ({}, {**bucket, "hoodie.index.type": "BLOOM"}, {**bucket, **unknown}):
        assert StatedBuckets.of(other) is None
    ring = StatedBuckets(None, (), BucketEngine.CONSISTENT_HASHING)
    assert StatedBuckets.of({**bucket, **RING}) == ring
    with pytest.raises(ph.HudiError, match=r"num\.buckets: expected a number from 1, got '0'"):
        StatedBuckets.of({**bucket, _NUMBER: "0"})


def test_other_engines_state_buckets_by_the_same_options() -> None:
    assert sorted(BUCKET_OPTIONS) == sorted(OF_BUCKETS)
