"""Configuration files of a cluster on the loopback interface, and of its clients."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from xml.sax.saxutils import escape

from devtools.runtime import ADD_OPENS, WORK, free_ports

JARS = WORK / "cluster"
"""What `make cluster` fetches: `hadoop` for the daemons and MapReduce, `tez.tar` for Tez."""
NODE_DIRECTORY = "pyhudi.node.dir"
"""The system property that names a daemon's own directory."""
SMALL_JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    # To verify the bytes of classes takes a seventh of a container's start.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    *ADD_OPENS,
)
TEZ_ARCHIVE = "/apps/tez/tez.tar"

_HOST = "127.0.0.1"
_TASK_OPTIONS = " ".join(("-Xmx448m", *SMALL_JVM))
_TASK_MB = 640
_NODE_MB = 1792
_HEARTBEAT_MILLIS = "200"
_LOG = """log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p [%t] %c{2}: %m%n
"""


@dataclass(frozen=True)
class Ports:
    """Ports of the NameNode (`rpc`, `http`) and of the ResourceManager (the others)."""

    rpc: int
    http: int
    clients: int
    scheduler: int
    trackers: int
    admin: int
    web: int

    @staticmethod
    def free() -> "Ports":
        """Return ports on which no process listened a moment ago, each another one."""
        return Ports(*free_ports(len(fields(Ports))))


def of_clients(ports: Ports, jars: Path = JARS) -> dict[str, str]:
    """Return what a client of the cluster needs to know: HDFS, YARN, MapReduce and Tez."""
    rm = "yarn.resourcemanager"
    return {
        "fs.defaultFS": f"hdfs://{_HOST}:{ports.rpc}",
        "hadoop.proxyuser.root.hosts": "*",
        "hadoop.proxyuser.root.groups": "*",
        # The nodes share a disk, and each job of MapReduce has 80 MB of jars.
        "dfs.replication": "1",
        # Who closes a file asks again after 400 ms by default, and jobs write many small ones.
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "20",
        f"{rm}.hostname": _HOST,
        f"{rm}.address": f"{_HOST}:{ports.clients}",
        f"{rm}.scheduler.address": f"{_HOST}:{ports.scheduler}",
        f"{rm}.resource-tracker.address": f"{_HOST}:{ports.trackers}",
        f"{rm}.admin.address": f"{_HOST}:{ports.admin}",
        f"{rm}.webapp.address": f"{_HOST}:{ports.web}",
        "yarn.timeline-service.enabled": "false",
        "yarn.application.classpath": f"{jars / 'hadoop'}/*",
        "mapreduce.framework.name": "yarn",
        "mapreduce.client.submit.file.replication": "1",
        "mapreduce.application.classpath": f"{jars / 'hadoop'}/*",
        "yarn.app.mapreduce.am.resource.mb": str(_TASK_MB),
        "yarn.app.mapreduce.am.command-opts": _TASK_OPTIONS,
        "yarn.app.mapreduce.am.staging-dir": "/tmp/staging",
        "mapreduce.map.memory.mb": str(_TASK_MB),
        "mapreduce.map.java.opts": _TASK_OPTIONS,
        "mapreduce.reduce.memory.mb": str(_TASK_MB),
        "mapreduce.reduce.java.opts": _TASK_OPTIONS,
        "mapreduce.task.io.sort.mb": "50",
        "tez.lib.uris": f"hdfs://{_HOST}:{ports.rpc}{TEZ_ARCHIVE}",
        "tez.ignore.lib.uris": "false",
        "tez.use.cluster.hadoop-libs": "false",
        "tez.local.mode": "false",
        "tez.staging-dir": "/tmp/tez-staging",
        "tez.am.resource.memory.mb": str(_TASK_MB),
        "tez.am.launch.cmd-opts": _TASK_OPTIONS,
        "tez.task.launch.cmd-opts": " ".join(SMALL_JVM),
        "tez.task.resource.memory.mb": str(_TASK_MB),
        "tez.runtime.io.sort.mb": "32",
        "tez.am.tez-ui.webservice.enable": "false",
        # Containers of ended queries give their memory back at once.
        "tez.session.am.dag.submit.timeout.secs": "120",
        # What waits for the next heartbeat of somebody else waits for a second by default.
        "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": _HEARTBEAT_MILLIS,
        "mapreduce.client.progressmonitor.pollinterval": _HEARTBEAT_MILLIS,
        "tez.am.am-rm.heartbeat.interval-ms.max": _HEARTBEAT_MILLIS,
    }


