"""A client of Spark Connect: the server has the extension, the client nothing of this package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.runtime import (
    CONNECT_VERSION,
    free_port,
    hudi_bundle,
    is_listening,
    java,
    spark_connect,
)
from pyhudi_expr.spark.session import EXTENSION, extension_jar
from tests.packaging.installing import run

pytestmark = pytest.mark.long

#: Spark 3.5 needs an older NumPy than newer releases of the others.
_CLIENT_PACKAGES = (f"pyspark[connect]=={CONNECT_VERSION}", "setuptools<81", "pyarrow<20")
_HUDI_EXTENSION = "org.apache.spark.sql.hudi.HoodieSparkSessionExtension"
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_CLIENT = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
table = sys.argv[2]
condition = sys.argv[3]

def rows():
    return sorted(map(repr, spark.read.format("hudi").load(table).where(condition).collect()))

index = f"ON '{table}' USING column_stats(id)"
built = spark.sql(f"CREATE INDEX ranges {index}").collect()
again = spark.sql(f"CREATE INDEX IF NOT EXISTS ranges {index}").collect()
shown = [row.state for row in spark.sql(f"SHOW INDEXES FROM '{table}'").collect()]
spark.read.format("hudi").load(table).where(condition).explain()
pruned = rows()
spark.conf.set("spark.pyhudi.pruning", "false")
assert rows() == pruned
print("rows:", len(pruned), "built:", [row[0] for row in built], again, "shown:", *shown)
"""

_WRITER = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
table = sys.argv[2]
options = {
    "hoodie.table.name": "written",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class":
        "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}

def write(rows, city, mode):
    frame = spark.range(rows).selectExpr("id", f"{city} AS city")
    frame.write.format("hudi").options(**options).mode(mode).save(table)

write(40, "'c' || id % 4", "overwrite")
spark.sql(f"CREATE INDEX cities ON '{table}' USING secondary_index(city)").collect()
write(3, "'new'", "append")
states = {row.index_name: row.state for row in spark.sql(f"SHOW INDEXES FROM '{table}'").collect()}
(done,) = spark.sql(f"OPTIMIZE '{table}' ZORDER BY (id, city) OPTIONS (files = 2)").collect()
rows = spark.read.format("hudi").load(table).where("city = 'new'").count()
print("cities:", states["cities"], "files:", done.files_after, "rows:", rows)
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a client: PySpark alone."""
    home = tmp_path_factory.mktemp("client")
    run(sys.executable, "-m", "venv", "env", cwd=home)
    python = home / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *_CLIENT_PACKAGES, cwd=home)
    return python


@pytest.fixture(scope="module")
def server(client: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server in whose settings the extension is, with the client's Spark."""
    (spark,) = client.parents[1].glob("lib/python*/site-packages/pyspark")
    home = tmp_path_factory.mktemp("server")
    port = free_port()
    jars = ",".join(map(str, (spark_connect(), hudi_bundle(), extension_jar())))
    settings = {
        "spark.sql.extensions": f"{_HUDI_EXTENSION},{EXTENSION}",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.connect.grpc.binding.port": str(port),
        "spark.pyhudi.python": sys.executable,
        "spark.pyhudi.timeout.ms": "60000",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.pyspark.python": sys.executable,
    }
    command = [str(spark / "bin" / "spark-submit"), "--master", "local[2]", "--class", _SERVER]
    command += ["--jars", jars]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    environment = {**os.environ, "SPARK_HOME": str(spark)}
    environment["JAVA_HOME"] = str(java().resolve().parents[1])
    log = home / "log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=home, env=environment, stdout=output, stderr=output
        ) as process,
    ):
        try:
            end = time.monotonic() + 120
            while not is_listening(port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.5)
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)


def test_reads_are_pruned_and_statements_run(
    client: Path, server: str, trips: Path, tmp_path: Path
) -> None:
    table = shutil.copytree(trips, tmp_path / "table")
    program = tmp_path / "program.py"
    program.write_text(_CLIENT)
    output = run(client, program, server, table, "id = 77123", cwd=tmp_path)
    assert "pruning PRUNED, reads 1 of 80 files" in output
    assert "rows: 1 built: ['ranges', 'ranges'] [] shown: active" in output


def test_writes_keep_indexes(client: Path, server: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_WRITER)
    output = run(client, program, server, tmp_path / "written", cwd=tmp_path)
    assert "cities: active files: 2 rows: 3" in output
