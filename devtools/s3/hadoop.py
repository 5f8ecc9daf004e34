"""Hadoop's client of S3, S3A, for the HiveServer2 of the tests."""

from pathlib import Path

from devtools.runtime import WORK, RuntimeMissingError
from devtools.s3.server import S3Server

_JARS = WORK / "s3a"


def s3a_jars() -> tuple[Path, ...]:
    """Return the jars for Hive's auxiliary path.

    Raises:
        RuntimeMissingError: They have not been fetched.
    """
    if not (_JARS / ".ready").is_file():
        raise RuntimeMissingError(f"no S3A in {_JARS}: run `make s3a`")
    return tuple(sorted(_JARS.glob("*.jar")))


def s3a_settings(server: S3Server, endpoint: str | None = None) -> dict[str, str]:
    """Return the settings by which Hadoop reaches the server, or a proxy at `endpoint` before it.

    A request is not tried again, so that what a test counts was asked for. Hive hides the keys from
    the tasks of Tez: HiveServer2 needs `server.environment()`, too.
    """
    return {
        "fs.s3a.endpoint": endpoint or server.endpoint,
        "fs.s3a.endpoint.region": server.region,
        "fs.s3a.access.key": server.access_key,
        "fs.s3a.secret.key": server.secret_key,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.attempts.maximum": "1",
    }
