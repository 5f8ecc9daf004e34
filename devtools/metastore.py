"""A Hive metastore as a child process, from the jars that come with PySpark (Hive 2.3)."""

from pathlib import Path

from devtools.process import ServerProcess
from devtools.runtime import ADD_OPENS, COLLECTOR, free_port, is_listening, java
from devtools.zookeeper import spark_jars

_START_SECONDS = 120.0
_MAIN = Path(__file__).parent / "Metastore.java"


class MetastoreServer:
    """A metastore in memory on a free port of the loopback interface; a context manager."""

    def __init__(self, directory: Path) -> None:
        """Start it and return when it listens; its log is kept in `directory`."""
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.uris = f"thrift://127.0.0.1:{port}"
        settings = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:memory:metastore{port};create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": f"file:{directory}/warehouse",
            "hive.async.log.enabled": "false",
            "hive.support.concurrency": "true",
            "hive.txn.timeout": "6s",
            "hive.timedout.txn.reaper.start": "1s",
            "hive.timedout.txn.reaper.interval": "1s",
        }
        command = [str(java()), "-Xmx384m", *COLLECTOR, *ADD_OPENS]
        command += [f"-D{key}={value}" for key, value in settings.items()]
        command += [f"-Dderby.system.home={directory}", f"-Djava.io.tmpdir={directory}"]
        command += ["-cp", f"{spark_jars()}/*", str(_MAIN), "-p", str(port)]
        self._process = ServerProcess(
            "The Hive metastore", command, output=directory / "metastore.log", cwd=directory
        )
        self._process.wait_until(lambda: is_listening(port), _START_SECONDS)

    def stop(self) -> None:
        """Stop it."""
        self._process.stop(2)

    def __enter__(self) -> "MetastoreServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
