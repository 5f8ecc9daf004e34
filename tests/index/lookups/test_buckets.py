"""Tables with buckets, written by Flink: the number is proved by the files, whatever is stated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import pyhudi_expr as ph
from pyhudi_expr.protocol.generated.constants import BUCKET_OPTIONS
from pyhudi_expr.tables.hudi_names import OF_BUCKETS
from pyhudi_expr.tables.properties import StatedBuckets
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


def test_nothing_is_stated_without_a_simple_bucket_index() -> None:
    bucket = {"hoodie.index.type": "BUCKET", _NUMBER: "8"}
    assert StatedBuckets.of(bucket) == StatedBuckets(8)
    by_columns = {**bucket, "hoodie.bucket.index.hash.field": "b,a"}
    assert StatedBuckets.of(by_columns) == StatedBuckets(8, ("b", "a"))
    consistent = {"hoodie.index.bucket.engine": "CONSISTENT_HASHING"}
    for other in ({}, {**bucket, "hoodie.index.type": "BLOOM"}, {**bucket, **consistent}):
        assert StatedBuckets.of(other) is None
    with pytest.raises(ph.HudiError, match=r"num\.buckets: expected a number from 1, got '0'"):
        StatedBuckets.of({**bucket, _NUMBER: "0"})


def test_other_engines_state_buckets_by_the_same_options() -> None:
    assert sorted(BUCKET_OPTIONS) == sorted(OF_BUCKETS)
