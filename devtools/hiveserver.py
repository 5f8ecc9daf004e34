"""HiveServer2 from the runtime that `make runtime` fetches, and sessions through PyHive."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from xml.sax.saxutils import escape

from pyhive import hive

from devtools.hive_versions import HIVE_4, HiveVersion
from devtools.process import ServerError, ServerProcess, interrupt_at_sigterm
from devtools.runtime import (
    ADD_OPENS,
    COLLECTOR,
    HIVE_CONF,
    LOCAL_FILES,
    LOCAL_FILES_SETTINGS,
    SHORT_RUN,
    WORK,
    RuntimeMissingError,
    free_port,
    is_listening,
)
from pyhudi_expr.manage.hive.guards import SETTINGS
from pyhudi_expr.manage.hive.session import HiveSession

START_SECONDS = 180.0
# It waits for running queries before it ends; there is no state to lose.
_STOP_SECONDS = 4.0
_LOG_SECONDS, _LOG_POLL_SECONDS = 30.0, 0.1

ENGINES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        # Any input size; a query that needs a shuffle or an aggregate runs on Tez all the same.
        "fetch": {
            "hive.fetch.task.conversion": "more",
            "hive.fetch.task.conversion.threshold": "-1",
            "hive.execution.engine": "tez",
        },
        "mr": {"hive.fetch.task.conversion": "none", "hive.execution.engine": "mr"},
        "tez": {"hive.fetch.task.conversion": "none", "hive.execution.engine": "tez"},
    }
)
"""The settings that send a query to the fetch task, to MapReduce and to Tez."""

HUDI_INPUT_FORMAT_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "hive.vectorized.execution.enabled": "false",
        "hive.input.format": "org.apache.hadoop.hive.ql.io.HiveInputFormat",
    }
)
"""What a session needs to read a table with Hudi's own input formats on Hive 4."""

GUARDED: Mapping[str, str] = {setting: guard for guard, setting in SETTINGS.items()}
"""For a metastore that deletes and moves no files of Hudi tables; Hive 4.2 ignores the second."""

NO_OWN_SERVICE: Mapping[str, str] = MappingProxyType({"hudi.pruning.companion": "false"})
"""Without an address nothing is pruned: what a test asks is a service of the test."""

OWN_SERVICE: Mapping[str, str] = MappingProxyType(
    {"hudi.pruning.companion": "true", "hudi.pruning.python": sys.executable}
)
"""Without an address the server starts a service of its own, by this interpreter."""


