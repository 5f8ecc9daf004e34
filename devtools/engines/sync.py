"""Hudi's own sync tool, run in a Spark session against a Hive metastore."""

from __future__ import annotations

from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableType


def sync(spark: SparkSession, table: HudiTable, metastore: str, database: str) -> None:
    """Register a table, or what is new of it, as Hudi does after a commit.

    A merge-on-read table becomes two: `_ro` reads base files only, `_rt` merges log files.

    Args:
        spark: A session with Hudi.
        table: The table.
        metastore: The metastore's URI.
        database: The database, which is created if it is missing.
    """
    names = {
        TableType.COW: {table.name: "ALL"},
        TableType.MOR: {f"{table.name}_ro": "RO", f"{table.name}_rt": "RT"},
    }
    jvm = spark._jvm
    assert jvm is not None
    for name, strategy in names[table.spec.type].items():
        properties = jvm.java.util.Properties()
        for key, value in {
            "mode": "hms",
            "metastore.uris": metastore,
            "database": database,
            "table": name,
            "table.strategy": strategy,
            "partition_fields": ",".join(table.spec.partitions),
            "partition_extractor_class": "org.apache.hudi.hive.MultiPartKeysValueExtractor",
            "support_timestamp": "true",
        }.items():
            properties.setProperty(f"hoodie.datasource.hive_sync.{key}", value)
        properties.setProperty("hoodie.datasource.meta.sync.base.path", table.uri)
        conf = jvm.org.apache.hadoop.conf.Configuration()
        jvm.org.apache.hudi.hive.HiveSyncTool(properties, conf).syncHoodieTable()
