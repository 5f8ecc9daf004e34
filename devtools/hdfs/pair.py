"""HDFS with two NameNodes, one of them active, and a DataNode, as the name service `lake`.

They share their edits in a directory, and are switched by hand (`haadmin`), so nothing else runs.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from devtools.hdfs.servers import (
    DATA_NODE,
    HA_ADMIN,
    NAME_NODE,
    SHELL,
    TEST_SETTINGS,
    format_names,
    jvm,
    write_settings,
)
from devtools.process import ServerProcess
from devtools.runtime import free_port
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage

SERVICE = "lake"
VIEW = "views"
"""The mount table, whose directory `/tables` is `/warehouse` of the name service."""
_NODES = ("nn1", "nn2")
_START_SECONDS = 120.0
_PROXY = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"


@dataclass
class HdfsPair:
    """The running file system.

    Attributes:
        directory: Holds its files; `conf` in it, the settings for its clients.
        active: The active NameNode: `nn1` or `nn2`.
    """

    directory: Path
    active: str = _NODES[0]
    _servers: dict[str, ServerProcess] = field(default_factory=dict)

    @property
    def conf(self) -> Path:
        """The directory for HADOOP_CONF_DIR."""
        return self.directory / "conf"

    @property
    def options(self) -> Mapping[str, str]:
        """The storage options by which it is read without the native library."""
        return {"hdfs_via": "webhdfs", "hadoop_conf_dir": str(self.conf)}

    def uri(self, path: str) -> str:
        """Return the URI of a path, for all clients."""
        return f"hdfs://{SERVICE}/{path}"

    def storage(self, path: str) -> Storage:
        """Return a directory as this project opens it."""
        return Storage.open(self.uri(path), self.options)

    def upload(self, directory: Path, path: str) -> None:
        """Copy a local directory to a path, by Hadoop's own client."""
        self.shell("-mkdir", "-p", f"/{path.rpartition('/')[0]}")
        self.shell("-copyFromLocal", str(directory), f"/{path}")

    def shell(self, *arguments: str) -> str:
        """Run a command of `hdfs dfs`, Hadoop's own client, and return what it prints.

        Raises:
            subprocess.CalledProcessError: It failed.
        """
        return self._ran(SHELL, *arguments)

    def switch(self) -> None:
        """Make the other NameNode the active one; both keep running."""
        self._ran(HA_ADMIN, "-transitionToStandby", self.active)
        self.activate_other()

    def kill_active(self) -> None:
        """Kill the active NameNode."""
        self._servers.pop(self.active).stop(grace_seconds=0)

    def activate_other(self) -> None:
        """Make the NameNode active that is not, after the active one was killed."""
        (other,) = (node for node in _NODES if node != self.active)
        # The tool would refuse it, as it cannot ask the lost one for its state.
        self._ran(HA_ADMIN, "-transitionToActive", "--forceactive", other)
        self.active = other

    def start_lost(self) -> None:
        """Start the NameNode that was killed, as the one on standby."""
        for node in _NODES:
            if node not in self._servers:
                self._start(node)

    def _start(self, name: str) -> ServerProcess:
        configured = self.directory / name if name in _NODES else self.conf
        main = NAME_NODE if name in _NODES else DATA_NODE
        output = self.directory / f"{name}.log"
        self._servers[name] = ServerProcess(name, jvm(configured, main), output=output)
        return self._servers[name]

    def _ran(self, main: str, *arguments: str) -> str:
        command = jvm(self.conf, main, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{main} {' '.join(arguments)}: {done.stdout}{done.stderr}"[-3000:])
        return done.stdout

    def _stop(self) -> None:
        for server in self._servers.values():
            server.stop(grace_seconds=2)


@contextmanager
def running_pair(directory: Path) -> Iterator[HdfsPair]:
    """Run an empty file system with its files in `directory`; it stops with the context.

    Raises:
        devtools.runtime.RuntimeMissingError: Maven is missing, or cannot fetch it.
        devtools.process.ServerError: A server did not start.
    """
    pair = HdfsPair(directory)
    rpc = {node: free_port() for node in _NODES}
    http = {node: free_port() for node in _NODES}
    _configure(directory, rpc, http)
    format_names(directory / _NODES[0], directory / "format.log")
    shutil.copytree(directory / "names-nn1", directory / "names-nn2")
    with ExitStack() as started:
        started.callback(pair._stop)
        for name in (*_NODES, "datanode"):
            server = pair._start(name)
        server.wait_until(lambda: _is_activated(pair), _START_SECONDS)
        server.wait_until(lambda: _takes_files(pair), _START_SECONDS)
        yield pair


def _configure(directory: Path, rpc: Mapping[str, int], http: Mapping[str, int]) -> None:
    core = {
        "fs.defaultFS": f"hdfs://{SERVICE}",
        f"fs.viewfs.mounttable.{VIEW}.link./tables": f"hdfs://{SERVICE}/warehouse",
    }
    site = {
        **TEST_SETTINGS,
        "dfs.nameservices": SERVICE,
        f"dfs.ha.namenodes.{SERVICE}": ",".join(_NODES),
        f"dfs.client.failover.proxy.provider.{SERVICE}": _PROXY,
        "dfs.ha.fencing.methods": "shell(/bin/true)",
        "dfs.namenode.shared.edits.dir": (directory / "edits").as_uri(),
        "dfs.ha.tail-edits.period": "1s",
        "dfs.ha.log-roll.period": "1s",
        "dfs.datanode.data.dir": (directory / "data").as_uri(),
    }
    for node in _NODES:
        site[f"dfs.namenode.rpc-address.{SERVICE}.{node}"] = f"127.0.0.1:{rpc[node]}"
        site[f"dfs.namenode.http-address.{SERVICE}.{node}"] = f"127.0.0.1:{http[node]}"
    for name in ("conf", *_NODES):
        own = {
            "dfs.ha.namenode.id": name,
            "dfs.namenode.name.dir": (directory / f"names-{name}").as_uri(),
        }
        write_settings(directory / name / "core-site.xml", core)
        write_settings(
            directory / name / "hdfs-site.xml", site if name == "conf" else {**site, **own}
        )
    (directory / "edits").mkdir()


def _is_activated(pair: HdfsPair) -> bool:
    try:
        pair._ran(HA_ADMIN, "-transitionToActive", pair.active)
    except RuntimeError:
        return False
    return True


def _takes_files(pair: HdfsPair) -> bool:
    try:
        pair.storage("").write("started", b"")
    except HudiError:
        return False
    return True
