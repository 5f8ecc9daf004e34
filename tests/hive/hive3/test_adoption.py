"""Tables of Hudi's own sync (`hms` mode) in Hive 3.1, which does not find Hudi's input formats."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from devtools.hive_versions import HIVE_3
from devtools.matrix import Partitioning
from devtools.tables import TableType
from tests.hive.adoption.adopt_command import HUDI_MERGED, adopt_in, state
from tests.hive.adoption.hudi_sync import HudiSync, metastore_uri
from tests.hive.adoption.metastore_state import input_formats
from tests.hive.hive3.matrix_tables import Tables
from tests.hive.query_results import Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]


def test_a_server_without_hudis_classes_leaves_the_table_as_it_is(
    hive: Hive,
    tables: Tables,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = tables(TableType.MOR, 9, Partitioning.HIVE)
    uri = metastore_uri(hive.server, HIVE_3.lib, tmp_path_factory.mktemp("metastore-port"))
    sync, adopt = HudiSync(spark, hive.server, uri, "hms"), adopt_in(hive, capsys)
    hive.run("CREATE DATABASE lake")
    _, merged = sync.run(table.written, "lake")
    before = state(hive, merged)
    assert set(input_formats(before).values()) == {HUDI_MERGED}

    (failed,) = adopt(merged, code=1)
    assert failed["outcome"] == "failed"
    assert HUDI_MERGED in failed["message"]
    assert state(hive, merged) == before
