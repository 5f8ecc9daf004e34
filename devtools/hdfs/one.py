"""HDFS with a NameNode and a DataNode on free ports of the loopback interface."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.hdfs.servers import (
    DATA_NODE,
    NAME_NODE,
    TEST_SETTINGS,
    format_names,
    jvm,
    write_settings,
)
from devtools.process import ServerProcess
from devtools.runtime import free_port
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage

_START_SECONDS = 120.0


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
        """Copy the files of a local directory to a path."""
        target = Storage.open(self.webhdfs(path))
        for file in sorted(directory.rglob("*")):
            if file.is_file():
                target.write(str(file.relative_to(directory)), file.read_bytes())


@contextmanager
def running_hdfs(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[Hdfs]:
    """Run an empty HDFS with its files in `directory`; it stops with the context.

    Args:
        directory: Its directory; what lies in `conf` there is on the servers' class path.
        settings: Further ones of `hdfs-site.xml`.

    Raises:
        devtools.runtime.RuntimeMissingError: Maven is missing, or cannot fetch it.
        devtools.process.ServerError: A server did not start.
    """
    hdfs = Hdfs(free_port(), free_port())
    configured = directory / "conf"
    write_settings(configured / "core-site.xml", {"fs.defaultFS": hdfs.hdfs("")})
    write_settings(
        configured / "hdfs-site.xml",
        {
            **TEST_SETTINGS,
            "dfs.namenode.name.dir": (directory / "names").as_uri(),
            "dfs.namenode.http-address": f"127.0.0.1:{hdfs.http}",
            "dfs.datanode.data.dir": (directory / "data").as_uri(),
            **(settings or {}),
        },
    )
    format_names(configured, directory / "format.log")
    with ExitStack() as started:
        for name, main in {"namenode": NAME_NODE, "datanode": DATA_NODE}.items():
            server = ServerProcess(name, jvm(configured, main), output=directory / f"{name}.log")
            started.callback(server.stop)
        server.wait_until(lambda: _takes_files(hdfs), _START_SECONDS)
        yield hdfs


def _takes_files(hdfs: Hdfs) -> bool:
    try:
        Storage.open(hdfs.webhdfs("")).write("started", b"")
    except HudiError:
        return False
    return True
