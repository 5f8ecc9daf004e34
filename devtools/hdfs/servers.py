"""What servers and clients of HDFS have in common: jars, JVMs and settings."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from devtools.process import ServerProcess
from devtools.runtime import (
    ADD_OPENS,
    COLLECTOR,
    HIVE_CONF,
    SHORT_RUN,
    WORK,
    RuntimeMissingError,
    java,
)

_JARS = WORK / "hdfs"
_SERVER = "org.apache.hadoop.hdfs.server"
NAME_NODE, DATA_NODE = f"{_SERVER}.namenode.NameNode", f"{_SERVER}.datanode.DataNode"
HA_ADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"
SHELL = "org.apache.hadoop.fs.FsShell"

TEST_SETTINGS = {
    "dfs.replication": "1",
    # Nothing has to outlive the machine.
    "dfs.namenode.edits.noeditlogchannelflush": "true",
    "dfs.permissions.enabled": "false",
    "dfs.datanode.address": "127.0.0.1:0",
    "dfs.datanode.ipc.address": "127.0.0.1:0",
    "dfs.datanode.http.address": "127.0.0.1:0",
    "dfs.datanode.hostname": "127.0.0.1",
}


def write_settings(file: Path, settings: Mapping[str, str]) -> None:
    """Write a file of Hadoop's settings; its directory is created."""
    properties = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"<configuration>{properties}</configuration>")


def jvm(configured: Path, main: str, *arguments: str) -> list[str]:
    """Return the command of a main class of Hadoop, with the settings of a directory.

    Raises:
        RuntimeMissingError: Java is missing, or Maven is or does not get the jars.
    """
    path = os.pathsep.join([str(configured), f"{_jars()}/*"])
    command = [str(java()), *COLLECTOR, *SHORT_RUN, *ADD_OPENS, "-Xmx256m", "-cp", path]
    return [*command, main, *arguments]


def format_names(configured: Path, output: Path) -> None:
    """Make the directories of an empty file system's names.

    Raises:
        devtools.process.ServerError: It failed.
    """
    formatting = ServerProcess("Formatting", jvm(configured, NAME_NODE, "-format"), output=output)
    try:
        formatting.wait()
    finally:
        formatting.stop()


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
