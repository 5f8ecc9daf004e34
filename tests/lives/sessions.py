"""What lives share: a JVM with two sessions of Spark, HiveServer2, a service, our commands."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import SparkSession

from devtools.hiveserver import ENGINES, GUARDED, HiveServer
from devtools.runtime import SPARK_JAR
from devtools.service import ServiceProcess
from devtools.spark import SHORT_QUERIES, spark_session
from pyhudi_expr.cli.main import main
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.manage.indexing.writer_options import HUDI_SESSION
from pyhudi_expr.spark.session import EXTENSION
from tests.hive.adoption.hudi_sync import metastore_uri

OFF: Mapping[str, str] = {
    f"spark.pyhudi.{part}": "false" for part in ("pruning", "statements", "indexes.keep")
}
"""Settings with which a session is as without the extension."""
LOCK: Mapping[str, str] = {
    "hoodie.write.lock.provider": ("org.apache.hudi.client.transaction.lock.InProcessLockProvider")
}


class CommandError(Exception):
    """A command of ours ended with an exit code that is no success; the text is what it said.

    Attributes:
        output: What it printed as its answer.
    """

    def __init__(self, text: str, output: str) -> None:
        super().__init__(text)
        self.output = output


@dataclass(frozen=True)
class Sessions:
    """What a life works with.

    Attributes:
        plain: A session whose parts of the extension are off: Hudi alone.
        extended: A session with all parts of the extension.
        service: The pruning service that `extended` and Hive ask.
        hive: A HiveServer2 with the storage handler, and the guards of its metastore.
        metastore: The URI at which that listens.
    """

    plain: SparkSession
    extended: SparkSession
    service: ServiceProcess
    hive: HiveServer
    metastore: str

    def hive_session(self) -> AbstractContextManager[HiveSession]:
        """Open a session of Hive that asks the service."""
        addresses = {"hudi.pruning.service.addresses": self.service.address}
        return self.hive.session({**ENGINES["fetch"], **addresses})

    def hudi_alone(self) -> Sessions:
        """The same without our extension."""
        return replace(self, extended=self.plain)

    def start_service(self) -> None:
        """Start the service, and let the session know where it is."""
        self.service.start()
        self.extended.conf.set("spark.pyhudi.service", self.service.address)

    def command(self, *arguments: str) -> str:
        """Run `pyhudi ...` here, in the plain session, and return what it printed.

        A command stops its session when it ends; this one is not its own.

        Raises:
            CommandError: It failed.
        """
        out, err = io.StringIO(), io.StringIO()
        with (
            patch.object(SparkSession, "stop", _leave_running),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = _exit_code(arguments)
        if code != 0:
            raise CommandError(f"exit code {code}: {err.getvalue().strip()}", out.getvalue())
        return out.getvalue()


def _leave_running(_session: SparkSession) -> None:
    """Does nothing."""


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1


@contextmanager
def shared_sessions(root: Path, session: SparkSession | None = None) -> Iterator[Sessions]:
    """Start what lives share.

    Args:
        root: A directory for logs.
        session: A session whose parts of the extension are off. None: one is started.
    """
    if session is None:
        with _session() as started, shared_sessions(root, started) as sessions:
            yield sessions
        return
    service, hive = ServiceProcess(root), HiveServer(root / "hive", settings=GUARDED)
    extended = session.newSession()
    for name in OFF:
        extended.conf.set(name, "true")
    extended.conf.set("spark.pyhudi.timeout.ms", "30000")
    try:
        hive.start()
        metastore = metastore_uri(hive, hive.line.lib, root)
        sessions = Sessions(session, extended, service, hive, metastore)
        sessions.start_service()
        yield sessions
    finally:
        hive.stop()
        service.stop()


@contextmanager
def _session() -> Iterator[SparkSession]:
    extensions = f"{HUDI_SESSION['spark.sql.extensions']},{EXTENSION}"
    settings = {**SHORT_QUERIES, "spark.sql.extensions": extensions, **OFF}
    with spark_session("lives", jars=[SPARK_JAR], settings=settings) as session:
        yield session
