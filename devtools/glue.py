"""A server of Glue's API as a child process: moto's, which `.[dev]` installs."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devtools.process import ServerProcess
from devtools.runtime import free_port, is_listening

_START_SECONDS = 60.0
_REGION = "eu-north-1"


class GlueServer:
    """A server in memory on a free port of the loopback interface; a context manager."""

    def __init__(self, directory: Path) -> None:
        """Start it and return when it listens; its log is kept in `directory`."""
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        self.address = f"glue://{_REGION}"
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        self._process = ServerProcess("Glue", command, output=directory / "glue.log")
        self._process.wait_until(lambda: is_listening(port), _START_SECONDS)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of clients. The server takes any keys."""
        return {
            "AWS_ENDPOINT_URL_GLUE": self.endpoint,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self) -> Any:  # noqa: ANN401 - botocore has no types
        """Return a client of botocore."""
        import botocore.session

        return botocore.session.Session().create_client(
            "glue",
            region_name=_REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )

    def stop(self) -> None:
        """Stop it."""
        self._process.stop(2)

    def __enter__(self) -> "GlueServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
