"""HDFS and YARN as child processes: a NameNode, a ResourceManager and two nodes with both."""

import getpass
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

from devtools.cluster.configuration import (
    JARS,
    NODE_DIRECTORY,
    SMALL_JVM,
    TEZ_ARCHIVE,
    Ports,
    of_clients,
    of_daemons,
    write_site_files,
)
from devtools.cluster.security import NAMES, Security
from devtools.process import ServerError, ServerProcess, run_logged
from devtools.runtime import RuntimeMissingError, java
from pyhudi_expr.tables.storage.hadoop.connections import Connections
from pyhudi_expr.tables.storage.hadoop.sessions import Sessions

NODES = 2
_START_SECONDS = 120.0
_HDFS = "org.apache.hadoop.hdfs.server"
_YARN = "org.apache.hadoop.yarn.server"
_RESOURCE_MANAGER = f"{_YARN}.resourcemanager.ResourceManager"
_NODE_MANAGER = f"{_YARN}.nodemanager.NodeManager"
_HEAPS: Mapping[str, str] = MappingProxyType(
    {"namenode": "224m", "datanode": "160m", "resourcemanager": "288m", "nodemanager": "224m"}
)
_REQUEST_SECONDS = 5.0


class Node:
    """A node's NodeManager, which can be lost and come back."""

    def __init__(self, start: Callable[[], ServerProcess]) -> None:
        """Prepare a NodeManager that has not been started."""
        self._start = start
        self._process: ServerProcess | None = None

    def start(self) -> ServerProcess:
        """Start it, under another port than before, so that YARN takes it for a new node."""
        self._process = self._start()
        return self._process

    def lose(self) -> None:
        """Kill it; its containers run on."""
        if self._process is not None:
            self._process.stop(0)


@dataclass(frozen=True)
class Cluster:
    """A running cluster.

    Attributes:
        directory: Its configuration (`conf`), logs, and a directory for each daemon.
        ports: Where its masters listen.
        nodes: The NodeManagers.
        security: How it knows its callers.
    """

    directory: Path
    ports: Ports
    nodes: Sequence[Node]
    security: Security

    @property
    def root(self) -> str:
        """The URI of the root of HDFS, without a slash at its end."""
        return f"hdfs://127.0.0.1:{self.ports.rpc}"

    def client_settings(self) -> dict[str, str]:
        """Return the settings of Hadoop's clients."""
        return {**of_clients(self.ports), **self.security.clients}

    def shell(self, *arguments: str) -> None:
        """Run `hdfs dfs` with these arguments, as the user who owns HDFS.

        Raises:
            devtools.process.ServerError: It failed.
        """
        command = _command(self.directory / "conf", self.directory / "shell", "256m")
        process = ServerProcess(
            f"hdfs dfs {' '.join(arguments)}",
            [*command, "org.apache.hadoop.fs.FsShell", *arguments],
            output=self.directory / "shell.log",
            env={**os.environ, **self.security.environment},
        )
        try:
            process.wait()
        finally:
            process.stop()

    def container_logs(self, name: str = "*") -> str:
        """Return what containers have written to files of this name (`syslog`, `stderr`)."""
        found = sorted(self.directory.glob(f"nodemanager*/logs/*/*/{name}"))
        return "\n".join(file.read_text(errors="replace") for file in found if file.is_file())

    def containers(self, node: int) -> list[int]:
        """Return the ids of processes of a node's containers."""
        return _processes(f"{self.directory}/nodemanager{node + 1}/local")

    def kill_containers(self, node: int) -> int:
        """Kill a node's containers, and return how many processes there were."""
        found = self.containers(node)
        _kill(found)
        return len(found)

    def start_node(self, node: int) -> None:
        """Start a node's NodeManager, and return when all nodes have reported.

        Raises:
            devtools.process.ServerError: It did not start.
        """
        # YARN counts a lost node as active until it has been silent for long enough.
        known = _active_nodes(self)
        self.nodes[node].start().wait_until(
            lambda: _is_ready(self) and not _active_nodes(self) <= known, _START_SECONDS
        )

    def answer_of_yarn(self, path: str) -> dict[str, Any]:
        """Return what the ResourceManager's REST interface (`/ws/v1/cluster/`) says."""
        url = f"http://127.0.0.1:{self.ports.web}/ws/v1/cluster/{path}"
        found: dict[str, Any] = _answer(url, self.security)
        return found


