"""Spark on YARN with the session extension: nodes have a bare Python, and get this package by
`spark.archives`. Queries are plain SQL; rows are those without any skipping.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pyspark
import pytest

from devtools.cluster import tables
from devtools.cluster.hadoop import Cluster
from devtools.runtime import COLLECTOR, ROOT, SHORT_RUN, hudi_bundle, java
from pyhudi_expr.manage.indexing.writer_options import NO_DEBUGGER
from pyhudi_expr.spark.jobs.executor_archive import executor_archive
from pyhudi_expr.spark.session import EXTENSION, extension_jar

pytestmark = [pytest.mark.cluster, pytest.mark.spark]

_SPARK = Path(pyspark.__file__).parent
_HUDI_EXTENSION = "org.apache.spark.sql.hudi.HoodieSparkSessionExtension"
_SECONDS = 400
# Each process runs for a minute or two, most of it in code that runs once.
_QUICK_START = " ".join((*COLLECTOR, *SHORT_RUN, NO_DEBUGGER))
_SETTINGS = {
    "spark.yarn.jars": f"local:{_SPARK}/jars/*",
    "spark.executor.instances": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": _QUICK_START,
    "spark.driver.extraJavaOptions": _QUICK_START,
    "spark.yarn.am.extraJavaOptions": _QUICK_START,
    "spark.scheduler.minRegisteredResourcesRatio": "0.5",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.yarn.maxAppAttempts": "1",
    "spark.pyhudi.timeout.ms": "60000",
}
_QUERIES = """
import re, sys

tables = {"events": events, "returns": returns}
queries = [
    "SELECT id, city FROM events WHERE id IN (17, 2500, 8999)",
    "SELECT count(*), sum(amount) FROM events WHERE amount > 36500 OR id < 700",
    "SELECT count(*), min(ts), max(ts) FROM returns WHERE id < 700",
    "SELECT e.city, count(*) FROM events e JOIN returns r ON e.id = r.id"
    " WHERE r.id < 1200 AND e.id > 300 AND e.id < 1500 GROUP BY e.city",
]

def views(**options):
    for name, path in tables.items():
        frame = spark.read.format("hudi").options(**options).load(path)
        frame.createOrReplaceTempView(name)

def rows(query):
    return sorted(map(repr, spark.sql(query).collect()))

def plan(query):
    return spark.sql(f"EXPLAIN {query}").first()[0]

views()
pruned = [rows(query) for query in queries]
for query in queries:
    print("reads:", re.findall(r"reads (\\d+) of (\\d+) files", plan(query)))
built = f"CREATE INDEX of_city ON '{returns}' USING bloom_filters(city)"
spark.sql(f"{built} OPTIONS (store = 'extension')")
for row in spark.sql(f"SHOW INDEXES FROM '{returns}'").collect():
    print("index:", row.index_name, row.state)
