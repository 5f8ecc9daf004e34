"""DynamoDB Local as a child process, from the jars that `make dynamodb` fetches."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devtools.process import ServerProcess
from devtools.runtime import COLLECTOR, WORK, RuntimeMissingError, free_port, is_listening, java

JARS = WORK / "dynamodb"
_MAIN = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
_START_SECONDS = 60.0
_REGION = "us-east-1"


class DynamodbServer:
    """A server in memory on a free port of the loopback interface; a context manager."""

    def __init__(self, directory: Path) -> None:
        """Start it and return when it listens; its log is kept in `directory`.

        Raises:
            RuntimeMissingError: Its jars have not been fetched.
        """
        if not (JARS / ".ready").is_file():
            raise RuntimeMissingError(f"no DynamoDB Local in {JARS}: run `make dynamodb`")
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        command = [str(java()), "-Xmx256m", *COLLECTOR, f"-Dsqlite4java.library.path={JARS}"]
        command += ["-cp", f"{JARS}/*", _MAIN, "-inMemory", "-disableTelemetry"]
        self._process = ServerProcess(
            "DynamoDB", [*command, "-port", str(port)], output=directory / "dynamodb.log"
        )
        self._process.wait_until(lambda: is_listening(port), _START_SECONDS)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of clients. The server takes any keys."""
        return {
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": _REGION,
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self) -> Any:  # noqa: ANN401 - botocore has no types
        """Return a client of botocore."""
        import botocore.session

        return botocore.session.Session().create_client(
            "dynamodb",
            region_name=_REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )

    def create_table(self, name: str) -> None:
        """Create a table as Hudi's writers do."""
        self.client().create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def stop(self) -> None:
        """Stop it."""
        self._process.stop(2)

    def __enter__(self) -> "DynamodbServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
