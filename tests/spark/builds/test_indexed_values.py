"""The values of record keys, from the indexes of both homes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark.indexes import execute, indexed_values
from tests.index.prune.matching_slices import read

pytestmark = pytest.mark.spark

_COLUMNS = ("merchant_name", "txn_date", "is_international")


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table"))


def values(spark: SparkSession, table: Path, index: str) -> list[tuple[str, list[str | None]]]:
    found = indexed_values(spark, str(table), index).collect()
    return sorted((row["key"], list(row["values"])) for row in found)


def expected(
    spark: SparkSession, table: Path, columns: tuple[str, ...]
) -> list[tuple[str, list[str | None]]]:
    rows = read(spark, table).collect()
    return sorted((row["_hoodie_record_key"], [text(row[c]) for c in columns]) for row in rows)


def text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case date():
            return str((value - date(1970, 1, 1)).days)
    return str(value)


def test_hudis_entries_tell_the_values_of_keys(spark: SparkSession, table: Path) -> None:
    assert values(spark, table, "merchant_idx") == expected(spark, table, ("merchant_name",)) != []
    with pytest.raises(HudiError, match="record_index is no secondary index"):
        indexed_values(spark, str(table), "record_index")
    with pytest.raises(HudiError, match="there is no index 'none'"):
        indexed_values(spark, str(table), "none")


@pytest.mark.smoke
def test_the_extension_stores_the_values_of_keys(spark: SparkSession, table: Path) -> None:
    beside = "OPTIONS (store = 'extension', shards = 1)"
    execute(spark, f"CREATE INDEX three ON '{table}' ({', '.join(_COLUMNS)}) {beside}")
    execute(spark, f"CREATE INDEX one ON '{table}' (is_international) {beside}")
    assert values(spark, table, "three") == expected(spark, table, _COLUMNS)
    assert values(spark, table, "one") == expected(spark, table, _COLUMNS[2:])
