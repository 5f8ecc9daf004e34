"""For a random condition p, Hive's rows for p, NOT p and p IS NULL are together all rows of the
table.

No expected answer is needed: a row that pruning loses is missing from all three. If the three are
incomplete without pruning as well, that is Hive's own behaviour; pruning must not lose more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableType
from tests.hive.query_results import TEZ, Hive
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
    asked = Conditions(hive, spark, tmp_path, name, zones, tasks=TEZ)
    assert_covered(asked, 1500, type_.name)
