"""Fixtures of Presto and Trino with the example plugins, all of them real."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import partition_paths
from devtools.engines.server import PRESTO, TRINO, EngineServer
from devtools.engines.sync import sync
from devtools.matrix import Matrices, Matrix, Partitioning
from devtools.metastore import MetastoreServer
from devtools.runtime import free_port
from devtools.tables import HudiTable, TableType
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
from tests.engines.engine_queries import Queries
from tests.engines.meddling_service import MeddlingHandler
from tests.service.running_server import running_server


@pytest.fixture(scope="session")
def service() -> MeddlingHandler:
    """The service of both engines."""
    return MeddlingHandler(PruningHandler(Pruner(), ServiceSettings()))


@pytest.fixture(scope="session")
def address(service: MeddlingHandler) -> Iterator[str]:
    with running_server(service) as server:
        yield f"127.0.0.1:{server.port}"


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of a Hive metastore."""
    with MetastoreServer(tmp_path_factory.mktemp("metastore")) as server:
        yield server.uris


def _services(properties: Mapping[str, str], address: str) -> Mapping[str, Mapping[str, str]]:
    """Two catalogs: with the service, and with one that is down."""
    ours = {**properties, "connector.name": "pyhudi", "pyhudi.timeout-ms": "60000"}
    return {
        "pyhudi": {**ours, "pyhudi.service-addresses": address},
        "down": {**ours, "pyhudi.service-addresses": f"127.0.0.1:{free_port()}"},
    }


@dataclass(frozen=True)
class PrestoTables:
    """Registers tables as Hudi does, in the metastore of a Presto."""

    queries: Queries
    spark: SparkSession
    metastore: str

    def register(self, table: HudiTable, database: str = "default") -> None:
        """Registers a table, or its new partitions."""
        sync(self.spark, table, self.metastore, database)


@pytest.fixture(scope="session")
def presto(
    address: str, metastore: str, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PrestoTables]:
    """Presto. Its catalog `hudi` is its own connector."""
    hudi = {"hive.metastore.uri": metastore, "hive.parquet.use-column-names": "true"}
    catalogs = {"hudi": {**hudi, "connector.name": "hudi"}, **_services(hudi, address)}
    with EngineServer(PRESTO, tmp_path_factory.mktemp("presto"), catalogs) as server:
        yield PrestoTables(Queries(server.client), spark, metastore)


@pytest.fixture(scope="session")
def presto_matrices(presto: PrestoTables, matrices: Matrices) -> Mapping[TableType, Matrix]:
    """Tables of the newest version that Presto's Hudi reads, with partitions."""
    found = {type_: matrices.get(type_, 6, Partitioning.HIVE) for type_ in TableType}
    for matrix in found.values():
        presto.register(matrix.table)
    return found


@dataclass(frozen=True)
class TrinoTables:
    """Registers tables in the metastore of a Trino."""

    queries: Queries

    def register(self, table: HudiTable, schema: str = "lake") -> None:
        """Registers a table of the matrix as Parquet files in partitions."""
        run = self.queries.client.run
        run(
            f"CREATE TABLE pyhudi.{schema}.{table.name} (id bigint, b boolean, ti integer,"
            " i integer, l bigint, f real, d double, dec9 decimal(9, 2), dec38 decimal(38, 10),"
            " s varchar, u varchar, dt date, ts timestamp,"
            " st row(a integer, b varchar, c row(d double, e date)), n integer, none integer,"
            " q integer) WITH (format = 'PARQUET', partitioned_by = ARRAY['q'],"
            f" external_location = 'local://{table.path}')"
        )
        for partition in partition_paths(table):
            value = partition.removeprefix("q=")
            run(
                f"CALL pyhudi.system.register_partition('{schema}', '{table.name}', ARRAY['q'],"
                f" ARRAY['{value}'], 'local://{table.path}/{partition}')"
            )


@pytest.fixture(scope="session")
def trino(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrinoTables]:
    """Trino. Its catalog `hive` is its own connector."""
    run_dir = tmp_path_factory.mktemp("trino")
    hive = {
        "hive.metastore": "file",
        "hive.metastore.catalog.dir": f"file://{run_dir}/metastore",
        "fs.native-local.enabled": "true",
        "local.location": "/",
        "hive.metastore-cache-ttl": "0s",
        "hive.allow-register-partition-procedure": "true",
    }
    catalogs = {"hive": {**hive, "connector.name": "hive"}, **_services(hive, address)}
    with EngineServer(TRINO, run_dir, catalogs) as server:
        server.client.run("CREATE SCHEMA pyhudi.lake")
        yield TrinoTables(Queries(server.client))


@pytest.fixture(scope="session")
def trino_matrix(trino: TrinoTables, matrices: Matrices) -> Matrix:
    """A copy-on-write table with partitions, of the newest version."""
    found = matrices.get(TableType.COW, 9, Partitioning.HIVE)
    trino.register(found.table)
    return found
