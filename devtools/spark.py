"""PySpark with the Hudi bundle that `make runtime` fetches."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from devtools.runtime import (
    COLLECTOR,
    LOCAL_FILES,
    LOCAL_FILES_SETTINGS,
    SHORT_RUN,
    WORK,
    hudi_bundle,
    java,
)
from pyhudi_expr.manage.indexing.writer_options import HUDI_SESSION, NO_DEBUGGER

SHORT_QUERIES = {
    "spark.driver.defaultJavaOptions": " ".join((*SHORT_RUN, NO_DEBUGGER)),
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    **{f"spark.hadoop.{name}": value for name, value in LOCAL_FILES_SETTINGS.items()},
}
"""Settings for sessions whose queries are so short that compiling them is much of their time."""

_LOG_CONFIGURATION = Path(__file__).with_name("spark-log4j2.properties")


@contextmanager
def spark_session(
    name: str,
    *,
    heap: str = "2g",
    cores: int = 2,
    bundle: Path | None = None,
    jars: Sequence[Path] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[SparkSession]:
    """Open a local Spark session with Hudi's extensions; its JVM ends with the context.

    The session's time zone is UTC, for writers and readers. A Python process has at most one Spark
    JVM, so sessions cannot be nested.

    Args:
        name: The application's name.
        heap: The driver's heap.
        cores: Number of cores.
        bundle: Hudi's jar; by default that of the runtime.
        jars: More jars.
        settings: More settings of the session.

    Raises:
        devtools.runtime.RuntimeMissingError: There is no JDK, or no Hudi bundle.
    """
    scratch = WORK / "spark"
    os.environ["JAVA_HOME"] = str(java().resolve().parent.parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]").appName(name)
    for key, value in {
        "spark.driver.memory": heap,
        "spark.driver.extraClassPath": ":".join(
            map(str, (bundle or hudi_bundle(), LOCAL_FILES, *jars))
        ),
        "spark.driver.extraJavaOptions": " ".join(
            (
                *COLLECTOR,
                f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION}",
                "-Duser.timezone=UTC",
                # Hudi's object size estimator would try to attach to its own JVM, and log errors.
                "-Djol.skipDynamicAttach=true",
                "-Djol.skipHotspotSAAttach=true",
            )
        ),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        **HUDI_SESSION,
        **settings,
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()
        _end_jvm()


@contextmanager
def session_settings(session: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session within the context; Hudi reads some of its own from there."""
    before = {name: session.conf.get(name, None) for name in values}
    for name, value in values.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)


def own_home(directory: Path) -> str:
    """Return a home for Spark whose files are the package's; what Spark writes there stays there.

    The workers of `local-cluster` unpack each executor's archives into their Spark's home.

    Args:
        directory: A directory that is not there yet.
    """
    directory.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        if entry.name != "work":
            (directory / entry.name).symlink_to(entry)
    return str(directory)


def _end_jvm() -> None:
    """End the JVM: PySpark keeps it until Python exits, with two gigabytes of memory."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    SparkContext._gateway = None
    SparkContext._jvm = None
