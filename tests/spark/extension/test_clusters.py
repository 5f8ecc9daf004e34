"""The extension on clusters whose executors have processes, and a bare Python, of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from devtools.matrix import FILES, Matrices
from devtools.runtime import ROOT, free_port, hudi_bundle, is_listening, java
from devtools.spark import own_home
from devtools.tables import TableType

pytestmark = [pytest.mark.spark, pytest.mark.long]

_SPARK = Path(pyspark.__file__).parent
_PROGRAM = """
import sys
from pyspark.sql import SparkSession
from pyhudi_expr.spark import configure
from pyhudi_expr.spark.jobs.executor_archive import shipping_settings

master, bundle, table = sys.argv[1:]
settings = {
    "spark.jars": bundle,
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.pyhudi.timeout.ms": "60000",
}
builder = SparkSession.builder.master(master).config(map=settings)
spark = configure(builder.config(map=shipping_settings(master, {}))).getOrCreate()

def rows(text):
    frame = spark.read.format("hudi").load(table).where(text).drop("m")
    frame.explain()
    return sorted(map(repr, frame.collect()))

texts = ["i = -4995", "s LIKE 'updated%'", "d > 31"]
pruned = [rows(text) for text in texts]
for statement in (
    f"CREATE INDEX of_s ON '{table}' USING bloom_filters(s) OPTIONS (store = 'extension')",
    f"SHOW INDEXES FROM '{table}'",
):
    print("indexes:", [row[0] for row in spark.sql(statement).collect()])
by_index = [rows(text) for text in [*texts, "s = 'name_003_07'"]]
spark.conf.set("spark.pyhudi.pruning", "false")
spark.conf.set("hoodie.enable.data.skipping", "false")  # Hudi's loses rows here
assert pruned == [rows(text) for text in texts]
assert by_index == [rows(text) for text in [*texts, "s = 'name_003_07'"]]
print("executors:", spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
print("rows:", [len(found) for found in by_index])
"""


@contextmanager
def _spark_process(work: Path, name: str, *arguments: str) -> Iterator[None]:
    """A daemon of Spark's own clusters."""
    command = [str(_SPARK / "bin" / "spark-class"), f"org.apache.spark.{name}"]
    environment = {
        **os.environ,
        "SPARK_HOME": str(_SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "512m",
        "JAVA_HOME": str(java().resolve().parents[1]),
    }
    log = work / f"{name}-{len(list(work.iterdir()))}.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, *arguments], stdout=output, stderr=output, env=environment, cwd=work
        ) as daemon,
    ):
        try:
            yield
        finally:
            daemon.terminate()
            daemon.wait(30)


@contextmanager
def _standalone(work: Path) -> Iterator[str]:
    """A standalone master with two workers of one core; the master's address."""
    work.mkdir()
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    own = ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as running:
        start = running.enter_context
        start(_spark_process(work, "deploy.master.Master", *own, "--port", str(port)))
        end = time.monotonic() + 60
        while not is_listening(port):
            assert time.monotonic() < end, "Spark's master does not listen"
            time.sleep(0.2)
        for _ in range(2):
            size = ["--cores", "1", "--memory", "1g", "--work-dir", str(work / "work")]
            start(_spark_process(work, "deploy.worker.Worker", *own, *size, master))
        yield master


@contextmanager
def _in_one_process(work: Path) -> Iterator[str]:
    work.mkdir()
    yield "local-cluster[2,1,2048]"


@pytest.mark.parametrize("cluster", [_in_one_process, _standalone], ids=["local", "standalone"])
def test_reads_and_statements(
    matrices: Matrices,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    cluster: object,
) -> None:
    assert callable(cluster)
    table = shutil.copytree(matrices.get(TableType.MOR).table.path, tmp_path / "table")
    venv.create(tmp_path / "bare", symlinks=True)
    python = tmp_path / "bare" / "bin" / "python"
    missing = subprocess.run([python, "-c", "import pyarrow"], capture_output=True, text=True)
    assert "No module named 'pyarrow'" in missing.stderr
    program = tmp_path / "program.py"
    program.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{_PROGRAM}")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {
        "JAVA_HOME": str(java().resolve().parents[1]),
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": own_home(tmp_path / "spark"),
        # Built once for the module, outside of the user's own cache.
        "XDG_CACHE_HOME": str(tmp_path_factory.getbasetemp() / "cache"),
    }
    with cluster(tmp_path / "cluster") as master:
        done = subprocess.run(
            [sys.executable, str(program), master, str(hudi_bundle()), str(table)],
            capture_output=True,
            text=True,
            env=environment,
            cwd=ROOT,
            timeout=280,
        )
    assert done.returncode == 0, done.stderr
    read, listed = map(int, re.findall(r"reads (\d+) of (\d+) files", done.stdout)[0])
    assert read <= 2 < FILES <= listed  # of the one slice, which may have a log file
    assert "of_s" in done.stdout.partition("indexes: [")[2].partition("indexes: [")[2]
    assert "executors: 2" in done.stdout
    assert "rows: [1, " in done.stdout
