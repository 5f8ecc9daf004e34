"""HiveServer2 with S3A, Hadoop's client of S3, and tables copied to a bucket."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from obstore.store import S3Store

from devtools.hive_versions import HIVE_4
from devtools.hiveserver import HiveServer
from devtools.runtime import WORK, RuntimeMissingError

_JARS = WORK / "s3a"
_UPLOADS = 8


def hive_server(run_dir: Path, environment: Mapping[str, str], endpoint: str) -> HiveServer:
    """Return a HiveServer2, not started, that reaches an S3 server by S3A.

    A request is not tried again, so that what is counted was asked for. Hive hides the keys from
    the tasks of Tez: the process that starts it needs the environment, too.

    Args:
        run_dir: Its directory, created if it is missing.
        environment: Of the server, as `S3Server.environment` returns it.
        endpoint: The URL of the server, or of a proxy before it.

    Raises:
        RuntimeMissingError: S3A's jars have not been fetched.
    """
    if not (_JARS / ".ready").is_file():
        raise RuntimeMissingError(f"no S3A in {_JARS}: run `make s3a`")
    settings = {
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.endpoint.region": environment["AWS_REGION"],
        "fs.s3a.access.key": environment["AWS_ACCESS_KEY_ID"],
        "fs.s3a.secret.key": environment["AWS_SECRET_ACCESS_KEY"],
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.attempts.maximum": "1",
    }
    jars = (*HIVE_4.aux_jars(), *sorted(_JARS.glob("*.jar")))
    return HiveServer(run_dir, jars=jars, heap="1g", settings=settings)


def upload(table: Path, bucket: str) -> str:
    """Copy a table's files, by the server of the environment. Return the URI by which Hive reads.

    An object store knows no empty directories, and needs no checksum files.
    """
    store = S3Store(bucket)
    files = [file for file in table.rglob("*") if file.is_file() and file.suffix != ".crc"]

    def put(file: Path) -> None:
        store.put(f"{table.name}/{file.relative_to(table)}", file.read_bytes())

    with ThreadPoolExecutor(_UPLOADS) as threads:
        list(threads.map(put, files))
    return f"s3a://{bucket}/{table.name}"
