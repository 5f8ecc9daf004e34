"""`pruned` shows the same partition columns as Hudi's reader for Spark.

No file is dropped that has a matching row by the shown values or by the stored ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, Row, SparkSession

import pyhudi_expr as ph
from devtools.spark import session_settings
from devtools.tables import upsert
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.spark.query.dataframes import pruned
from pyhudi_expr.spark.query.predicates import predicate_of
from tests.marks import long
from tests.spark.query.partition_path_tables import (
    CORE,
    COW,
    FROM_PATHS,
    MORE,
    TEN_HOURS_AHEAD,
    TIMES,
    WITHOUT_STATISTICS,
    Spelled,
)

pytestmark = pytest.mark.spark

TABLES = [*CORE, *(long(table) for table in MORE)]


@dataclass(frozen=True)
class Written:
    """A table. shown: its rows as Hudi's reader shows them, by whether paths define the columns."""

    path: Path
    table: Spelled
    shown: Callable[[bool], DataFrame]


@pytest.fixture(scope="module")
def written(spark: SparkSession, table_root: Path) -> Callable[[Spelled], Written]:
    """The tables, each written at its first use."""

    @cache
    def path(name: str) -> Path:
        (table,) = (one for one in (*CORE, *MORE) if one.name == name)
        return table.write(spark, table_root).path

    def written(table: Spelled) -> Written:
        own = path(table.name)

        def shown(from_paths: bool) -> DataFrame:
            options = {FROM_PATHS: str(from_paths).lower()}
            return spark.read.format("hudi").options(**options).load(str(own))

        return Written(own, table, shown)

    return written


def predicates(table: Spelled, rows: list[Row]) -> list[str]:
    """Predicates on written and on shown values."""
    conditions = []
    for n, column in enumerate(table.fields):
        cells = [value.strip("()").split(", ")[n] for value in table.values]
        given = {cell for cell in cells if cell != "NULL"}
        if table.type != "string":
            given = {f"CAST({cell} AS {table.type})" for cell in given}
        shown = {literal(row[column]) for row in rows if isinstance(row[column], str)}
        for value in sorted(given | shown):
            conditions += [f"{column} {op} {value}" for op in ("=", "<>", "<")]
            conditions += [f"NOT {column} IN ({value}, NULL)"]
            if table.key != ("id",):
                conditions += [f"id = {row.id} AND {column} = {value}" for row in rows]
        conditions += [f"{column} < '2'", f"{column} >= '2'"]
        conditions += [f"{column} IS NULL", f"{column} IS NOT NULL", f"{column} = ''"]
        if table.type == "string":
            conditions += [f"{column} LIKE '{text}%'" for text in ("a", "__HIVE", "2024")]
            conditions += [f"length({column}) = 0", f"coalesce({column}, 'x') = 'x'"]
    return conditions


def literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def matches(
    spark: SparkSession, frame: DataFrame, conditions: list[str]
) -> Iterator[tuple[str, set[int]]]:
    """The ids for which Spark returns TRUE. The rows are not a table's, so no index is used."""
    local = spark.createDataFrame(frame.collect(), frame.schema)
    found = local.selectExpr("id", *(f"coalesce({text}, false)" for text in conditions)).collect()
    for n, text in enumerate(conditions):
        yield text, {row[0] for row in found if row[n + 1]}


def kept(path: Path, request: PruneRequest, pruner: Pruner, ids: dict[int, str]) -> set[int]:
    """The ids of the rows whose file group is kept."""
    result = pruner.prune(str(path), request)
    names = result.listing.slice_file_id.to_pylist()
    groups = {name for name, keep in zip(names, result.keep, strict=True) if keep}
    return {id_ for id_, group in ids.items() if group in groups}


def groups_of(path: Path, fields: tuple[str, ...]) -> tuple[dict[int, str], list[dict[str, Any]]]:
    """The file group of each row, and the rows as stored in the files."""
    pruner = Pruner()
    listing = pruner.prune(str(path), PruneRequest(parse_predicate("id >= 0"))).listing
    rows, found = [], {}
    for name in listing.paths(~listing.file_is_log):
        for row in pq.ParquetFile(path / name).read(["id", *fields]).to_pylist():
            rows.append(row)
            found[row["id"]] = Path(name).name.split("_")[0]
    return found, rows


