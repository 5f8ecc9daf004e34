"""Paths of built and downloaded files, and the options of the project's JVMs."""

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".work"
HIVE_CONF = ROOT / "hive-conf"
HIVE_LIB = WORK / "runtime" / "lib"
HUDI_AUX = WORK / "runtime" / "aux"
_HUDI_BUNDLE = "hudi-spark3.5-bundle_2.12"
_HIVE_JDBC = "4.0.1"
_LOG4J = "2.18.0"
CONNECT_VERSION = "3.5.7"
"""Of Spark Connect: the newest of 3.5 in Maven's repository."""
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
SPARK_JAR = ROOT / "handler-java" / "target" / "spark" / "pyhudi-spark-extension.jar"
HANDLER_JAR = ROOT / "handler-java" / "target" / "pyhudi-hive-handler.jar"

# Packages of the JDK that Hive, Hadoop and Kryo access by reflection. Without them HiveServer2
# starts on JDK 17 and never opens its port.
_OPENED = (
    "java.lang",
    "java.lang.reflect",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.regex",
    "java.net",
    "java.nio",
    "java.io",
    "java.time",
    "sun.nio.ch",
)
ADD_OPENS = tuple(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED)
COLLECTOR = ("-XX:+UseSerialGC", "-XX:MetaspaceSize=256m")
"""On two cores the default collector's own threads took a quarter of HiveServer2's time."""
SHORT_RUN = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""For a JVM that tests use for some minutes: the optimising compiler takes a third of its time. The
cache would be so small without that compiler that the JVM keeps throwing out code."""
LOCAL_FILES = WORK / "runtime" / "local-files"
"""The class path of a local file system that starts no process for each file that it creates."""
LOCAL_FILES_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "fs.file.impl": "QuickLocalFileSystem",
        "fs.AbstractFileSystem.file.impl": "QuickLocalFileSystem$Context",
    }
)
"""Hadoop's settings for it."""


class RuntimeMissingError(RuntimeError):
    """A file that `make` builds or fetches is missing; the message names the target."""


def java() -> Path:
    """Return the JVM's launcher: that of JAVA_HOME, else that of the PATH.

    Raises:
        RuntimeMissingError: There is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else shutil.which("java")
    if found is None or not Path(found).is_file():
        raise RuntimeMissingError("no java found: install JDK 17, or set JAVA_HOME")
    return Path(found)


def hudi_bundle() -> Path:
    """Return the Hudi bundle's jar, which serves Spark and Hive.

    Raises:
        RuntimeMissingError: It has not been fetched.
    """
    found = sorted(HUDI_AUX.glob("hudi-*bundle*.jar"))
    if not found:
        raise RuntimeMissingError(f"no Hudi bundle in {HUDI_AUX}: run `make runtime`")
    return found[-1]


def other_hudi_bundle(version: str) -> Path:
    """Return another version's Hudi bundle for Spark; fetched at its first use (about 110 MB).

    Raises:
        RuntimeMissingError: Maven is missing, or cannot fetch it.
    """
    name = f"{_HUDI_BUNDLE}-{version}.jar"
    return _fetched(f"org.apache.hudi:{_HUDI_BUNDLE}:{version}", WORK / "hudi" / name)


def hive_jdbc() -> Path:
    """Return Hive's JDBC driver with its requirements; fetched at its first use (about 44 MB).

    Raises:
        RuntimeMissingError: Maven is missing, or cannot fetch it.
    """
    name = f"hive-jdbc-{_HIVE_JDBC}-standalone.jar"
    return _fetched(f"org.apache.hive:hive-jdbc:{_HIVE_JDBC}:jar:standalone", WORK / "jdbc" / name)


def log4j_bridge() -> Path:
    """Return what leads Log4j 1's interface to Hive's Log4j 2; fetched at its first use (0.2 MB).

    Raises:
        RuntimeMissingError: Maven is missing, or cannot fetch it.
    """
    artifact = f"org.apache.logging.log4j:log4j-1.2-api:{_LOG4J}"
    return _fetched(artifact, WORK / "llap" / f"log4j-1.2-api-{_LOG4J}.jar")


def spark_connect() -> Path:
    """Return the server of Spark Connect; fetched at its first use (16 MB).

    Raises:
        RuntimeMissingError: Maven is missing, or cannot fetch it.
    """
    name = f"spark-connect_2.12-{CONNECT_VERSION}.jar"
    artifact = f"org.apache.spark:spark-connect_2.12:{CONNECT_VERSION}"
    return _fetched(artifact, WORK / "connect" / name)


def _fetched(artifact: str, file: Path) -> Path:
    """Return the file, which Maven copies from its repositories if it is missing."""
    if not file.is_file():
        if shutil.which("mvn") is None:
            raise RuntimeMissingError("no mvn found: install Maven")
        command = ["mvn", "-B", "-q", "-s", str(HIVE_CONF / "settings.xml"), _COPY]
        command += [f"-Dartifact={artifact}", f"-DoutputDirectory={file.parent}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeMissingError(f"Maven does not get {artifact}: {done.stdout[-500:]}")
    return file


def aux_jars() -> tuple[Path, ...]:
    """Return the jars for Hive's auxiliary path: Hudi with its companions and the storage handler.

    Raises:
        RuntimeMissingError: A jar is missing.
    """
    hudi_bundle()
    if not HANDLER_JAR.is_file():
        raise RuntimeMissingError(f"no {HANDLER_JAR}: run `make handler`")
    return (*sorted(HUDI_AUX.glob("*.jar")), HANDLER_JAR)


def free_port() -> int:
    """Return a TCP port of the loopback interface on which no process listened a moment ago."""
    return free_ports(1)[0]


def free_ports(number: int) -> list[int]:
    """Return several ports of the loopback interface, see `free_port`, each another one."""
    with ExitStack() as probes:
        ports = []
        for _ in range(number):
            probe = probes.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(int(probe.getsockname()[1]))
        return ports


def is_listening(port: int) -> bool:
    """Return whether a process accepts connections at this port of the loopback interface."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
