"""Ordinary queries of Hudi tables through the extension: rows of a full scan, of fewer files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.matrix import FILES, Matrices, Partitioning
from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, TableType, create
from tests.index.prune import predicates
from tests.index.prune.matching_slices import groups_with_matches
from tests.marks import long
from tests.spark.extension.conftest import UNPRUNED
from tests.spark.extension.scans import (
    ids,
    listed_bytes,
    load,
    matching_ids,
    plan_text,
    scans,
    shown,
    slices_read,
    whole,
)

pytestmark = pytest.mark.spark

COW, MOR = TableType.COW, TableType.MOR
EVERY = (*predicates.ALL, *predicates.ONLY_SPARK)
#: Hudi makes a path of the value, which is none.
REFUSED = ("p = 'x:y=z'",)
#: Hudi 1.2's own skipping loses rows for these, fails, or reads every file; with the files to read
#: at most.
SKIPPED = {
    "i = 3005": 1,
    "s LIKE 'name_01%'": 10,
    "u = '😀00110'": 6,
    "u LIKE '日本%'": 6,
    f"u = '{'x' * 200}00305'": 6,
    "d = CAST('NaN' AS double)": 12,
    "NOT (d < 30)": 16,
    "bin = X'0305FA'": 1,
    "st.a = 3005": 1,
    "b <=> NULL": 8,
    "dt BETWEEN DATE '1971-01-01' AND DATE '1971-02-01'": 2,
    "ts < TIMESTAMP '1970-01-01 00:00:00'": 1,
    "i IN (1, 7, 1005, 22007)": 3,
    "i IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)": 1,
    "dt IN (" + ", ".join(f"DATE '1970-02-{day:02d}'" for day in range(1, 15)) + ")": 2,
    "upper(s) = 'NAME_003_07'": 1,
}


def rows_of(frame: DataFrame, text: str) -> list[str]:
    return shown(frame.where(text))


@pytest.mark.parametrize(
    ("type_", "version", "partitioning"),
    [
        (COW, 9, Partitioning.NONE),
        (MOR, 9, Partitioning.NONE),
        long(COW, 9, Partitioning.SPECIAL),
        long(MOR, 9, Partitioning.LEVELS),
        long(COW, 6, Partitioning.HIVE),
        long(MOR, 6, Partitioning.NONE),
        long(MOR, 8, Partitioning.PLAIN),
    ],
)
@pytest.mark.parametrize("part", range(8))
def test_every_slice_with_a_matching_row_is_read(
    extended: SparkSession,
    matrices: Matrices,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    part: int,
) -> None:
    path = matrices.get(type_, version, partitioning).table.path
    chosen = [text for text in EVERY[part::8] if text not in REFUSED]
    with session_settings(extended, UNPRUNED):
        matching = groups_with_matches(whole(extended, path), chosen)
    skipping = 0
    for text, groups in matching.items():
        read = slices_read(load(extended, path).where(text))
        assert {file_id for _, file_id in groups} <= read, text
        skipping += len(read) < FILES
    assert skipping > len(chosen) / 2


@pytest.mark.long
@pytest.mark.parametrize("type_", [COW, MOR])
@pytest.mark.parametrize("part", range(8))
def test_rows_of_every_condition(
    extended: SparkSession, matrices: Matrices, type_: TableType, part: int
) -> None:
    path = matrices.get(type_).table.path
    chosen = [text for text in EVERY[part::8] if text not in REFUSED]
    with session_settings(extended, UNPRUNED):
        expected = matching_ids(whole(extended, path), chosen)
    for text, rows in expected.items():
        assert ids(load(extended, path).where(text)) == rows, text
    assert sum(map(bool, expected.values())) > len(chosen) / 2


@pytest.mark.parametrize("type_", [COW, MOR])
@pytest.mark.parametrize("texts", [tuple(SKIPPED)[::2], tuple(SKIPPED)[1::2]])
def test_rows_are_equal_and_files_are_skipped(
    extended: SparkSession, matrices: Matrices, type_: TableType, texts: Sequence[str]
) -> None:
    path = matrices.get(type_).table.path
    with session_settings(extended, UNPRUNED):
        expected = {text: rows_of(whole(extended, path), text) for text in texts}
    for text in texts:
        frame = load(extended, path).where(text)
        assert shown(frame) == expected[text], text
        # Updates have moved rows of every fourth file.
        assert len(slices_read(frame)) <= SKIPPED[text] + 8, text
        assert len(slices_read(frame)) < FILES, text


@pytest.mark.smoke("COPY_ON_WRITE-uri")
@pytest.mark.parametrize("spelled", [Path.as_posix, Path.as_uri], ids=["path", "uri"])
@pytest.mark.parametrize("type_", [COW, MOR])
def test_hudi_does_not_list_what_the_service_has_listed(
    extended: SparkSession, matrices: Matrices, type_: TableType, spelled: Callable[[Path], str]
) -> None:
    frame = load(extended, spelled(matrices.get(type_).table.path)).where("i = -4995")
    assert len(slices_read(frame)) == 1
    (scan,) = scans(frame)
    assert listed_bytes(scan) == 0


def test_explain_shows_files_and_bytes(extended: SparkSession, matrices: Matrices) -> None:
    frame = load(extended, matrices.get(COW).table.path)
    text = plan_text(frame.where("i = -4995"))
    assert f"Scan HudiFileGroup [pruning PRUNED, reads 1 of {FILES} files, 0." in text
    assert f", left out by column_stats {FILES - 1}]" in text
    assert "PrunedFileIndex" in text
    assert "pruning" not in plan_text(frame)  # nothing was asked
    nothing = plan_text(frame.where("length(reverse(s)) > 3"))
    assert f"pruning NOTHING_SKIPPED, reads {FILES} of {FILES} files" in nothing


def test_shapes_of_queries(extended: SparkSession, matrices: Matrices) -> None:
    path = matrices.get(COW).table.path
    load(extended, path).createOrReplaceTempView("matrix")
    queries = {
        "SELECT s FROM matrix WHERE i = -4995": 1,
        "SELECT count(*) FROM (SELECT i AS j, s FROM matrix WHERE i > -4990) WHERE j < -4000": 1,
        "SELECT a.s FROM matrix a JOIN matrix b ON a.id = b.id "
        "WHERE a.i = -4995 AND b.i < -4990": 2,
        "SELECT a.s FROM matrix a LEFT JOIN matrix b ON a.i = b.i AND b.i = -4995 "
        "WHERE a.i = -4994": 2,
        "SELECT count(*) FROM matrix WHERE i = -4995 UNION ALL "
        "SELECT count(*) FROM matrix WHERE i = -3995": 2,
        "WITH t AS (SELECT * FROM matrix WHERE i = -4995) "
        "SELECT * FROM t JOIN t AS u ON t.id = u.id": 2,
        "SELECT s FROM matrix WHERE i = -4995 AND id IN (SELECT max(id) FROM matrix "
        "WHERE i = -4995)": 1,
        "SELECT (SELECT max(i) FROM matrix WHERE i = -4995) AS x, "
        "(SELECT max(i) FROM matrix WHERE i = -3995) AS y, "
        "(SELECT min(i) FROM matrix WHERE i = -3995) AS z": 0,
        "SELECT s, row_number() OVER (ORDER BY i) FROM matrix WHERE i < -4990 LIMIT 3": 1,
        "SELECT * FROM (SELECT * FROM matrix LIMIT 5) WHERE i = -4995": FILES,
        "SELECT count(*) FROM matrix GROUP BY b HAVING max(i) = -4995": FILES,
        "SELECT s FROM matrix WHERE rand() < 2 AND i = -4995": 1,
        "SELECT s FROM matrix WHERE I = -4995": 1,
    }
    for query, most in queries.items():
        frame = extended.sql(query)
        read = len(slices_read(frame))
        assert read <= most, query
        if "LIMIT 5" in query:
            continue  # any five rows
        found = sorted(map(repr, frame.collect()))
        with session_settings(extended, UNPRUNED):
            whole(extended, path).createOrReplaceTempView("matrix")
            assert found == sorted(map(repr, extended.sql(query).collect())), query
        load(extended, path).createOrReplaceTempView("matrix")


def test_one_frame_with_other_conditions(extended: SparkSession, matrices: Matrices) -> None:
    frame = load(extended, matrices.get(MOR).table.path)
    one, other = frame.where("i = -4995"), frame.where("i = -3995")
    assert slices_read(one) != slices_read(other)
    assert one.union(other).count() == 2
    assert frame.where("i = -4995 OR i = -3995").count() == 2
    assert frame.count() == frame.where("id >= 0").count()
    cached = frame.where("i < 0").cache()
    assert cached.where("i = -4999").count() == 1
    assert cached.count() == frame.where("i < 0").count()
    cached.unpersist()
    assert len(one.inputFiles()) < FILES


@pytest.fixture(scope="module")
def buckets(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    """A table with eight buckets, whose properties do not say so."""
    extra = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "8"}
    spec = TableSpec("in_buckets", partitions=("p",), extra=extra, stats_columns=("x",))
    frame = spark.sql("select cast(id as int) as id, id as x, 'a' as p from range(500)")
    return create(frame, spec, tmp_path_factory.mktemp("buckets"))


@pytest.mark.smoke
def test_buckets_that_the_options_of_a_read_state(
    extended: SparkSession, buckets: HudiTable
) -> None:
    def asked(number: int) -> DataFrame:
        stated = {"hoodie__index__type": "BUCKET"}
        stated["hoodie__bucket__index__num__buckets"] = str(number)
        return whole(extended, buckets.path, **stated).where("id = 77")

    assert len(slices_read(whole(extended, buckets.path).where("id = 77"))) == 8
    assert len(slices_read(asked(8))) == 1
    assert len(slices_read(asked(5))) == 8
    assert ids(asked(8)) == [77]


def test_buckets_that_the_catalog_states(extended: SparkSession, buckets: HudiTable) -> None:
    stated = "'hoodie.index.type' = 'BUCKET', 'hoodie.bucket.index.num.buckets' = '8'"
    extended.sql(
        f"CREATE TABLE in_buckets USING hudi TBLPROPERTIES ({stated}) LOCATION '{buckets.path}'"
    )
    try:
        with session_settings(extended, {"hoodie.enable.data.skipping": "false"}):
            rows = extended.sql("SELECT * FROM in_buckets WHERE id = 77")
            assert len(slices_read(rows)) == 1
            assert [row["x"] for row in rows.collect()] == [77]
    finally:
        extended.sql("DROP TABLE in_buckets")
