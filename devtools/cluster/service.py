"""A pruning service that the cluster's containers reach by a host name, and that wants a token."""

import json
import secrets
import socket
from collections.abc import Sequence
from pathlib import Path

from devtools.cluster.hadoop import Cluster
from devtools.service import ServiceProcess
from pyhudi_expr.protocol.client import PruningClient

_TOKEN_BYTES = 24


class ClusterService(ServiceProcess):
    """`pyhudi serve` for tables on the cluster's HDFS, on every interface of the machine.

    Attributes:
        token_file: The file of its token.
    """

    def __init__(self, cluster: Cluster, run_dir: Path, *options: str, token: str = "") -> None:
        """Prepare the service without starting it.

        Args:
            cluster: What it reads.
            run_dir: Its directory.
            options: More options of `pyhudi serve`.
            token: The token that it wants; empty for a new one.
        """
        run_dir.mkdir(parents=True, exist_ok=True)
        self.token_file = run_dir.resolve() / "token"
        self._token = token or secrets.token_urlsafe(_TOKEN_BYTES)
        self.token_file.write_text(self._token)
        configured = run_dir / "service.toml"
        settings = {
            "token_file": str(self.token_file),
            "hdfs_via": "webhdfs",
            "hadoop_conf_dir": str((cluster.directory / "conf").resolve()),
        }
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
        configured.write_text("".join(lines))
        own = ("--config", str(configured), "--host", "0.0.0.0")
        super().__init__(run_dir, *own, *options)

    @property
    def address(self) -> str:
        """host:port, with a name of this machine that is not of the loopback interface."""
        return f"{socket.gethostname()}:{self.port}"

    def client(self, timeout: float = 2.0) -> PruningClient:
        """Return a client of the service, which the caller closes."""
        return PruningClient("127.0.0.1", self.port, timeout, token=self._token)


class ServiceWithOtherClock(ClusterService):
    """The same, whose clock is wrong."""

    def __init__(self, cluster: Cluster, run_dir: Path, token: str, ahead: float) -> None:
        """Prepare the service; its clock is so many seconds ahead of the others', or behind."""
        super().__init__(cluster, run_dir, token=token)
        self._ahead = ahead

    def program(self) -> Sequence[str]:
        """Return `pyhudi` with another clock."""
        return "-m", "devtools.cluster.other_clock", str(self._ahead)
