"""Tables of Hudi's own sync (`hms` mode) in Hive 3.1, which does not find Hudi's input formats."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from devtools.hive_versions import HIVE_3
from devtools.matrix import Partitioning
from devtools.tables import TableType
from tests.hive.adoption.adopt_command import HUDI_MERGED, OUR_MERGED, adopt_in, outcomes, state
from tests.hive.adoption.hudi_sync import HudiSync, metastore_uri
from tests.hive.adoption.metastore_state import input_formats
from tests.hive.hive3.matrix_tables import Tables
from tests.hive.query_results import Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

#: Hive 3.1 gives an input format its filter only with this.
PUSHED = {"hive.optimize.index.filter": "true"}


def test_synced_tables_are_adopted_before_and_after_another_sync(
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

    assert set(outcomes(adopt(merged)).values()) == {"changed"}
    for where in ("s = 'name_003_05'", "q = '1' AND ti < -5", "q = '3' OR id = 1001"):
        query = f"SELECT id, s, ts FROM {{}} WHERE {where}"
        answer = hive.query_both_ways(query.format(merged), settings=PUSHED)
        assert answer.rows == hive.query(query.format(table.name)).rows
    answer = hive.query_both_ways(f"SELECT id FROM {merged} WHERE id = 1001", settings=PUSHED)
    assert answer.files[1] < answer.files[0]

    sync.run(table.written, "lake")
    after_sync = input_formats(state(hive, merged))
    assert after_sync.pop("") == HUDI_MERGED
    assert set(after_sync.values()) == {OUR_MERGED}
    assert set(outcomes(adopt(merged)).values()) == {"changed"}
    assert set(outcomes(adopt(merged)).values()) == {"unchanged"}
    adopt(merged, "--undo")
    assert state(hive, merged) == before
