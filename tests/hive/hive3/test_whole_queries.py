"""Hive 3.1's rows for a random condition, its negation and its NULLs are all rows of the table.

As `tests.hive.test_whole_queries` shows for Hive 4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableType
from tests.hive.query_results import MR, Hive
from tests.hive.whole_queries import Conditions, assert_covered, written_tables
from tests.truth.zones import Zones

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.timeout(7200, func_only=True)]


@pytest.fixture(scope="module")
def whole_tables(
    spark: SparkSession, zones: Zones, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[TableType, HudiTable]:
    return written_tables(spark, tmp_path_factory.mktemp("whole"), zones)


@pytest.mark.long
@pytest.mark.parametrize("type_", TableType, ids=lambda type_: type_.name.lower())
def test_a_condition_its_negation_and_its_nulls_cover_all_rows(
    hive: Hive,
    spark: SparkSession,
    whole_tables: Mapping[TableType, HudiTable],
    zones: Zones,
    tmp_path: Path,
    type_: TableType,
) -> None:
    name = hive.register(whole_tables[type_])
    asked = Conditions(hive, spark, tmp_path, name, zones, tasks=MR)
    assert_covered(asked, 300, type_.name)
