"""An answer of the service is used again for the same question about the same state, and no other.

The rows are those of a query without pruning, whatever happened to the table in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.service import ServiceProcess
from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.tables.hudi_table import HudiTable as OpenTable
from tests.hive.query_results import FETCH, MR, TEZ, Hive, Rows
from tests.index.prune.changes.test_long_lived_pruner import call_procedure
from tests.marks import long
from tests.service.running_server import running_server

pytestmark = [pytest.mark.spark, pytest.mark.hive]

FILES, ROWS = 4, 80
FOUND = "v BETWEEN 20 AND 24"
"""Rows of one file at first, and no row of the others."""
AT_FIRST = [(id_, id_) for id_ in range(20, 25)]
SERVICE, CACHE = ("BY_SERVICE",), ("BY_CACHE",)


def some(spark: SparkSession, ids: range, value: str, files: int = 1) -> DataFrame:
    return spark.range(ids.start, ids.stop, ids.step, files).selectExpr(
        "id", f"int({value}) AS v", "concat('p', int(id / 40)) AS p"
    )


@pytest.fixture(params=[TableType.COW, long(TableType.MOR)], ids=lambda type_: type_.name.lower())
def table(
    request: pytest.FixtureRequest, hive: Hive, spark: SparkSession, table_root: Path
) -> HudiTable:
    """A table of its own, in Spark's catalogue and in Hive."""
    extra = {"hoodie.metadata.compact.max.delta.commits": "2"}
    name = f"repeated_{request.param.name.lower()}"
    spec = TableSpec(name, request.param, partitions=("p",), extra=extra)
    written = create(some(spark, range(ROWS), "id", FILES), spec, table_root)
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{written.path}'")
    hive.register(written)
    return written


def rows(hive: Hive, table: HudiTable, where: str = FOUND) -> tuple[Rows, tuple[str, ...]]:
    """The rows of a query, and where its answer is from; compared with the rows of all files."""
    answer = hive.query_both_ways(f"SELECT id, v FROM {table.name} WHERE {where}")
    assert answer.scan.outcomes == ("PRUNED",)
    assert answer.scan.files_kept < answer.scan.files_considered
    return answer.rows, answer.scan.answers


def test_every_change_of_the_table_makes_another_question(
    hive: Hive, spark: SparkSession, table: HudiTable
) -> None:
    assert rows(hive, table) == (AT_FIRST, SERVICE)
    assert rows(hive, table) == (AT_FIRST, CACHE)

    # A file that could be skipped gets a row, and the row that was found leaves.
    upsert(table, some(spark, range(70, 71), "22"))
    upsert(table, some(spark, range(22, 23), "700"))
    changed = sorted({*AT_FIRST, (70, 22)} - {(22, 22)}, key=repr)
    assert rows(hive, table) == (changed, SERVICE)
    assert rows(hive, table) == (changed, CACHE)

    newest = OpenTable.open(table.uri).instant
    call_procedure(
        spark, f"rollback_to_instant(table => '{table.name}', instant_time => '{newest}')", table
    )
    rolled_back = sorted([*AT_FIRST, (70, 22)], key=repr)
    assert rows(hive, table) == (rolled_back, SERVICE)
    assert rows(hive, table) == (rolled_back, CACHE)

    # A new partition, and one that is replaced: all of its files are others.
    upsert(table, some(spark, range(90, 91), "23"))
    assert rows(hive, table)[0] == sorted([*rolled_back, (90, 23)], key=repr)
    overwriting = {"hoodie.datasource.write.operation": "insert_overwrite"}
    write = some(spark, range(20, 22), "id").write.format("hudi")
    write.options(**table.spec.options()).options(**overwriting).mode("append").save(table.uri)
    replaced_rows = sorted([(20, 20), (21, 21), (70, 22), (90, 23)], key=repr)
    assert rows(hive, table) == (replaced_rows, SERVICE)
    assert rows(hive, table) == (replaced_rows, CACHE)

    if table.spec.type is TableType.MOR:
        at_once = "options => 'hoodie.compact.inline.max.delta.commits=1'"
        for step in ("schedule", "run"):
            call_procedure(
                spark, f"run_compaction(op => '{step}', path => '{table.uri}', {at_once})", table
            )
            assert rows(hive, table) == (replaced_rows, SERVICE)
            assert rows(hive, table) == (replaced_rows, CACHE)
        return
    writes = len(OpenTable.open(table.uri).timeline.writes)
    call_procedure(spark, f"run_clean(table => '{table.name}', retain_commits => 1)", table)
    call_procedure(
        spark,
        f"archive_commits(table => '{table.name}', min_commits => 2, max_commits => 3,"
        " retain_commits => 1, enable_metadata => true)",
        table,
    )
    assert len(OpenTable.open(table.uri).timeline.writes) < writes
    assert rows(hive, table) == (replaced_rows, SERVICE)
    assert rows(hive, table) == (replaced_rows, CACHE)


