"""Files that another writer made and Hudi registered, as Apache XTable does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import pyhudi_expr as ph
from pyhudi_expr.errors import ExternalFiles

pytestmark = pytest.mark.spark

ROWS = {"one": [5.0, float("nan"), 7.0], "two": [1.0, 2.0, 3.0]}
SCHEMA = """{"type": "record", "name": "r", "fields": [
    {"name": "id", "type": ["null", "string"], "default": null},
    {"name": "f", "type": ["null", "double"], "default": null}]}"""

OPTIONS = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.populate.meta.fields": "false",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.keygenerator.type": "NON_PARTITION",
}


@pytest.fixture(scope="module")
def registered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of Hudi whose files pyarrow wrote, with a range beside the NaN."""
    path = tmp_path_factory.mktemp("external") / "registered"
    hudi = spark._jvm.org.apache.hudi
    storage = hudi.hadoop.fs.HadoopFSUtils.getStorageConf(spark._jsc.hadoopConfiguration())
    created = hudi.common.table.HoodieTableMetaClient.newTableBuilder()
    created.setTableType("COPY_ON_WRITE").setTableName("registered").setRecordKeyFields("id")
    created.setPopulateMetaFields(False).initTable(storage, str(path))
    files = [f"{name}.parquet" for name in ROWS]
    for name, values in zip(files, ROWS.values(), strict=True):
        ids = [f"{name}{row}" for row in range(len(values))]
        pq.write_table(pa.table({"id": ids, "f": pa.array(values, pa.float64())}), path / name)
    _commit(spark, storage, path, files)
    return path


def _commit(spark: SparkSession, storage: Any, path: Path, files: list[str]) -> None:
    jvm = spark._jvm
    hudi, nothing = jvm.org.apache.hudi, jvm.org.apache.hudi.common.util.Option.empty()
    properties = jvm.java.util.Properties()
    for name, value in OPTIONS.items():
        properties.setProperty(name, value)
    config = hudi.config.HoodieWriteConfig.newBuilder().withPath(str(path)).withSchema(SCHEMA)
    config = config.forTable("registered").withProps(properties).build()
    context = hudi.client.common.HoodieSparkEngineContext(spark._jsc)
    client = hudi.client.SparkRDDWriteClient(context, config)
    client.setOperationType(hudi.common.model.WriteOperationType.INSERT)
    instant = client.startCommit("commit")
    state = getattr(jvm, "org.apache.hudi.common.table.timeline.HoodieInstant$State")
    opened = hudi.common.table.HoodieTableMetaClient.builder()
    opened = opened.setConf(storage).setBasePath(str(path)).build()
    requested = opened.createNewInstant(state.REQUESTED, "commit", instant)
    opened.getActiveTimeline().transitionRequestedToInflight(requested, nothing)
    marked = hudi.common.util.ExternalFilePathUtil.appendCommitTimeAndExternalFileMarker
    written = jvm.java.util.ArrayList()
    for name in files:
        stat = hudi.common.model.HoodieWriteStat()
        stat.setFileId(name)
        stat.setPath(marked(name, instant))
        stat.setPartitionPath("")
        stat.setNumWrites(len(ROWS))
        stat.setTotalWriteBytes((path / name).stat().st_size)
        stat.setFileSizeInBytes((path / name).stat().st_size)
        written.add(stat)
    client.commitStats(instant, written, nothing, "commit", jvm.java.util.HashMap(), nothing)
    client.close()


def test_hudi_reads_the_registered_files(spark: SparkSession, registered: Path) -> None:
    read = spark.read.format("hudi").load(str(registered))
    assert read.count() == sum(map(len, ROWS.values()))


@pytest.mark.smoke
def test_such_a_table_is_an_error_that_names_a_file(registered: Path) -> None:
    opened = ph.table(registered)
    for ask in (opened.prune, opened.scan, opened.files):
        with pytest.raises(ExternalFiles, match="another writer made it"):
            ask()
