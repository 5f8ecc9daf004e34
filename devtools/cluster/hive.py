"""HiveServer2 in front of a cluster: Tez and MapReduce run on YARN, files are on HDFS."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from devtools.cluster.configuration import JARS, SMALL_JVM
from devtools.cluster.hadoop import Cluster
from devtools.hiveserver import ENGINES, HiveServer
from devtools.runtime import HANDLER_JAR, aux_jars

FETCH, MR = "fetch", "mr"
IN_MASTER = "hive.compute.splits.in.am"
MASTER, SERVER = "tez, splits in its master", "tez, splits in HiveServer2"
PLACES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        FETCH: ENGINES["fetch"],
        MASTER: {**ENGINES["tez"], IN_MASTER: "true"},
        SERVER: {**ENGINES["tez"], IN_MASTER: "false"},
        MR: ENGINES["mr"],
    }
)
"""Where a query's splits are made and read, and the settings that do it."""

_CONTAINER_MB = 640
NOTHING: Mapping[str, str] = MappingProxyType({})


def hive_server(
    cluster: Cluster,
    run_dir: Path,
    settings: Mapping[str, str] = NOTHING,
    kind: type[HiveServer] = HiveServer,
) -> HiveServer:
    """Return a HiveServer2 of a kind for the cluster, which has not been started.

    Its jars reach containers by `hive.aux.jars.path`. It runs in `run_dir`: a setting that names a
    file by a relative path names one that no container has, as files of HiveServer2's own host.
    """
    run_dir = run_dir.resolve()
    # The server loads the handler from a copy of its own.
    jars = [run_dir / "conf" / jar.name if jar == HANDLER_JAR else jar for jar in aux_jars()]
    # With Kerberos a client knows by this one how to show its token to MapReduce's master.
    of_masters = (JARS / "hadoop").glob("hadoop-mapreduce-client-app-*.jar")
    on_cluster = {
        **cluster.client_settings(),
        # The server's quick local file system is in no container.
        "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
        "fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
        "hive.exec.scratchdir": "/tmp/hive",
        "hive.query.results.cache.directory": "/tmp/hive/results-cache",
        "hive.metastore.warehouse.dir": "/user/hive/warehouse",
        "hive.metastore.warehouse.external.dir": "/user/hive/external",
        "hive.user.install.directory": "/user",
        "hive.tez.container.size": str(_CONTAINER_MB),
        "hive.tez.java.opts": " ".join(("-Xmx448m", *SMALL_JVM)),
        "hive.tez.cpu.vcores": "1",
        "hive.tez.exec.print.summary": "true",
        "hive.aux.jars.path": ",".join(jar.as_uri() for jar in jars),
    }
    return kind(
        run_dir,
        jars=(*aux_jars(), *of_masters),
        heap="1g",
        settings={**on_cluster, **settings},
    )
