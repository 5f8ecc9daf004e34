"""A cluster with Kerberos, with what stands in front of it: HiveServer2 and a pruning service."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import NOTHING, hive_server
from devtools.cluster.kerberos import SERVICE, Members
from devtools.cluster.service import ClusterService
from devtools.hdfs.servers import write_settings
from devtools.hiveserver import HiveServer, KerberosHive


class KeytabService(ClusterService):
    """A pruning service that reads HDFS as a member of the realm, whose keytab it has."""

    def __init__(
        self, members: Members, cluster: Cluster, run_dir: Path, name: str = SERVICE
    ) -> None:
        """Prepare the service without starting it; `name` is the member's."""
        super().__init__(cluster, run_dir)
        self._keytab = members.keytab(name)

    def environment(self) -> Mapping[str, str]:
        """Return what names the keytab, and where tickets go."""
        return {"KRB5_CLIENT_KTNAME": str(self._keytab), "KRB5CCNAME": self._cache}

    def tickets(self) -> str:
        """Return what `klist` shows of the tickets that it has."""
        done = subprocess.run(["klist", "-c", self._cache], capture_output=True, text=True)
        return done.stdout

    @property
    def _cache(self) -> str:
        return f"FILE:{self.run_dir}/tickets"


def secured_hive_server(
    cluster: Cluster, members: Members, run_dir: Path, settings: Mapping[str, str] = NOTHING
) -> HiveServer:
    """Return a HiveServer2 whose queries run as those who ask, which has not been started.

    Its start, and sessions, show the ticket of KRB5CCNAME.
    """
    # Hadoop looks there whether it has to log in, before Hive's settings are read.
    write_settings(run_dir / "conf" / "core-site.xml", cluster.client_settings())
    return hive_server(cluster, run_dir, {**members.of_hive(), **settings}, KerberosHive)
