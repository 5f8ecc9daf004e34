"""Hudi's own sync tool, run in the tests' Spark against the metastore of their HiveServer2."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from devtools.hiveserver import HiveServer
from devtools.runtime import free_port, is_listening
from devtools.tables import HudiTable, TableType
from tests.hive.session_jars import compiled_jar

_SOURCE = Path(__file__).with_name("MetastorePort.java")
_SECONDS, _POLL_SECONDS = 60.0, 0.1
_NO_OPTIONS: Mapping[str, str] = {}

#: Hive 4 has no `get_table`. Hudi 1.2.0 then works by JDBC, except for its very last step.
_AT_THE_END_ON_HIVE_4 = "Failed to update hudi writer major version"


def metastore_uri(server: HiveServer, lib: Path, directory: Path) -> str:
    """Have the metastore inside a HiveServer2 listen on a port. Returns its URI."""
    jar, port = compiled_jar(_SOURCE, lib, directory), free_port()
    with server.session({"hive.fetch.task.conversion": "more"}) as session:
        session.run(f"ADD JAR {jar}")
        session.run("CREATE TEMPORARY FUNCTION metastore_port AS 'MetastorePort'")
        session.run(f"SELECT metastore_port({port})")
        deadline = time.monotonic() + _SECONDS
        while not is_listening(port):
            assert time.monotonic() < deadline, "the metastore does not listen"
            time.sleep(_POLL_SECONDS)
    return f"thrift://127.0.0.1:{port}"


class HudiSync:
    """Registers tables as Hudi does after a commit."""

    def __init__(self, spark: SparkSession, server: HiveServer, metastore: str, mode: str) -> None:
        """`mode` is that of `hoodie.datasource.hive_sync.mode`: jdbc or hms."""
        self._spark = spark
        self._server = server
        self._metastore = metastore
        self._mode = mode

    def run(
        self, table: HudiTable, database: str, options: Mapping[str, str] = _NO_OPTIONS
    ) -> tuple[str, ...]:
        """Sync the table into a database; `options` are more of Hudi's. Returns Hive's tables."""
        if table.spec.type is TableType.COW:
            self._run(table, database, options)
            return (f"{database}.{table.name}",)
        # Each by itself, because the tool ends with its first failure.
        for name, strategy in ((f"{table.name}_ro", "RO"), (f"{table.name}_rt", "RT")):
            more = {"hoodie.datasource.hive_sync.table": name, **options}
            more["hoodie.datasource.hive_sync.table.strategy"] = strategy
            self._run(table, database, more)
        return (f"{database}.{table.name}_ro", f"{database}.{table.name}_rt")

    def _run(self, table: HudiTable, database: str, options: Mapping[str, str]) -> None:
        settings = {
            "hoodie.datasource.hive_sync.mode": self._mode,
            "hoodie.datasource.hive_sync.jdbcurl": (
                f"jdbc:hive2://127.0.0.1:{self._server.port}/;auth=noSasl"
            ),
            "hoodie.datasource.hive_sync.metastore.uris": self._metastore,
            "hoodie.datasource.hive_sync.database": database,
            "hoodie.datasource.hive_sync.table": table.name,
            "hoodie.datasource.meta.sync.base.path": table.uri,
            "hoodie.datasource.hive_sync.partition_fields": ",".join(table.spec.partitions),
            "hoodie.datasource.hive_sync.partition_extractor_class": (
                "org.apache.hudi.hive.MultiPartKeysValueExtractor"
            ),
            "hoodie.datasource.hive_sync.support_timestamp": "true",
            **options,
        }
        jvm = self._spark._jvm
        assert jvm is not None
        properties = jvm.java.util.Properties()
        for key, value in settings.items():
            properties.setProperty(key, value)
        conf = jvm.org.apache.hadoop.conf.Configuration()
        try:
            jvm.org.apache.hudi.hive.HiveSyncTool(properties, conf).syncHoodieTable()
        except Py4JJavaError as error:
            if self._mode != "jdbc" or _AT_THE_END_ON_HIVE_4 not in str(error):
                raise
