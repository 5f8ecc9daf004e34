"""A ZooKeeper server as a child process, from the jars that come with PySpark."""

from importlib.util import find_spec
from pathlib import Path

from devtools.process import ServerProcess
from devtools.runtime import COLLECTOR, RuntimeMissingError, free_port, is_listening, java

_START_SECONDS = 60.0
_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_TICK_MS = 500
"""A session may last 2 to 20 ticks, so that tests need not wait long for its end."""


def spark_jars() -> Path:
    """Return the directory of PySpark's jars: ZooKeeper, and what it and Hudi's bundle need.

    Raises:
        RuntimeMissingError: PySpark is not installed.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeMissingError("no PySpark: run `make venv`")
    return Path(spec.origin).parent / "jars"


class ZookeeperServer:
    """A server on a free port of the loopback interface; a context manager that stops it."""

    def __init__(self, directory: Path) -> None:
        """Start it and return when it answers; its data and its log are kept in `directory`."""
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.hosts = f"127.0.0.1:{port}"
        settings = directory / "zoo.cfg"
        settings.write_text(
            f"dataDir={directory}/data\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
            f"tickTime={_TICK_MS}\nadmin.enableServer=false\n"
        )
        command = [str(java()), "-Xmx128m", *COLLECTOR, "-cp", f"{spark_jars()}/*", _MAIN]
        self._process = ServerProcess(
            "ZooKeeper", [*command, str(settings)], output=directory / "zookeeper.log"
        )
        self._process.wait_until(lambda: is_listening(port), _START_SECONDS)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def stop(self) -> None:
        """Stop it."""
        self._process.stop()

    def __enter__(self) -> "ZookeeperServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
