"""HiveServer2 and Spark with S3A, Hadoop's client of S3, and tables copied to a bucket."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from devtools.hive_versions import HIVE_4
from devtools.hiveserver import HiveServer
from devtools.runtime import SHORT_RUN, WORK, RuntimeMissingError
from pyhudi_expr.tables.storage import Storage

_JARS = WORK / "s3a"
_SPARK_JARS = WORK / "s3a-spark"


def hive_server(
    run_dir: Path,
    environment: Mapping[str, str],
    endpoint: str,
    jvm_options: Sequence[str] = SHORT_RUN,
) -> HiveServer:
    """Return a HiveServer2, not started, that reaches an S3 server by S3A.

    A request is not tried again, so that what is counted was asked for. Hive hides the keys from
    the tasks of Tez: the process that starts it needs the environment, too.

    Args:
        run_dir: Its directory, created if it is missing.
        environment: Of the server, as `S3Server.environment` returns it.
        endpoint: The URL of the server, or of a proxy before it.
        jvm_options: See `HiveServer`.

    Raises:
        RuntimeMissingError: S3A's jars have not been fetched.
    """
    if not (_JARS / ".ready").is_file():
        raise RuntimeMissingError(f"no S3A in {_JARS}: run `make s3a`")
    jars = (*HIVE_4.aux_jars(), *sorted(_JARS.glob("*.jar")))
    settings = s3a_settings(environment, endpoint)
    return HiveServer(run_dir, jars=jars, heap="1g", jvm_options=jvm_options, settings=settings)


def spark_s3a_jars() -> tuple[Path, ...]:
    """Return the jars for Spark's class path; none if they have not been fetched."""
    return tuple(sorted(_SPARK_JARS.glob("*.jar")))


def s3a_settings(environment: Mapping[str, str], endpoint: str) -> dict[str, str]:
    """Return the settings by which Hadoop reaches an S3 server; see `hive_server`."""
    return {
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.endpoint.region": environment["AWS_REGION"],
        "fs.s3a.access.key": environment["AWS_ACCESS_KEY_ID"],
        "fs.s3a.secret.key": environment["AWS_SECRET_ACCESS_KEY"],
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.attempts.maximum": "1",
    }


def upload(table: Path, bucket: str) -> str:
    """Copy a table's files, in place of what is there, to the server of the environment.

    An object store knows no empty directories, and needs no checksum files. Return the table's URI
    for Hive.
    """
    uri = f"s3a://{bucket}/{table.name}"
    storage = Storage.open(uri)
    storage.delete_dir("")
    files = [file for file in table.rglob("*") if file.is_file() and file.suffix != ".crc"]

    def write(file: Path) -> None:
        storage.write(str(file.relative_to(table)), file.read_bytes())

    storage.at_once(write, files)
    return uri
