"""Tables that Hudi's own sync has registered, before, while and after they are adopted.

The rows are those of the metastore's partitions, as before, with pruning and without. Hudi's input
formats fail on Hive 4 with timestamps and structs, so comparisons with them read other columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from devtools.matrix import Matrices, Partitioning
from devtools.service import ServiceProcess
from devtools.tables import HudiTable, TableType
from pyhudi_expr.cli.main import main
from pyhudi_expr.manage.hive.doctor import EXPLAIN_HOOK
from tests.hive.adoption.adopt_command import (
    HUDI_BASE_FILES,
    HUDI_MERGED,
    OUR_BASE_FILES,
    OUR_MERGED,
    Adopt,
    outcomes,
    rows_by_hudi,
    state,
)
from tests.hive.adoption.hudi_sync import HudiSync
from tests.hive.adoption.metastore_state import State, input_formats
from tests.hive.query_results import FETCH, MR, TEZ, Hive
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

AS_NUMBER = {
    "hoodie.datasource.hive_sync.support_timestamp": "false",
    "hoodie.datasource.hive_sync.table": "as_numbers",
}


@dataclass(frozen=True)
class Synced:
    """A merge-on-read table of every type and the names of its views; partition q=3 is missing.

    Attributes:
        handled: The same table by the storage handler.
        before: The metastore before anything was adopted.
    """

    table: HudiTable
    merged: str
    base_files: str
    as_numbers: str
    handled: str
    before: Mapping[str, State]

    @property
    def names(self) -> tuple[str, str, str]:
        return self.merged, self.base_files, self.as_numbers


@pytest.fixture(scope="module")
def synced(hive: Hive, matrices: Matrices, hudi_sync: HudiSync, lake: str) -> Synced:
    """The metastore is stale: it does not know one of the partitions."""
    table = matrices.get(TableType.MOR, 9, Partitioning.HIVE).table
    base_files, merged = hudi_sync.run(table, lake)
    hudi_sync.run(table, lake, AS_NUMBER)
    as_numbers = f"{lake}.as_numbers"
    names = (merged, base_files, as_numbers)
    for name in names:
        hive.run(f"ALTER TABLE {name} DROP PARTITION (q='3')")
    before = {name: state(hive, name) for name in names}
    return Synced(table, merged, base_files, as_numbers, hive.register(table), before)


#: Each with the columns that Hudi's own readers can read on Hive 4.
PREDICATES = (
    *("s >= 'updated_'", "q = '1' AND ti < -5", "q = '3' OR id = 1001 OR dec9 < -700"),
    *("n IS NULL AND i > 20000", "`_hoodie_record_key` = '17003' OR q IS NULL"),
)
COLUMNS = "id, q, s, n, dec9"


def test_a_dry_run_changes_nothing(
    hive: Hive, synced: Synced, adopt: Adopt, capsys: pytest.CaptureFixture[str]
) -> None:
    adopt(*synced.names, "--undo")
    planned = adopt(*synced.names, "--dry-run")
    assert set(outcomes(planned).values()) == {"changed"}
    assert all(each["partitions"] == 3 for each in planned)
    server = ("--hs2", f"127.0.0.1:{hive.server.port}", "--auth", "NOSASL")
    capsys.readouterr()
    assert main(["hive", "adopt", *synced.names, "--dry-run", *server]) == 0
    assert capsys.readouterr().err.endswith("3 tables: 3 would change\n")
    assert {name: state(hive, name) for name in synced.names} == synced.before


def test_adopted_tables_return_the_same_rows_and_read_fewer_files(
    hive: Hive, synced: Synced, adopt: Adopt
) -> None:
    adopt(*synced.names, "--undo")
    select = f"SELECT {COLUMNS} FROM"
    queries = [
        *(f"{select} {synced.merged} WHERE {where}" for where in PREDICATES),
        *(f"{select} {synced.base_files} WHERE {where}" for where in PREDICATES[:2]),
    ]
    before = {query: rows_by_hudi(hive, query) for query in queries}

    assert set(outcomes(adopt(*synced.names)).values()) == {"changed"}
    assert set(input_formats(synced.before[synced.merged]).values()) == {HUDI_MERGED}
    assert set(input_formats(synced.before[synced.base_files]).values()) == {HUDI_BASE_FILES}
    assert set(input_formats(state(hive, synced.merged)).values()) == {OUR_MERGED}
    assert set(input_formats(state(hive, synced.base_files)).values()) == {OUR_BASE_FILES}
    again = adopt(*synced.names)
    assert set(outcomes(again).values()) == {"unchanged"}

    fewer = 0
    for query in queries:
        answer = hive.query_both_ways(query)
        assert answer.rows == before[query], query
        fewer += answer.files[1] < answer.files[0]
    assert fewer > len(queries) // 2


@pytest.mark.parametrize("engine", [long(FETCH), long(MR), TEZ])
def test_every_type_is_read_and_filtered(
    hive: Hive, synced: Synced, adopt: Adopt, engine: str
) -> None:
    adopt(*synced.names)
    for where in ("ts >= '1970-01-10'", "st.a = -1", "dt < '1969-12-25'", "arr IS NULL"):
        query = f"SELECT id, ts, st, bin, arr, m, dec38, q FROM {{}} WHERE {where}"
        answer = hive.query_both_ways(query.format(synced.merged), engine)
        handled = hive.query(f"{query.format(synced.handled)} AND q <> 3", engine)
        assert [str(row) for row in answer.rows] == [str(row) for row in handled.rows]


def test_instants_that_the_sync_declares_as_numbers_stay_numbers(
    hive: Hive, synced: Synced, adopt: Adopt
) -> None:
    micros = "ts >= 2422000000000 AND ts < 2424000000000"
    queries = [
        f"SELECT id, ts FROM {synced.as_numbers} WHERE {where}"
        for where in (micros, f"NOT ({micros})", "ts IN (5, 6)", "ts % 2 = 0 AND id < 3000")
    ]
    adopt(synced.as_numbers, "--undo")
    before = [rows_by_hudi(hive, query) for query in queries]
    adopt(synced.as_numbers)
    assert [hive.query_both_ways(query).rows for query in queries] == before
    assert before[0]
    assert before[1]


@pytest.mark.parametrize("engine", [FETCH, long(MR), long(TEZ)])
def test_explain_shows_what_the_scan_reads(
    hive: Hive, synced: Synced, adopt: Adopt, engine: str
) -> None:
    adopt(*synced.names)
    query = f"SELECT id FROM {synced.merged} WHERE s = 'name_003_05' AND q < '2'"
    answer = hive.query_both_ways(query, engine)
    assert answer.files[1] < answer.files[0]
    considered, kept = answer.files
    settings = {"hive.explain.user": "false", "hive.semantic.analyzer.hook": EXPLAIN_HOOK}
    plan = hive.query(f"EXPLAIN {query}", engine, settings=settings).rows
    shown = [str(row[0]).strip() for row in plan if "hudi.pruning" in str(row[0])]
    assert len(shown) == 1
    assert shown[0].startswith(f"hudi.pruning PRUNED, reads {kept} of {considered} files")
    assert shown[0].endswith("; Hive alone evaluates (q < 2)")
    assert hive.query(query, engine, settings=settings).rows == answer.rows


def test_the_doctor_recommends_to_adopt_and_probes_what_was_adopted(
    hive: Hive,
    synced: Synced,
    adopt: Adopt,
    pruning_service: ServiceProcess,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = ("--hs2", f"127.0.0.1:{hive.server.port}", "--auth", "NOSASL", "--json")
    service = ("--set", f"hudi.pruning.service.addresses={pruning_service.address}")

    def findings() -> dict[str, dict[str, str]]:
        capsys.readouterr()
        main(["hive", "doctor", str(synced.table.path), "--name", synced.merged, *server, *service])
        found = json.loads(capsys.readouterr().out)["findings"]
        return {each["link"]: each for each in found}

    adopt(synced.merged, "--undo")
    before = findings()
    assert before["registration"]["verdict"] == "failed"
    assert before["registration"]["remedy"] == f"pyhudi hive adopt {synced.merged}"
    assert before["probe"]["verdict"] == "skipped"

    adopt(synced.merged)
    after = findings()
    assert {each["verdict"] for each in after.values()} == {"ok"}
    assert "PRUNED" in after["probe"]["message"]

    hive.run(
        f"ALTER TABLE {synced.merged} PARTITION (q='1') SET FILEFORMAT"
        f" INPUTFORMAT 'org.apache.hudi.hadoop.realtime.{HUDI_MERGED}'"
        " OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat'"
        " SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'"
    )
    partly = findings()
    assert partly["registration"]["verdict"] == "warning"
    assert "2 of 3 partitions are pruned" in partly["registration"]["message"]
    assert partly["registration"]["remedy"] == f"pyhudi hive adopt {synced.merged}"


def test_undoing_restores_what_the_metastore_held(hive: Hive, synced: Synced, adopt: Adopt) -> None:
    adopt(*synced.names)
    undone = adopt(*synced.names, "--undo")
    assert set(outcomes(undone).values()) == {"changed"}
    assert {name: state(hive, name) for name in synced.names} == synced.before
    twice = adopt(*synced.names, "--undo")
    assert set(outcomes(twice).values()) == {"skipped"}
    assert "not adopted" in twice[0]["message"]
