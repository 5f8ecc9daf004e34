"""A service's list of files that is not of the query's state of the table is not used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.service import ServiceProcess
from devtools.tables import HudiTable, TableSpec, create, delete
from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from tests.hive.query_results import Answer, Hive
from tests.service.running_server import running_server

pytestmark = [pytest.mark.hive, pytest.mark.spark]

Prune = Callable[[ttypes.PruneRequest], ttypes.PruneResponse]
FIRST, SECOND = (1, 10), (2, 20)


class _Handler(PruningService.Iface):
    def __init__(self, prune: Prune) -> None:
        self._prune = prune

    def prune(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        return self._prune(request)

    def info(self) -> ttypes.ServiceInfo:
        return ttypes.ServiceInfo(PROTOCOL_VERSION, "fake")


class Table:
    """A table of four rows in two files, and queries of two rows in one of the files."""

    def __init__(
        self, hive: Hive, service: ServiceProcess, frame: DataFrame, written: HudiTable
    ) -> None:
        self._hive = hive
        self._service = service
        self._frame = frame
        self._written = written
        self._name = hive.register(written)

    def query(self, prune: Prune | None = None) -> Answer:
        """Asks for the rows below 3 of a service that answers with `prune`."""
        with running_server(_Handler(prune or self.answer)) as fake:
            settings = {
                "hudi.pruning.service.addresses": f"127.0.0.1:{fake.port}",
                "hudi.pruning.timeout.ms": "60000",
            }
            return self._hive.query(
                f"SELECT id, v FROM {self._name} WHERE id < 3", settings=settings
            )

    def answer(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        """The real service's answer."""
        with self._service.client(60) as client:
            return client.send(request)

    def delete_first(self) -> None:
        """Delete a row, which rewrites its file."""
        delete(self._written, self._frame.where("id = 1"))


@pytest.fixture
def table(
    hive: Hive,
    spark: SparkSession,
    pruning_service: ServiceProcess,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Table:
    name = "".join(c if c.isalnum() else "_" for c in request.node.name).lower()
    rows = [FIRST, SECOND, (3, 30), (4, 40)]
    frame = spark.createDataFrame(rows, "id bigint, v bigint").repartitionByRange(2, "id")
    written = create(frame, TableSpec(name, stats_columns=("id", "v")), tmp_path)
    return Table(hive, pruning_service, frame, written)


def test_a_list_of_the_querys_state_is_used(table: Table) -> None:
    answer = table.query()
    assert answer.rows == [FIRST, SECOND]
    assert (answer.scan.outcomes, answer.scan.listings) == (("PRUNED",), ("BY_SERVICE",))
    assert answer.files == (2, 1)


def other_digest(kept: ttypes.KeptSlices) -> None:
    kept.timelineDigest = bytes(32)


def without_a_file(kept: ttypes.KeptSlices) -> None:
    kept.fileNames, kept.fileSizes = [], []


@pytest.mark.parametrize(
    ("change", "reason"), [(other_digest, "of another state"), (without_a_file, "is wrong")]
)
def test_a_list_that_does_not_fit_is_told_in_the_log(
    hive: Hive, table: Table, change: Callable[[ttypes.KeptSlices], None], reason: str
) -> None:
    """Files that Hudi lists are dropped then by what the answer proves."""

    def prune(request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        response = table.answer(request)
        if request.listKept:
            change(response.kept)
        return response

    log_start = len(hive.server.log())
    answer = table.query(prune)
    assert answer.rows == [FIRST, SECOND]
    assert (answer.scan.outcomes, answer.scan.listings) == (("PRUNED",), ("BY_HUDI_INSTEAD",))
    assert answer.files == (2, 1)
    logged = hive.server.log_until([reason], log_start).splitlines()
    assert len([line for line in logged if "Hudi lists them" in line and reason in line]) == 1


@pytest.mark.smoke
def test_an_older_list_is_not_used(table: Table) -> None:
    """It names a file that a commit has replaced since."""
    lists: list[ttypes.KeptSlices] = []

    def prune(request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        response = table.answer(request)
        if request.listKept:
            lists.append(response.kept)
            response.kept = lists[0]
        return response

    assert table.query(prune).scan.listings == ("BY_SERVICE",)
    table.delete_first()
    answer = table.query(prune)
    assert len(lists) == 2
    assert lists[0].fileNames != lists[1].fileNames
    assert answer.rows == [SECOND]
    assert answer.scan.listings == ("BY_HUDI_INSTEAD",)


def test_a_newer_list_is_not_used(table: Table) -> None:
    """A commit was completed after the query had opened the table, which it reads as it was."""

    def prune(request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        if request.listKept:
            table.delete_first()
        return table.answer(request)

    answer = table.query(prune)
    assert answer.rows == [FIRST, SECOND]
    assert answer.scan.listings == ("BY_HUDI_INSTEAD",)
    later = table.query()
    assert later.rows == [SECOND]
    assert later.scan.listings == ("BY_SERVICE",)


def test_a_service_that_does_not_know_the_field_lists_nothing(table: Table) -> None:
    def prune(request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        request.listKept = None
        return table.answer(request)

    answer = table.query(prune)
    assert answer.rows == [FIRST, SECOND]
    assert (answer.scan.outcomes, answer.scan.listings) == (("PRUNED",), ("BY_HUDI",))
    assert answer.files == (2, 1)
