"""Tables that Hudi's bucket index laid out: no row is lost, whatever number is stated."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, TableType, create, upsert
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.spark.query.dataframes import prune_table
from pyhudi_expr.tables.properties import BucketEngine, StatedBuckets
from tests.index.prune.matching_slices import groups, groups_with_matches, read, request

pytestmark = pytest.mark.spark

_ROWS = 400
_COLUMNS = {
    "id": "cast(id as int)",
    "wide": "id * 7919 - 900000",
    "t": "'key ' || id || if(id % 5 = 0, 'é😀', '')",
    # The releases of Hudi hash these differently.
    "odd": "case id % 4 when 0 then 'a:' || id when 1 then 'b,' || id else 'c' || id end",
    "x": "cast(hash(id) as int)",
    "o": "1L",
    "p": "'p' || (id % 2)",
}


@dataclass(frozen=True)
class Case:
    """A table, its number of buckets, and the hashed columns if they are not all of the key."""

    spec: TableSpec
    number: int
    hashed: tuple[str, ...] = ()
    writer: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def stated(self) -> StatedBuckets:
        stated = StatedBuckets.of(self.options())
        assert stated is not None
        return stated

    def options(self) -> dict[str, str]:
        found = {
            "hoodie.index.type": "BUCKET",
            "hoodie.bucket.index.num.buckets": str(self.number),
        }
        if self.hashed:
            found["hoodie.bucket.index.hash.field"] = ",".join(self.hashed)
        return {**found, **self.writer}


def _spec(name: str, *key: str, **more: object) -> TableSpec:
    spec = TableSpec(name, TableType.COW, 9, key, "o", ("p",))
    return replace(spec, **more)


_COMPLEX = {
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator"
}
_CONSISTENT = {
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.clustering.plan.strategy.class": "org.apache.hudi.client.clustering.plan.strategy."
    "SparkConsistentBucketClusteringPlanStrategy",
    "hoodie.clustering.execution.strategy.class": "org.apache.hudi.client.clustering.run.strategy."
    "SparkConsistentBucketClusteringExecutionStrategy",
    "hoodie.clustering.updates.strategy": "org.apache.hudi.client.clustering.update.strategy."
    "SparkConsistentBucketDuplicateUpdateStrategy",
    "hoodie.bucket.index.max.num.buckets": "16",
    "hoodie.parquet.max.file.size": "1000",  # each bucket is split
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "1",
}
_CASES = [
    Case(_spec("texts", "t"), 4),
    Case(_spec("numbers", "wide", partitions=(), version=6), 12),
    Case(_spec("named", "id", type=TableType.MOR), 5, writer=_COMPLEX),
    Case(_spec("several", "id", "t", "wide", type=TableType.MOR), 8, ("wide", "t")),
    Case(_spec("some", "id", "wide", "o"), 7, ("wide",)),
    Case(_spec("odd", "odd", "id", version=8, stats_columns=None), 6, ("odd",)),
    Case(
        *(_spec("by_partition", "wide"), 4),
        writer={"hoodie.bucket.index.partition.expressions": "p=p0,3;p=p1,7"},
    ),
    Case(_spec("ring", "t", type=TableType.MOR), 4, writer=_CONSISTENT),
    Case(
        _spec("ring_of_some", "id", "wide", "o", type=TableType.MOR, partitions=(), version=6),
        *(4, ("wide",), _CONSISTENT),
    ),
]


def _values(spark: SparkSession, column: str, ids: Sequence[int]) -> list[str]:
    texts = ", ".join(map(str, ids))
    frame = spark.sql(
        f"select id as n, {_COLUMNS[column]} as v from range({_ROWS}) where id in ({texts})"
    )
    found = {row["n"]: row["v"] for row in frame.collect()}
    return [repr(found[each]) for each in ids]


def _predicates(spark: SparkSession, columns: Sequence[str]) -> list[str]:
    chosen = random.Random(7).sample(range(_ROWS), 24)
    values = [_values(spark, column, chosen) for column in columns]
    rows = list(zip(*values, strict=True))
    of_rows = [
        " AND ".join(f"{column} = {value}" for column, value in zip(columns, row, strict=True))
        for row in rows
    ]
    lists = " AND ".join(
        f"{column} IN ({', '.join(of_column[:3])})"
        for column, of_column in zip(columns, values, strict=True)
    )
    return [*of_rows, lists, f"({of_rows[0]}) OR ({of_rows[1]})", f"({of_rows[2]}) AND x <> 1"]


@pytest.mark.smoke("several")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.spec.name)
def test_rows_are_in_the_file_groups_that_are_kept(
    spark: SparkSession, tmp_path: Path, case: Case
) -> None:
    columns = ", ".join(f"{text} as {name}" for name, text in _COLUMNS.items())
    frame = spark.sql(f"select {columns} from range({_ROWS})")
    table = create(frame, replace(case.spec, extra=case.options()), tmp_path)
    upsert(table, frame.where("id % 3 = 0").withColumn("x", -frame.x))
    predicates = _predicates(spark, case.hashed or case.spec.key)
    matching = groups_with_matches(read(spark, table.path), predicates)
    assert all(matching.values())
    pruner = Pruner()

    def kept(text: str, stated: StatedBuckets | None) -> set[tuple[str, str]]:
        return groups(pruner.prune(str(table.path), replace(request(text), buckets=stated)))

    fewer = 0
    for text in predicates:
        found = kept(text, case.stated)
        assert matching[text] <= found
        fewer += found < kept(text, None)
        for number in (1, 2, 3, 4, 7, case.number * 2, case.number * 3, 256):
            if case.stated.number is None:
                continue
            of_number = kept(text, replace(case.stated, number=number))
            assert matching[text] <= of_number
            assert number % case.number == 0 or of_number == kept(text, None)
    assert fewer > len(predicates) // 3
    if case.stated.engine is BucketEngine.CONSISTENT_HASHING:
        changes = {file.name for file in table.path.glob(".hoodie/**/*.hashing_meta")}
        assert len(changes) > 1, "no range was split"


def test_a_text_beside_the_hashed_column_has_to_be_held_to_a_value(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = Case(_spec("beside", "t", "id"), 4, ("id",))
    columns = ", ".join(f"{text} as {name}" for name, text in _COLUMNS.items())
    frame = spark.sql(f"select {columns} from range({_ROWS})")
    table = create(frame, replace(case.spec, extra=case.options()), tmp_path)

    def skipped(text: str) -> int:
        asked = replace(request(text), buckets=case.stated)
        return Pruner().prune(str(table.path), asked).dropped_by.get("buckets", 0)

    assert skipped("id = 205 AND t = 'key 205é😀'")
    assert not skipped("id = 205")


def test_a_session_states_the_buckets_of_the_tables_that_it_reads(
    spark: SparkSession, flink: Mapping[str, Path]
) -> None:
    table = str(flink["mor_bucket"])
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    assert "buckets" not in prune_table(spark, table, "id = 3").result.dropped_by
    for name, text in options.items():
        spark.conf.set(name, text)
    try:
        found = prune_table(spark, table, "id = 3")
        assert found.result.dropped_by["buckets"]
        assert [row["id"] for row in found.frame.collect()] == [3]
    finally:
        for name in options:
            spark.conf.unset(name)
