"""A cluster's Kerberos: a realm with its daemons, HiveServer2, the pruning service, and users.

All of it runs as one user of the operating system, so containers of users do, too: YARN's own
program that starts a container as its user (`LinuxContainerExecutor`) is in no Maven artifact.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from devtools.cluster.security import Security
from devtools.hdfs.realm import REALM, running_realm

HOST = "127.0.0.1"
ALICE, BOB = "alice", "bob"
SERVICE = "pyhudi"
"""The principal of the pruning service."""
SERVICE_TICKET_SECONDS = 20
"""How long its tickets, and the cookies that NameNodes give for one, are good for."""
READERS = "lake"
"""The group whose members are the service and no other user."""
HIVE_HOST = "localhost"
"""The host in HiveServer2's principal, which clients have to name."""

_UNCHECKED_FILES = Path(__file__).parent / "SecureIOUtils.java"
_OWNER = "nn"
_DAEMONS = (_OWNER, "dn", "rm", "nm")
_WEB = "HTTP"
_GROUPS = {ALICE: "staff", BOB: "staff", SERVICE: READERS, "hive": "hadoop"} | dict.fromkeys(
    _DAEMONS, "hadoop"
)


@dataclass(frozen=True)
class Members:
    """The members of a realm.

    Attributes:
        home: Their keytabs, `NAME.keytab`, and tickets.
        environment: Variables by which this process and its children find the realm.
    """

    home: Path
    environment: Mapping[str, str]

    def keytab(self, name: str) -> Path:
        """Return the file with the keys of a member."""
        return self.home / f"{name}.keytab"

    def cache(self, name: str) -> str:
        """Return where a member's tickets are, as KRB5CCNAME has it."""
        return f"FILE:{self.home / name}.tickets"

    def log_in(self, name: str) -> None:
        """Get a user a ticket, as `kinit` does.

        Raises:
            subprocess.CalledProcessError: There is no such user.
        """
        principal = f"{name}/{HOST}" if name in _DAEMONS else name
        subprocess.run(
            ["kinit", "-k", "-t", str(self.keytab(name)), "-c", self.cache(name), principal],
            env={**os.environ, **self.environment},
            check=True,
            capture_output=True,
        )

    @contextmanager
    def user(self, name: str) -> Iterator[None]:
        """Make this process the user's, who has logged in, within the context."""
        with patch.dict(os.environ, {"KRB5CCNAME": self.cache(name)}):
            yield

    def security(self) -> Security:
        """Return what the cluster needs to know of them."""
        return Security(
            clients=_of_clients(),
            daemons=self._of_daemons(),
            environment={**self.environment, "KRB5CCNAME": self.cache(_OWNER)},
            replacements=(_UNCHECKED_FILES,),
        )

    def of_hive(self) -> dict[str, str]:
        """Return the settings of a HiveServer2 whose queries run as those who ask."""
        ours = "hive.server2.authentication"
        return {
            ours: "KERBEROS",
            f"{ours}.kerberos.principal": f"hive/{HIVE_HOST}@{REALM}",
            f"{ours}.kerberos.keytab": str(self.keytab("hive")),
            "hive.server2.enable.doAs": "true",
        }

    def _of_daemons(self) -> dict[str, str]:
        web = {"principal": _principal(_WEB), "keytab": str(self.keytab(_WEB))}
        return {
            "dfs.block.access.token.enable": "true",
            "dfs.namenode.keytab.file": str(self.keytab("nn")),
            "dfs.datanode.keytab.file": str(self.keytab("dn")),
            "yarn.resourcemanager.keytab": str(self.keytab("rm")),
            "yarn.nodemanager.keytab": str(self.keytab("nm")),
            **{f"dfs.web.authentication.kerberos.{name}": value for name, value in web.items()},
            # Without these a name is enough over HTTP.
            "hadoop.http.authentication.type": "kerberos",
            **{f"hadoop.http.authentication.kerberos.{name}": value for name, value in web.items()},
            "hadoop.http.authentication.token.validity": str(SERVICE_TICKET_SECONDS),
            # DataNodes' ports are not those of root.
            "ignore.secure.ports.for.testing": "true",
            # By which containers find the realm.
            "yarn.nodemanager.env-whitelist": "JAVA_HOME,JAVA_TOOL_OPTIONS",
        }


@contextmanager
def running_members(home: Path) -> Iterator[Members]:
    """Run the realm with its files in `home`; users and the owner of HDFS have logged in.

    Raises:
        subprocess.CalledProcessError: The realm cannot be made.
        devtools.process.ServerError: Its server did not start.
    """
    home = home.resolve()
    keytabs = {
        **{f"{name}.keytab": (f"{name}/{HOST}",) for name in (*_DAEMONS, _WEB)},
        **{f"{name}.keytab": (name,) for name in (ALICE, BOB)},
        "hive.keytab": (f"hive/{HIVE_HOST}",),
        f"{SERVICE}.keytab": (f'-maxlife "{SERVICE_TICKET_SECONDS} seconds" {SERVICE}',),
    }
    with running_realm(home, keytabs) as environment, patch.dict(os.environ, environment):
        members = Members(home, environment)
        for name in (_OWNER, ALICE, BOB):
            members.log_in(name)
        yield members


def _principal(name: str) -> str:
    return f"{name}/{HOST}@{REALM}"


def _of_clients() -> dict[str, str]:
    groups = ";".join(f"{name}={group}" for name, group in _GROUPS.items())
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.proxyuser.hive.hosts": "*",
        "hadoop.proxyuser.hive.groups": "*",
        "hadoop.user.group.static.mapping.overrides": groups,
        "dfs.data.transfer.protection": "authentication",
        "dfs.namenode.kerberos.principal": _principal("nn"),
        "dfs.datanode.kerberos.principal": _principal("dn"),
        "yarn.resourcemanager.principal": _principal("rm"),
        "yarn.nodemanager.principal": _principal("nm"),
        # There is no server of the history, which jobs would ask for a token.
        "mapreduce.jobhistory.address": "",
    }
