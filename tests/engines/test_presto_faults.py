"""Presto with the example plugin finds every row, whatever happens to the service or the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.matrix import FILES, SCHEMA, Matrix, Partitioning, write_matrix
from devtools.tables import TableType, upsert
from pyhudi_expr.protocol.generated.ttypes import (
    PruneRequest,
    PruneResponse,
    PruneStatus,
    VerdictKind,
)
from tests.engines.conditions import expected_ids
from tests.engines.conftest import PrestoTables
from tests.engines.engine_queries import ON, Ids
from tests.engines.meddling_service import MeddlingHandler

pytestmark = pytest.mark.engines

CONDITION = "i = 3005"
SUFFIX = {TableType.COW: "", TableType.MOR: "_rt"}


@pytest.fixture
def ask(presto: PrestoTables, presto_matrices: Mapping[TableType, Matrix]) -> Callable[[str], Ids]:
    """A query in a catalog, whose rows are the expected ones."""
    matrix = presto_matrices[TableType.COW]

    def run(catalog: str) -> Ids:
        found = presto.queries.ids(f"{catalog}.default.{matrix.table.name}", CONDITION)
        assert found.ids == expected_ids(matrix.rows, CONDITION)
        return found

    return run


def test_without_a_service_every_split_is_read(ask: Callable[[str], Ids]) -> None:
    found = ask("down")
    assert found.counted("ScansUNREACHABLE") == 1
    assert found.counted("SplitsDropped") == 0


def _fails(request: PruneRequest, response: PruneResponse) -> None:
    response.status, response.message = PruneStatus.FAILED, "it does not feel well"


def _refuses(request: PruneRequest, response: PruneResponse) -> None:
    response.status, response.message = PruneStatus.NOT_PRUNED, "nothing is known"


def _is_about_another_table(request: PruneRequest, response: PruneResponse) -> None:
    response.basePath = "/another"


def _is_for_another_query(request: PruneRequest, response: PruneResponse) -> None:
    response.requestId = "another"


def _says_two_things(request: PruneRequest, response: PruneResponse) -> None:
    response.verdicts += response.verdicts[:1]


def _is_of_another_version(request: PruneRequest, response: PruneResponse) -> None:
    response.protocolVersion += 1


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (_fails, "SERVICE_FAILED"),
        (_refuses, "NOTHING_PROVED"),
        (_is_about_another_table, "WRONG_ANSWER"),
        (_is_for_another_query, "WRONG_ANSWER"),
        (_says_two_things, "WRONG_ANSWER"),
        (_is_of_another_version, "OTHER_VERSION"),
    ],
)
def test_an_answer_that_is_none_excludes_nothing(
    ask: Callable[[str], Ids],
    service: MeddlingHandler,
    change: Callable[[PruneRequest, PruneResponse], None],
    outcome: str,
) -> None:
    def answer(request: PruneRequest) -> PruneResponse:
        response = service.true_answer(request)
        change(request, response)
        return response

    with service.answering(answer):
        found = ask("pyhudi")
    assert found.counted(f"Scans{outcome}") == 1
    assert found.counted("SplitsDropped") == 0


def test_a_verdict_on_another_listing_excludes_nothing(
    ask: Callable[[str], Ids], service: MeddlingHandler
) -> None:
    kinds = []

    def answer(request: PruneRequest) -> PruneResponse:
        response = service.true_answer(request)
        for verdict in response.verdicts:
            kinds.append(verdict.kind)
            # Without the digest of the caller's own listing this would drop every file.
            verdict.kind, verdict.tokens = VerdictKind.DROP_LISTED, None
            verdict.digest = bytes(32)
        return response

    with service.answering(answer):
        found = ask("pyhudi")
    assert set(kinds) == {VerdictKind.KEEP_TOKENS, VerdictKind.DROP_LISTED}
    assert found.counted("ScansPRUNED") == 1
    assert found.counted("SplitsDropped") == 0


@dataclass(frozen=True)
class ChangingTable:
    """A table of one test. Row 8005 has the value 3005 in `i`; file 11 is in the same partition."""

    spark: SparkSession
    presto: PrestoTables
    matrix: Matrix
    database: str

    def ids(self, catalog: str = "pyhudi") -> Ids:
        table = self.matrix.table
        name = f"{catalog}.{self.database}.{table.name}{SUFFIX[table.spec.type]}"
        return self.presto.queries.ids(name, CONDITION, ON if catalog == "pyhudi" else {})

    def commit(self, values: Mapping[int, int]) -> None:
        """Set `i` of rows, by id."""
        rows = {row["id"]: row for row in self.matrix.rows}
        changed = [{**rows[key], "i": value} for key, value in values.items()]
        tuples = [tuple(row[name] for name in SCHEMA.names) for row in changed]
        frame = self.spark.createDataFrame(self.spark.sparkContext.parallelize(tuples, 1), SCHEMA)
        upsert(self.matrix.table, frame)


@pytest.fixture(params=TableType, ids=lambda type_: str(type_.name))
def changing(
    request: pytest.FixtureRequest, presto: PrestoTables, spark: SparkSession, tmp_path: Path
) -> ChangingTable:
    """A table that the test changes, in a database of its own."""
    matrix = write_matrix(
        spark, tmp_path, type=request.param, version=6, partitioning=Partitioning.HIVE
    )
    database = re.sub(r"\W+", "_", request.node.name).lower()
    presto.register(matrix.table, database)
    return ChangingTable(spark, presto, matrix, database)


def test_a_commit_between_the_listing_and_the_question(
    changing: ChangingTable, service: MeddlingHandler
) -> None:
    def answer(request: PruneRequest) -> PruneResponse:
        # Presto has listed the files. In the new state no file has the value any more.
        changing.commit({8005: -1})
        return service.true_answer(request)

    with service.answering(answer):
        found = changing.ids()
    assert found.counted("ScansPRUNED") == 1
    assert found.ids == [8005]
    assert changing.ids().ids == changing.ids("hudi").ids == []


def test_an_answer_about_an_earlier_state(
    changing: ChangingTable, service: MeddlingHandler
) -> None:
    earlier: list[PruneResponse] = []

    def remember(request: PruneRequest) -> PruneResponse:
        earlier.append(service.true_answer(request))
        return earlier[0]

    def repeat(request: PruneRequest) -> PruneResponse:
        earlier[0].requestId = request.requestId
        return earlier[0]

    with service.answering(remember):
        found = changing.ids()
    assert found.ids == [8005]
    assert found.counted("SplitsDropped") > FILES / 2
    # Another file of the partition gets the value.
    changing.commit({11001: 3005})
    with service.answering(repeat):
        found = changing.ids()
    assert found.counted("ScansPRUNED") == 1
    assert found.ids == [8005, 11001]
    assert changing.ids().ids == changing.ids("hudi").ids == [8005, 11001]