def of_daemons(ports: Ports, directory: Path) -> dict[str, str]:
    """Return the settings of all daemons, whose files are in `directory` and in their own ones."""
    rm, nm, own = "yarn.resourcemanager", "yarn.nodemanager", f"${{{NODE_DIRECTORY}}}"
    scheduler = "yarn.scheduler.capacity"
    return {
        **of_clients(ports),
        "hadoop.tmp.dir": f"{own}/tmp",
        "dfs.namenode.name.dir": (directory / "names").as_uri(),
        "dfs.namenode.rpc-address": f"{_HOST}:{ports.rpc}",
        "dfs.namenode.http-address": f"{_HOST}:{ports.http}",
        "dfs.datanode.data.dir": f"file://{own}/data",
        "dfs.datanode.address": f"{_HOST}:0",
        "dfs.datanode.ipc.address": f"{_HOST}:0",
        "dfs.datanode.http.address": f"{_HOST}:0",
        "dfs.datanode.hostname": _HOST,
        f"{nm}.hostname": _HOST,
        f"{nm}.address": f"{_HOST}:0",
        f"{nm}.localizer.address": f"{_HOST}:0",
        f"{nm}.webapp.address": f"{_HOST}:0",
        f"{nm}.collector-service.address": f"{_HOST}:0",
        f"{nm}.local-dirs": f"{own}/local",
        f"{nm}.log-dirs": f"{own}/logs",
        f"{nm}.aux-services": "mapreduce_shuffle",
        f"{nm}.aux-services.mapreduce_shuffle.class": "org.apache.hadoop.mapred.ShuffleHandler",
        "mapreduce.shuffle.port": "0",
        f"{nm}.resource.memory-mb": str(_NODE_MB),
        f"{nm}.resource.cpu-vcores": "4",
        f"{nm}.vmem-check-enabled": "false",
        f"{nm}.pmem-check-enabled": "false",
        f"{nm}.delete.debug-delay-sec": "3600",
        f"{nm}.sleep-delay-before-sigkill.ms": "250",
        f"{nm}.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
        f"{nm}.env-whitelist": "JAVA_HOME",
        f"{rm}.nodemanagers.heartbeat-interval-ms": _HEARTBEAT_MILLIS,
        # No memory is checked, and to measure it a node reads /proc for each container.
        f"{nm}.container-monitor.enabled": "false",
        "yarn.nm.liveness-monitor.expiry-interval-ms": "20000",
        "yarn.scheduler.minimum-allocation-mb": "128",
        "yarn.scheduler.maximum-allocation-mb": str(_NODE_MB),
        f"{scheduler}.root.queues": "default",
        f"{scheduler}.root.default.capacity": "100",
        f"{scheduler}.maximum-am-resource-percent": "0.8",
        f"{scheduler}.node-locality-delay": "0",
    }


def write_site_files(directory: Path, settings: Mapping[str, str]) -> None:
    """Write all settings into each of Hadoop's site files: a program reads those that it knows."""
    directory.mkdir(parents=True, exist_ok=True)
    properties = "".join(
        f"  <property><name>{name}</name><value>{escape(value)}</value></property>\n"
        for name, value in settings.items()
    )
    text = f"<configuration>\n{properties}</configuration>\n"
    for name in ("core-site", "hdfs-site", "yarn-site", "mapred-site", "capacity-scheduler"):
        (directory / f"{name}.xml").write_text(text)
    (directory / "log4j.properties").write_text(_LOG)
