"""A daemon of Hive's LLAP beside a cluster: one JVM for the tasks of all queries."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from devtools.cluster.configuration import SMALL_JVM
from devtools.cluster.hadoop import Cluster
from devtools.hdfs.servers import write_settings
from devtools.process import ServerProcess
from devtools.runtime import HIVE_LIB, aux_jars, free_ports, is_listening, java, log4j_bridge

EXECUTORS = 3
"""So many tasks run at once."""

_MAIN = "org.apache.hadoop.hive.llap.daemon.impl.LlapDaemon"
_FRAGMENT_ENDED = "ExecutionTime for Container: "
_START_SECONDS = 120.0
_HEAP_MB, _EXECUTORS_MB, _CACHE_MB = 1024, 768, 128
_HOSTS = "hive.llap.daemon.service.hosts"
_PORTS = (
    "hive.llap.daemon.rpc.port",
    "hive.llap.management.rpc.port",
    "hive.llap.daemon.yarn.shuffle.port",
    "hive.llap.daemon.web.port",
    "hive.llap.daemon.output.service.port",
)
_ALWAYS: Mapping[str, str] = MappingProxyType(
    {
        # Without ZooKeeper there is a list of hosts, and masters register nowhere.
        "hive.llap.task.scheduler.am.registry": "",
        "fixed.registry.resolve.host.names": "false",
        "hive.llap.daemon.num.executors": str(EXECUTORS),
        "hive.llap.daemon.memory.per.instance.mb": str(_EXECUTORS_MB),
        "hive.llap.io.memory.size": f"{_CACHE_MB}Mb",
        "hive.llap.io.allocator.alloc.max": "4Mb",
        "hive.llap.io.threadpool.size": str(EXECUTORS),
        # Reducers fetch from the daemon, not from directories of a container.
        "tez.runtime.optimize.local.fetch": "false",
    }
)
_OF_QUERIES: Mapping[str, str] = MappingProxyType(
    {
        "hive.execution.mode": "llap",
        # A query that cannot run in daemons fails, instead of running in containers.
        "hive.llap.execution.mode": "only",
    }
)


class LlapDaemon:
    """A daemon that has Hive, Hudi and the handler; a context manager that stops it."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        """Prepare the daemon without starting it.

        Args:
            cluster: What it reads, and whose masters send it tasks.
            directory: For its settings, its log and the files of its tasks.
        """
        self._directory = directory.resolve()
        self._cluster = cluster
        ports = zip(_PORTS, map(str, free_ports(len(_PORTS))), strict=True)
        # By another name than the daemon's own, masters would lose it after a failure.
        self._settings = {**_ALWAYS, _HOSTS: socket.getfqdn(), **dict(ports)}
        self._process: ServerProcess | None = None

    def session_settings(self) -> dict[str, str]:
        """Return the settings by which a session of HiveServer2 runs its queries in the daemon."""
        return {**self._settings, **_OF_QUERIES}

    def log(self) -> str:
        """Return everything that the daemon has logged."""
        return self._output.read_text(errors="replace")

    def fragments(self) -> int:
        """Return how many tasks have ended in the daemon."""
        return self.log().count(_FRAGMENT_ENDED)

    @property
    def directory(self) -> Path:
        """Where the daemon keeps its files."""
        return self._directory

    @property
    def _output(self) -> Path:
        return self._directory / "llap.log"

    def __enter__(self) -> "LlapDaemon":
        """Start the daemon and return when it takes tasks.

        Raises:
            RuntimeMissingError: A jar is missing.
            devtools.process.ServerError: It did not start; the message shows its log.
        """
        conf = self._directory / "conf"
        local = {"hive.llap.daemon.work.dirs": str(self._directory / "work")}
        write_settings(conf / "core-site.xml", self._cluster.client_settings())
        write_settings(conf / "llap-daemon-site.xml", {**self._settings, **local})
        (self._directory / "work").mkdir(exist_ok=True)
        # The daemon wants NDC's stack of texts, which the server's Log4j 1 does not have.
        classes = (conf, log4j_bridge(), HIVE_LIB / "*", *aux_jars())
        command = [
            str(java()),
            f"-Xmx{_HEAP_MB}m",
            *SMALL_JVM,
            f"-Dllap.daemon.log.dir={self._directory}",
            "-cp",
            os.pathsep.join(map(str, classes)),
            _MAIN,
        ]
        self._process = ServerProcess(
            "LLAP's daemon", command, output=self._output, cwd=self._directory
        )
        port = int(self._settings[_PORTS[0]])
        self._process.wait_until(lambda: is_listening(port), _START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the daemon."""
        if self._process:
            self._process.stop()