@contextmanager
def running_cluster(directory: Path, security: Security = NAMES) -> Iterator[Cluster]:
    """Run an empty cluster; all of it stops with the context.

    Args:
        directory: For its files.
        security: How it knows its callers.

    Raises:
        RuntimeMissingError: Its jars have not been fetched.
        devtools.process.ServerError: A daemon did not start.
    """
    if not (JARS / ".ready").is_file():
        raise RuntimeMissingError(f"no cluster in {JARS}: run `make cluster`")
    directory = directory.resolve()
    ports, conf = Ports.free(), directory / "conf"
    settings = {**of_daemons(ports, directory), **security.clients, **security.daemons}
    write_site_files(conf, settings)
    home = str(java().resolve().parent.parent)
    for name in ("hdfs", "datanode"):
        # Hadoop's web pages are in no Maven artifact, and the daemons look for their directories.
        (conf / "webapps" / name).mkdir(parents=True)
    for source in security.replacements:
        command = [str(java().with_name("javac")), "-cp", f"{JARS / 'hadoop'}/*", "-d", str(conf)]
        run_logged("javac", [*command, str(source)], output=directory / "javac.log")
    with ExitStack() as started:
        # Containers of a killed NodeManager outlive it.
        started.callback(lambda: _kill(_processes(f"{directory}/")))

        def start(name: str, kind: str, main: str, *arguments: str) -> ServerProcess:
            own = directory / name
            own.mkdir(exist_ok=True)
            process = ServerProcess(
                name,
                [*_command(conf, own, _HEAPS[kind]), main, *arguments],
                output=directory / f"{name}.log",
                cwd=own,
                env={**os.environ, **security.environment, "JAVA_HOME": home},
            )
            # A NodeManager waits long for the ends of containers, and nobody needs the files.
            started.callback(process.stop, 0)
            return process

        name_node = f"{_HDFS}.namenode.NameNode"
        start("format", "namenode", name_node, "-format", "-nonInteractive").wait()
        start("namenode", "namenode", name_node)
        start("resourcemanager", "resourcemanager", _RESOURCE_MANAGER)
        for number in range(1, NODES + 1):
            start(f"datanode{number}", "datanode", f"{_HDFS}.datanode.DataNode")
        nodes = [
            Node(partial(start, f"nodemanager{number}", "nodemanager", _NODE_MANAGER))
            for number in range(1, NODES + 1)
        ]
        cluster = Cluster(directory, ports, nodes, security)
        *others, last = range(NODES)
        for node in others:
            nodes[node].start()
        cluster.start_node(last)
        for path in (str(Path(TEZ_ARCHIVE).parent), "/warehouse"):
            _make_directory(cluster, path, "755")
        for path in ("/tmp", "/tmp/hive", "/tmp/staging", "/user"):
            _make_directory(cluster, path, "777")
        cluster.shell("-put", str(JARS / "tez.tar"), TEZ_ARCHIVE)
        yield cluster


def _command(conf: Path, own: Path, heap: str) -> list[str]:
    places = [f"-D{name}={own}" for name in (NODE_DIRECTORY, "hadoop.log.dir", "yarn.log.dir")]
    classes = os.pathsep.join((str(conf), f"{JARS / 'hadoop'}/*"))
    return [str(java()), f"-Xmx{heap}", *SMALL_JVM, *places, "-cp", classes]


def _is_ready(cluster: Cluster) -> bool:
    """Whether all nodes have reported to both masters."""
    state = (
        f"http://127.0.0.1:{cluster.ports.http}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystem"
    )
    try:
        stores = _answer(state, cluster.security)["beans"][0]["NumLiveDataNodes"]
    except (OSError, HTTPException, ValueError, LookupError):
        return False
    return bool(stores == NODES == len(_active_nodes(cluster)))


def _active_nodes(cluster: Cluster) -> frozenset[str]:
    """Return the ids of nodes that YARN would start containers on."""
    try:
        # The list is null while there is no node.
        found = cluster.answer_of_yarn("nodes?states=RUNNING")["nodes"] or {"node": ()}
        return frozenset(node["id"] for node in found["node"])
    except (OSError, HTTPException, ValueError, LookupError):
        return frozenset()


def _make_directory(cluster: Cluster, path: str, mode: str) -> None:
    """Make a directory and its parents in HDFS; `hdfs dfs` would need a JVM for it."""
    asked = f"op=MKDIRS&permission={mode}&user.name={getpass.getuser()}"
    url = f"http://127.0.0.1:{cluster.ports.http}/webhdfs/v1{path}?{asked}"
    answer = _answer(url, cluster.security, "PUT")
    if answer != {"boolean": True}:
        raise ServerError(f"HDFS does not make the directory {path}: {answer}")


def _answer(url: str, security: Security, method: str = "GET") -> Any:  # noqa: ANN401 - JSON
    """Return what a daemon's web page says to the user who owns HDFS."""
    with patch.dict(os.environ, security.environment):
        sessions = Sessions(Connections(None))
        return json.loads(sessions.request(method, url, _REQUEST_SECONDS).content)


def _processes(text: str) -> list[int]:
    """Return the ids of processes whose command line has a text, without this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if text.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def _kill(processes: Sequence[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