class HiveServer:
    """A HiveServer2 process with an empty metastore in memory.

    It writes everything into `run_dir`: the rendered configuration, logs, scratch files.
    """

    def __init__(
        self,
        run_dir: Path,
        *,
        jars: Sequence[Path] | None = None,
        heap: str = "2g",
        jvm_options: Sequence[str] = SHORT_RUN,
        zone: str = "UTC",
        settings: Mapping[str, str] = MappingProxyType({}),
        line: HiveVersion = HIVE_4,
    ) -> None:
        """Prepare the server without starting it.

        Args:
            run_dir: Its directory, created if it is missing.
            jars: The auxiliary path; None for Hudi and the storage handler.
            heap: The JVM's maximum heap.
            jvm_options: More options of the JVM; none for measurements.
            zone: The JVM's time zone, in which Hive shows instants.
            settings: Settings of hive-site.xml, in addition to the template or instead of it.
            line: The version of Hive.
        """
        self.run_dir = run_dir.resolve()
        self.port = 0
        self._jars = jars
        self._heap = heap
        self._jvm_options = jvm_options
        self._zone = zone
        self.line = line
        self._settings = {**LOCAL_FILES_SETTINGS, **NO_OWN_SERVICE, **line.settings, **settings}
        self._process: ServerProcess | None = None

    def start(self) -> None:
        """Start the server on a free port and return when it answers.

        Raises:
            RuntimeMissingError: The runtime or the handler has not been built.
            ServerError: The server ended, or did not answer in time; the message shows its log.
        """
        jars = self.line.aux_jars() if self._jars is None else self._jars
        self.stop()
        self.port = free_port()
        conf = self._write_configuration()
        self._process = ServerProcess(
            "HiveServer2",
            self._command(conf, [self._own_copy(jar) for jar in jars]),
            output=self.run_dir / "hiveserver2.out",
            logs=(self.run_dir / "hiveserver2.log",),
            env={**os.environ, "HIVE_CONF_DIR": str(conf), "TZ": self._zone},
            cwd=self.run_dir,
        )
        try:
            self._process.wait_until(lambda: is_listening(self.port), START_SECONDS)
            with self.session() as session:
                session.run("SELECT 1")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server if it runs, and remove its temporary files; the logs remain."""
        if self._process is not None:
            self._process.stop(_STOP_SECONDS)
            self._process = None
        for entry in self.run_dir.glob("*"):
            if entry.is_dir() and entry.name != "conf":
                shutil.rmtree(entry, ignore_errors=True)

    def restart(self) -> None:
        """Stop and start the server: registered tables are gone, and the port changes."""
        self.start()

    def is_running(self) -> bool:
        """Return whether the server was started and its process has not ended."""
        return self._process is not None and self._process.is_running()

    @property
    def pid(self) -> int:
        """The id of the process. Raises ServerError if the server was not started."""
        if self._process is None:
            raise ServerError("HiveServer2 was not started")
        return self._process.pid

    def log(self) -> str:
        """Return everything that the server has logged since `run_dir` was created."""
        path = self.run_dir / "hiveserver2.log"
        return path.read_text(errors="replace") if path.is_file() else ""

    def log_until(self, texts: Collection[str], start: int) -> str:
        """Return what was logged after `start` characters, as soon as it has all of the texts.

        Hive's log is written in the background: a query may end first. After half a minute whatever
        was logged is returned.
        """
        deadline = time.monotonic() + _LOG_SECONDS
        logged = self.log()[start:]
        while not all(text in logged for text in texts) and time.monotonic() < deadline:
            time.sleep(_LOG_POLL_SECONDS)
            logged = self.log()[start:]
        return logged

    def connect(self, user: str = "pyhudi") -> hive.Connection:
        """Return a PyHive connection of a user, which the caller closes."""
        return hive.connect("127.0.0.1", self.port, auth="NOSASL", username=user)

    @contextmanager
    def session(
        self, settings: Mapping[str, str] | None = None, user: str = "pyhudi"
    ) -> Iterator[HiveSession]:
        """Open a user's session with `settings`; it is closed at the end.

        Raises:
            ServerError: The server died meanwhile; the message shows its log.
        """
        connection = self.connect(user)
        try:
            session = HiveSession(connection)
            session.set(settings or {})
            yield session
        except Exception as error:
            with suppress(Exception):
                connection.close()
            if self._process is not None and not self._process.is_running():
                raise self._process.error("died during a session") from error
            raise
        else:
            connection.close()
        # After Ctrl-C in the middle of an answer the connection is out of step and stays as it is:
        # the server closes a session whose client is gone.

    def __enter__(self) -> "HiveServer":
        """Start the server."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self.stop()

    def _write_configuration(self) -> Path:
        conf = self.run_dir / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        template = (HIVE_CONF / "hive-site.xml").read_text()
        rendered = template.replace("@RUN_DIR@", str(self.run_dir)).replace(
            "@PORT@", str(self.port)
        )
        # The last value of a name counts.
        more = "".join(
            f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
            for name, value in self._settings.items()
        )
        (conf / "hive-site.xml").write_text(
            rendered.replace("</configuration>", f"{more}</configuration>")
        )
        for name in ("hive-log4j2.properties", "log4j.properties"):
            shutil.copyfile(HIVE_CONF / name, conf / name)
        return conf

    def _own_copy(self, jar: Path) -> Path:
        """Copy a jar that a build may replace while the server runs.

        A JVM that finds another file under the same name fails at the next class that it loads from
        it.
        """
        if jar != self.line.handler:
            return jar
        copy = self.run_dir / "conf" / jar.name
        shutil.copyfile(jar, copy)
        return copy

    def _command(self, conf: Path, jars: Sequence[Path]) -> list[str]:
        temporary = self.run_dir / "tmp"
        temporary.mkdir(exist_ok=True)
        return [
            str(self.line.java()),
            f"-Xmx{self._heap}",
            *COLLECTOR,
            *self._jvm_options,
            *ADD_OPENS,
            f"-Duser.timezone={self._zone}",
            f"-Djava.io.tmpdir={temporary}",
            f"-Dpyhudi.run.dir={self.run_dir}",
            f"-Dderby.system.home={temporary}",
            f"-Dlog4j2.configurationFile={conf / 'hive-log4j2.properties'}",
            *self.line.entry,
            os.pathsep.join(
                map(str, (conf, *self.line.classes, LOCAL_FILES, self.line.lib / "*", *jars))
            ),
            self.line.main,
        ]


class KerberosHive(HiveServer):
    """A HiveServer2 with a principal of localhost, whose users show the ticket of KRB5CCNAME."""

    def connect(self, user: str = "") -> hive.Connection:
        """Return a connection of the user whose ticket it is, whatever name is given."""
        return hive.connect("localhost", self.port, auth="KERBEROS", kerberos_service_name="hive")


def main() -> None:
    """Run a HiveServer2 until Ctrl-C, for manual work."""
    argparse.ArgumentParser(prog="devtools.hiveserver", description=main.__doc__).parse_args()
    interrupt_at_sigterm()
    WORK.mkdir(exist_ok=True)
    run_dir = Path(tempfile.mkdtemp(prefix="hive-", dir=WORK))
    try:
        with suppress(KeyboardInterrupt), HiveServer(run_dir, settings=OWN_SERVICE) as server:
            print(f"HiveServer2 listens on 127.0.0.1:{server.port}; its log is in {run_dir}")
            signal.pause()
    finally:
        shutil.rmtree(run_dir, ignore_errors=True)


if __name__ == "__main__":
    try:
        main()
    except (ServerError, RuntimeMissingError) as error:
        raise SystemExit(str(error)) from None