@pytest.mark.smoke("plain-True")
@pytest.mark.parametrize("from_paths", [False, True])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_row_that_hudi_shows_is_lost(
    spark: SparkSession,
    written: Callable[[Spelled], Written],
    table: Spelled,
    from_paths: bool,
) -> None:
    one, pruner = written(table), Pruner()
    frame = one.shown(from_paths).select("id", *table.fields)
    groups, _ = groups_of(one.path, table.fields)
    lost = []
    for text, ids in matches(spark, frame, predicates(table, frame.collect())):
        of_spark = predicate_of(frame, text)
        reader = PartitionReader.ANY if from_paths else PartitionReader.HUDI_SPARK
        request = PruneRequest(of_spark.expression, semantics=of_spark.semantics, reader=reader)
        if missing := ids - kept(one.path, request, pruner, groups):
            lost.append((text, missing))
    assert not lost


@pytest.mark.smoke("keys-False")
@pytest.mark.parametrize("from_paths", [False, True])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_pruned_shows_what_hudi_shows(
    spark: SparkSession,
    written: Callable[[Spelled], Written],
    table: Spelled,
    from_paths: bool,
) -> None:
    one, pruner = written(table), Pruner()
    frame = one.shown(from_paths).select("id", *table.fields, "x")
    conditions = ["id >= 0", *predicates(table, frame.collect())]
    wanted = dict(matches(spark, frame, conditions))
    some = ["id >= 0", "p IS NULL", *conditions[1 :: max(1, len(conditions) // 6)]]
    with session_settings(spark, {FROM_PATHS: str(from_paths).lower()}):
        for text in some:
            found = pruned(spark, str(one.path), text, pruner=pruner).select(*frame.columns)
            assert [one[1] for one in found.dtypes] == [one[1] for one in frame.dtypes]
            expected_rows = {repr(row) for row in frame.collect() if row.id in wanted[text]}
            assert {repr(row) for row in found.collect()} == expected_rows, text


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_row_stored_in_the_files_is_lost(
    spark: SparkSession, written: Callable[[Spelled], Written], table: Spelled
) -> None:
    assert_no_stored_row_is_lost(spark, written(table).path, table)


def assert_no_stored_row_is_lost(spark: SparkSession, path: Path, table: Spelled) -> None:
    pruner = Pruner()
    groups, rows = groups_of(path, table.fields)
    types = ", ".join(f"{name} {table.type}" for name in table.fields)
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], f"id bigint, {types}")
    lost = []
    for text, ids in matches(spark, frame, predicates(table, [])):
        request = PruneRequest(
            parse_predicate(text, SPARK), semantics=here("UTC"), reader=PartitionReader.ENGINE
        )
        if missing := ids - kept(path, request, pruner, groups):
            lost.append((text, missing))
    assert not lost


@pytest.mark.parametrize("table", TIMES, ids=lambda table: table.name)
def test_times_without_statistics_are_found_by_the_paths_that_are_formatted_from_them(
    spark: SparkSession, tmp_path: Path, table: Spelled
) -> None:
    path = (
        replace(table, options={**table.options, **WITHOUT_STATISTICS}).write(spark, tmp_path).path
    )
    assert_no_stored_row_is_lost(spark, path, table)
    pruned = ph.table(path).prune(f"p = CAST({table.values[0]} AS {table.type})")
    assert pruned.partitions_kept == 1 < pruned.partitions_total


def test_a_later_writer_may_choose_the_zone_if_the_table_does_not_say_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its days begin ten hours earlier, and Hudi takes its rows."""
    table = TIMES[1]
    unsaid = {key: text for key, text in table.options.items() if not key.endswith("timezone")}
    first = replace(table, kind=COW, options={**unsaid, **WITHOUT_STATISTICS})
    later = replace(first, values=("1704239999999",), options={**first.options, **TEN_HOURS_AHEAD})
    written = first.write(spark, tmp_path)
    upsert(
        replace(written, spec=later.spec), later.rows(spark).selectExpr("id + 100 AS id", "p", "x")
    )
    assert_no_stored_row_is_lost(spark, written.path, table)
    assert_no_stored_row_is_lost(spark, written.path, later)


def test_hudi_refuses_another_zone_than_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    table = replace(TIMES[0], options={**TIMES[0].options, **WITHOUT_STATISTICS})
    written = table.write(spark, tmp_path)
    other = replace(table, options={**table.options, **TEN_HOURS_AHEAD})
    with pytest.raises(Py4JJavaError, match="Config conflict"):
        upsert(replace(written, spec=other.spec), other.rows(spark))
