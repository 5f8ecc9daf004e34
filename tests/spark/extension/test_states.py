"""Earlier states, changes and views of a table through the extension; services that fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.matrix import FILES, Matrices, Partitioning
from devtools.runtime import free_port
from devtools.spark import session_settings
from devtools.tables import TableSpec, TableType, create, upsert
from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.service.running_server import GatedHandler, running_server
from tests.spark.extension.conftest import UNPRUNED, pruned_by
from tests.spark.extension.scans import load, plan_text, shown, slices_read, whole

pytestmark = pytest.mark.spark

COW, MOR = TableType.COW, TableType.MOR
CONDITIONS = ("s LIKE 'updated%'", "d > 31", "p = 'p1' AND i < 5000")


@pytest.mark.parametrize("type_", [COW, MOR])
@pytest.mark.parametrize("partitioning", [Partitioning.NONE, Partitioning.HIVE])
def test_earlier_states_changes_and_the_read_optimized_view(
    extended: SparkSession, matrices: Matrices, type_: TableType, partitioning: Partitioning
) -> None:
    path = matrices.get(type_, partitioning=partitioning).table.path
    first, updates, _ = (write.requested for write in HudiTable.open(str(path)).timeline.writes)
    ways = {
        "as of the first commit": {"as__of__instant": first},
        "as of the updates": {"as__of__instant": updates},
        "read optimized": {"hoodie__datasource__query__type": "read_optimized"},
        "changes": {
            "hoodie__datasource__query__type": "incremental",
            "hoodie__datasource__read__begin__instanttime": first,
        },
        "all changes": {
            "hoodie__datasource__query__type": "incremental",
            "hoodie__datasource__read__begin__instanttime": "000",
        },
        "unmerged": {"hoodie__datasource__merge__type": "skip_merge"},
    }
    for way, options in ways.items():
        for text in CONDITIONS:
            frame = load(extended, path, **options).where(text)
            found = shown(frame)
            with session_settings(extended, UNPRUNED):
                assert found == shown(whole(extended, path, **options).where(text)), (way, text)
    old = load(extended, path, as__of__instant=first).where("i = -4995")
    assert len(slices_read(old)) == 1
    assert "pruning PRUNED, reads 1 of " in plan_text(old)
    bases = load(extended, path, hoodie__datasource__query__type="read_optimized")
    assert len(slices_read(bases.where("i = -4995"))) == 1


@pytest.mark.smoke
def test_what_is_written_meanwhile_is_read(extended: SparkSession, tmp_path: Path) -> None:
    frame = extended.createDataFrame([(n, f"t{n}") for n in range(8)], "id long, s string")
    table = create(frame.repartition(4, "id"), TableSpec("live"), tmp_path)
    before = load(extended, table.path).where("s = 'new'")
    assert before.count() == 0
    upsert(table, extended.createDataFrame([(3, "new")], "id long, s string"))
    assert load(extended, table.path).where("s = 'new'").count() == 1
    assert load(extended, table.path).where("s = 't3'").count() == 0
    assert load(extended, table.path).where("s = 't4'").count() == 1


@contextmanager
def by(spark: SparkSession, port: int, **settings: str) -> Iterator[None]:
    named = {f"spark.pyhudi.{name.replace('__', '.')}": value for name, value in settings.items()}
    with session_settings(spark, {**pruned_by(f"127.0.0.1:{port}"), **named}):
        yield


class OtherVersion(PruningService.Iface):
    def info(self) -> ttypes.ServiceInfo:
        return ttypes.ServiceInfo(protocolVersion=7, version="other")

    def prune(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        return ttypes.PruneResponse(
            protocolVersion=7,
            requestId=request.requestId,
            basePath=request.basePath,
            status=ttypes.PruneStatus.UNSUPPORTED_VERSION,
        )


def test_without_a_service_every_file_is_read(extended: SparkSession, matrices: Matrices) -> None:
    path = matrices.get(MOR).table.path
    text = "i = -4995 AND s > ''"
    with session_settings(extended, UNPRUNED):
        expected = shown(whole(extended, path).where(text))

    def check(outcome: str) -> None:
        frame = load(extended, path).where(text)
        assert shown(frame) == expected
        assert len(slices_read(frame)) == FILES
        assert f"pruning {outcome}, reads every file" in plan_text(frame)

    with by(extended, free_port()):
        check("UNREACHABLE")
    gated = GatedHandler()
    with running_server(gated) as slow, by(extended, slow.port, timeout__ms="300"):
        check("TIMED_OUT")
        gated.gate.set()
    with running_server(OtherVersion()) as other, by(extended, other.port):
        check("OTHER_VERSION")


def test_pruning_can_be_turned_off(extended: SparkSession, matrices: Matrices) -> None:
    path = matrices.get(COW).table.path
    frame = whole(extended, path)
    assert len(slices_read(frame.where("i = -4995"))) == 1
    with session_settings(extended, UNPRUNED):
        off = frame.where("i = -4995")
        assert len(slices_read(off)) == FILES
        assert off.count() == 1
        assert "pruning" not in plan_text(off)
