"""DynamoDB Local as a child process, from the jars that `make dynamodb` fetches."""

from collections.abc import Mapping
from pathlib import Path

from devtools.aws import AwsServer
from devtools.runtime import COLLECTOR, WORK, RuntimeMissingError, free_port, java

JARS = WORK / "dynamodb"
_MAIN = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
_REGION = "us-east-1"


class DynamodbServer(AwsServer):
    """A database in memory."""

    def __init__(self, directory: Path) -> None:
        """Start it on a free port and return when it listens; its log is kept in `directory`.

        Raises:
            RuntimeMissingError: Its jars have not been fetched.
        """
        if not (JARS / ".ready").is_file():
            raise RuntimeMissingError(f"no DynamoDB Local in {JARS}: run `make dynamodb`")
        port = free_port()
        command = [str(java()), "-Xmx256m", *COLLECTOR, f"-Dsqlite4java.library.path={JARS}"]
        command += ["-cp", f"{JARS}/*", _MAIN, "-inMemory", "-disableTelemetry"]
        super().__init__("dynamodb", _REGION, port, [*command, "-port", str(port)], directory)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of clients, with the region."""
        return {**super().environment, "AWS_REGION": _REGION}

    def create_table(self, name: str) -> None:
        """Create a table as Hudi's writers do."""
        self.client().create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
