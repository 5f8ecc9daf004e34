"""Servers of AWS's APIs as child processes: what they and their clients have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devtools.process import ServerProcess
from devtools.runtime import is_listening

if TYPE_CHECKING:
    from typing_extensions import Self

_START_SECONDS = 60.0
_KEYS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}


class AwsServer:
    """A server in memory on a port of the loopback interface; a context manager.

    Attributes:
        endpoint: Its URL.
    """

    def __init__(
        self, service: str, region: str, port: int, command: Sequence[str], directory: Path
    ) -> None:
        """Start it and return when it listens.

        Args:
            service: The name of its API at AWS.
            region: The region that its clients ask.
            port: The port on which the command has it listen.
            command: Starts it.
            directory: For its log, `SERVICE.log`.
        """
        self.endpoint = f"http://127.0.0.1:{port}"
        self._service = service
        self._region = region
        self._process = ServerProcess(service, command, output=directory / f"{service}.log")
        self._process.wait_until(lambda: is_listening(port), _START_SECONDS)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of clients. The server takes any keys."""
        return {
            **_KEYS,
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self) -> Any:  # noqa: ANN401 - botocore has no types
        """Return a client of botocore."""
        import botocore.session

        return botocore.session.Session().create_client(
            self._service,
            region_name=self._region,
            endpoint_url=self.endpoint,
            **{name.lower(): key for name, key in _KEYS.items()},
        )

    def stop(self) -> None:
        """Stop it."""
        self._process.stop(2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