@pytest.mark.smoke
def test_other_predicates_and_views_are_other_questions(hive: Hive, table: HudiTable) -> None:
    assert rows(hive, table, "v = 21") == ([(21, 21)], SERVICE)
    assert rows(hive, table, "v = 31") == ([(31, 31)], SERVICE)
    assert rows(hive, table, "v = 21") == ([(21, 21)], CACHE)
    query = f"SELECT id, v FROM {table.name} WHERE v = 21"
    if table.spec.type is TableType.MOR:
        base_files = {"hudi.view": "read_optimized"}
        assert hive.query(query, settings=base_files).scan.answers == SERVICE
    assert hive.query(query, settings={"hudi.pruning.cache.ms": "0"}).scan.answers == SERVICE


class _Recorder(PruningService.Iface):
    """Passes requests on to a service, and keeps those with a predicate."""

    def __init__(self, service: ServiceProcess) -> None:
        self._service = service
        self.questions: list[ttypes.PruneRequest] = []

    def prune(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        if request.filter[-1].kind != ttypes.NodeKind.CONSTANT:
            self.questions.append(request)
        with self._service.client(20) as client:
            return client.send(request)


@contextmanager
def recording(service: ServiceProcess) -> Iterator[tuple[_Recorder, dict[str, str]]]:
    """A service that records requests, and the settings that name it."""
    recorder = _Recorder(service)
    with running_server(recorder) as server:
        address = {"hudi.pruning.service.addresses": f"127.0.0.1:{server.port}"}
        yield recorder, {**address, "hudi.pruning.timeout.ms": "20000"}


def test_one_request_serves_explain_and_the_queries_of_every_engine(
    hive: Hive, table: HudiTable, pruning_service: ServiceProcess
) -> None:
    query = f"SELECT id, v FROM {table.name} WHERE {FOUND}"
    with recording(pruning_service) as (recorder, settings):
        plan = hive.query(f"EXPLAIN {query}", settings=settings).rows
        assert not any("as asked before" in row[0] for row in plan)
        assert len(recorder.questions) == 1
        for engine in (FETCH, MR, TEZ):
            answer = hive.query(query, engine, settings=settings)
            assert (answer.rows, answer.scan.answers) == (AT_FIRST, CACHE)
        plan = hive.query(f"EXPLAIN {query}", settings=settings).rows
        assert any("as asked before" in row[0] for row in plan)
        assert len(recorder.questions) == 1


def test_a_failure_is_not_kept(
    hive: Hive, table: HudiTable, pruning_service: ServiceProcess
) -> None:
    query = f"SELECT id, v FROM {table.name} WHERE {FOUND}"
    with recording(pruning_service) as (recorder, settings):
        real, recorder.prune = recorder.prune, _failed  # type: ignore[method-assign]
        failed = hive.query(query, settings=settings)
        assert (failed.rows, failed.scan.outcomes) == (AT_FIRST, ("SERVICE_FAILED",))
        assert failed.scan.answers == ("NONE",)
        recorder.prune = real  # type: ignore[method-assign]
        assert hive.query(query, settings=settings).scan.answers == SERVICE


def _failed(request: ttypes.PruneRequest) -> ttypes.PruneResponse:
    return ttypes.PruneResponse(
        request.protocolVersion, request.requestId, request.basePath, ttypes.PruneStatus.FAILED
    )
