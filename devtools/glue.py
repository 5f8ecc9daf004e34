"""A server of Glue's API as a child process: moto's, which `.[dev]` installs."""

import sys
from collections.abc import Mapping
from pathlib import Path

from devtools.aws import AwsServer
from devtools.runtime import free_port

_REGION = "eu-north-1"


class GlueServer(AwsServer):
    """A catalog in memory."""

    def __init__(self, directory: Path) -> None:
        """Start it on a free port and return when it listens; its log is kept in `directory`."""
        port = free_port()
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        self.address = f"glue://{_REGION}"
        super().__init__("glue", _REGION, port, command, directory)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of clients, with the server's URL."""
        return {**super().environment, "AWS_ENDPOINT_URL_GLUE": self.endpoint}
