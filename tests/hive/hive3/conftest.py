"""A HiveServer2 of Hive 3.1, and the tables in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.hive_versions import HIVE_3
from devtools.hiveserver import GUARDED, HiveServer
from devtools.matrix import Matrices, Partitioning
from devtools.service import ServiceProcess
from devtools.tables import TableType
from tests.hive.duckdb_rows import KnownRows
from tests.hive.expected_rows import ZONE
from tests.hive.hive3.matrix_tables import Table, Tables, id_of
from tests.hive.query_results import Hive


@pytest.fixture(scope="package")
def hive(
    pruning_service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hive]:
    scratch = tmp_path_factory.mktemp("scans-3")
    own = {"hive.execution.engine": "mr"}
    with (
        HiveServer(
            tmp_path_factory.mktemp("hive-3"), zone=ZONE, line=HIVE_3, settings=GUARDED
        ) as server,
        Hive(server, pruning_service, scratch, own) as running,
    ):
        yield running


@pytest.fixture(scope="package")
def tables(hive: Hive, matrices: Matrices) -> Tables:
    """Tables registered at their first use, by type, and optionally version and partitioning."""

    def get(
        type_: TableType, version: int = 9, partitioning: Partitioning = Partitioning.NONE
    ) -> Table:
        matrix = matrices.get(type_, version, partitioning)
        return Table(hive.register(matrix.table), matrix.table, KnownRows(ZONE, t=matrix.rows))

    return get


@pytest.fixture(scope="package", params=TableType, ids=id_of)
def type_(request: pytest.FixtureRequest) -> TableType:
    found: TableType = request.param
    return found


@pytest.fixture(scope="package")
def table(tables: Tables, type_: TableType) -> Table:
    return tables(type_)
