"""HDFS as child processes: a NameNode and a DataNode on free ports of the loopback interface."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from pyarrow import fs

from devtools.process import ServerProcess
from devtools.runtime import (
    ADD_OPENS,
    COLLECTOR,
    HIVE_CONF,
    WORK,
    RuntimeMissingError,
    free_port,
    java,
)
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.storage import Storage

_JARS = WORK / "hdfs"
_START_SECONDS = 120.0
_SERVER = "org.apache.hadoop.hdfs.server"


@dataclass(frozen=True)
class Hdfs:
    """A running HDFS. rpc, http: ports of its NameNode."""

    rpc: int
    http: int

    def hdfs(self, path: str) -> str:
        """Return the URI for Hadoop's own clients."""
        return f"hdfs://127.0.0.1:{self.rpc}/{path}"

    def webhdfs(self, path: str) -> str:
        """Return the URI for clients without Hadoop's native library."""
        return f"webhdfs://127.0.0.1:{self.http}/{path}"

    def upload(self, directory: Path, path: str) -> None:
        """Copy a local directory to a path."""
        target = Storage.open(self.webhdfs(path))
        fs.copy_files(
            str(directory),
            target.root,
            source_filesystem=fs.LocalFileSystem(),
            destination_filesystem=target.filesystem,
            use_threads=False,
        )


@contextmanager
def running_hdfs(directory: Path) -> Iterator[Hdfs]:
    """Run an empty HDFS with its files in `directory`; it stops with the context.

    Raises:
        RuntimeMissingError: Maven is missing, or cannot fetch it.
        devtools.process.ServerError: A server did not start.
    """
    hdfs = Hdfs(free_port(), free_port())
    configured = directory / "conf"
    configured.mkdir(parents=True)
    _write(configured / "core-site.xml", {"fs.defaultFS": hdfs.hdfs("")})
    _write(
        configured / "hdfs-site.xml",
        {
            "dfs.replication": "1",
            "dfs.permissions.enabled": "false",
            "dfs.namenode.name.dir": (directory / "names").as_uri(),
            "dfs.namenode.http-address": f"127.0.0.1:{hdfs.http}",
            "dfs.datanode.data.dir": (directory / "data").as_uri(),
            "dfs.datanode.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0",
            "dfs.datanode.http.address": "127.0.0.1:0",
            "dfs.datanode.hostname": "127.0.0.1",
        },
    )
    command = [str(java()), *COLLECTOR, *ADD_OPENS, "-Xmx256m", "-cp"]
    command.append(os.pathsep.join([str(configured), f"{_jars()}/*"]))
    name_node = [*command, f"{_SERVER}.namenode.NameNode"]
    with ExitStack() as started:
        formatting = ServerProcess(
            "Formatting", [*name_node, "-format"], output=directory / "format.log"
        )
        started.callback(formatting.stop)
        formatting.wait()
        for name, one in {
            "namenode": name_node,
            "datanode": [*command, f"{_SERVER}.datanode.DataNode"],
        }.items():
            server = ServerProcess(name, one, output=directory / f"{name}.log")
            started.callback(server.stop)
        server.wait_until(lambda: _takes_files(hdfs), _START_SECONDS)
        yield hdfs


def _takes_files(hdfs: Hdfs) -> bool:
    try:
        Storage.open(hdfs.webhdfs("")).write("started", b"")
    except HudiError:
        return False
    return True


def _write(file: Path, settings: Mapping[str, str]) -> None:
    properties = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    )
    file.write_text(f"<configuration>{properties}</configuration>")


def _jars() -> Path:
    """Return the jars, fetched at the first use (about 90 MB)."""
    if not _JARS.is_dir():
        if shutil.which("mvn") is None:
            raise RuntimeMissingError("no mvn found: install Maven")
        started = _JARS.with_suffix(".new")
        command = ["mvn", "-B", "-q", "-s", str(HIVE_CONF / "settings.xml")]
        command += ["-f", str(HIVE_CONF / "hdfs" / "pom.xml"), "package", f"-Dhdfs.dir={started}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeMissingError(f"Maven does not get HDFS: {done.stdout[-500:]}")
        started.rename(_JARS)
    return _JARS