by_index = rows("SELECT id FROM returns WHERE city = 'Oslo'")
spark.conf.set("spark.pyhudi.pruning", "false")
spark.conf.set("hoodie.enable.data.skipping", "false")
views(**{"hoodie.metadata.enable": "false"})
assert pruned == [rows(query) for query in queries]
assert by_index == rows("SELECT id FROM returns WHERE city = 'Oslo'")
executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
print("rows:", [len(found) for found in [*pruned, by_index]], "executors:", executors)
spark.stop()
"""
_BY_CONFIGURE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pyspark.sql import SparkSession
from pyhudi_expr.spark import configure
from pyhudi_expr.spark.jobs.executor_archive import shipping_settings

bundle, events, returns, *settings = sys.argv[1:]
given = dict(setting.split("=", 1) for setting in settings)
builder = SparkSession.builder.master("yarn").config("spark.jars", bundle).config(map=given)
spark = configure(builder.config(map=shipping_settings("yarn", {{}}))).getOrCreate()
{_QUERIES}
"""
_BY_SETTINGS = f"""
import sys
from pyspark.sql import SparkSession

events, returns = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
{_QUERIES}
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of the nodes, without any package."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, symlinks=True)
    found = home / "bin" / "python"
    missing = subprocess.run([found, "-c", "import pyarrow"], capture_output=True, text=True)
    assert "No module named 'pyarrow'" in missing.stderr
    return found


@pytest.fixture
def paths(cluster: Cluster, tmp_path: Path) -> tuple[str, str]:
    """Where the two tables are: `events`, and a copy of `returns`, which gets an index."""
    copy = f"/{tmp_path.name}"
    cluster.shell("-put", str(tables.RETURNS), copy)
    return f"{cluster.root}/warehouse/events", f"{cluster.root}{copy}"


def environment(cluster: Cluster) -> dict[str, str]:
    """What a client of the cluster has in its environment: nothing of this package."""
    of_python = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    return {
        **{name: value for name, value in os.environ.items() if name not in of_python},
        "HADOOP_CONF_DIR": str(cluster.directory / "conf"),
        "JAVA_HOME": str(java().resolve().parents[1]),
        "SPARK_HOME": str(_SPARK),
    }


def check(printed: str, errors: str) -> None:
    """Check what the queries have printed."""
    assert "rows: [3, 1, 1, " in printed, errors
    reads = [
        [tuple(map(int, found)) for found in re.findall(r"\('(\d+)', '(\d+)'\)", line)]
        for line in printed.splitlines()
        if line.startswith("reads: ")
    ]
    assert [len(scans) for scans in reads] == [1, 1, 1, 2], errors
    assert all(read < of / 3 for scans in reads for read, of in scans), reads
    assert "index: of_city active" in printed
    assert int(printed.rpartition("executors: ")[2].split()[0]) >= 1


def test_a_driver_outside_of_the_cluster(
    cluster: Cluster, paths: tuple[str, str], python: Path, user_cache: Path, tmp_path: Path
) -> None:
    """The session is made by `configure`, and starts a service of its own beside the driver."""
    program = tmp_path / "client.py"
    program.write_text(_BY_CONFIGURE)
    settings = {
        **_SETTINGS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "700m",
        "spark.yarn.am.memory": "512m",
    }
    listed = [f"{name}={value}" for name, value in settings.items()]
    own = {"PYHUDI_HDFS_VIA": "webhdfs", "PYSPARK_PYTHON": str(python)}
    done = subprocess.run(
        [sys.executable, str(program), str(hudi_bundle()), *paths, *listed],
        capture_output=True,
        text=True,
        env={**environment(cluster), **own, "PYSPARK_DRIVER_PYTHON": sys.executable},
        cwd=tmp_path,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    check(done.stdout, done.stderr)


def test_a_driver_on_a_node(
    cluster: Cluster, paths: tuple[str, str], python: Path, user_cache: Path, tmp_path: Path
) -> None:
    """`spark-submit` alone: jars, an archive and settings; the service is the container's own."""
    program = tmp_path / "job.py"
    program.write_text(_BY_SETTINGS)
    of_master = "spark.yarn.appMasterEnv"
    settings = {
        **_SETTINGS,
        "spark.driver.memory": "700m",
        "spark.sql.extensions": f"{_HUDI_EXTENSION},{EXTENSION}",
        "spark.executorEnv.PYTHONPATH": "pyhudi-packages",
        f"{of_master}.PYTHONPATH": "pyhudi-packages",
        f"{of_master}.PYSPARK_PYTHON": str(python),
        f"{of_master}.PYHUDI_HDFS_VIA": "webhdfs",
        f"{of_master}.PYHUDI_HADOOP_CONF_DIR": "__spark_conf__/__hadoop_conf__",
    }
    command = [str(_SPARK / "bin" / "spark-submit"), "--master", "yarn", "--deploy-mode", "cluster"]
    command += ["--jars", f"{hudi_bundle()},{extension_jar()}"]
    command += ["--archives", f"{executor_archive()}#pyhudi-packages"]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    done = subprocess.run(
        [*command, str(program), *paths],
        capture_output=True,
        text=True,
        env=environment(cluster),
        cwd=tmp_path,
        timeout=_SECONDS,
    )
    printed = cluster.container_logs("stdout")
    assert done.returncode == 0, done.stderr + printed + cluster.container_logs("stderr")[-20_000:]
    check(printed, cluster.container_logs("stderr"))
