"""S3Proxy from the jars that `make s3` fetches: an S3 server over a local directory."""

import base64
import hmac
import http.client
from collections.abc import Mapping
from email.utils import formatdate
from pathlib import Path

from devtools.process import ServerError, ServerProcess
from devtools.runtime import COLLECTOR, ROOT, WORK, RuntimeMissingError, free_port, java

_JARS = WORK / "s3"
_LOGBACK = ROOT / "devtools" / "s3" / "logback.xml"
_MAIN = "org.gaul.s3proxy.Main"
_REGION = "us-east-1"
START_SECONDS = 60.0
_REQUEST_SECONDS = 20.0
# It serves no one any more, and has written what it answered.
_STOP_SECONDS = 2.0


class S3Server:
    """An S3Proxy process on a free port of the loopback interface.

    It keeps the buckets in `directory`, and its settings and its log there, too. A conditional PUT
    is not atomic: S3Proxy compares first and then writes. Clients that race go through a
    `devtools.s3.proxy.RecordingProxy`.
    """

    access_key = "local-identity"
    secret_key = "local-credential"
    region = _REGION

    def __init__(self, directory: Path) -> None:
        """Prepare the server without starting it; `directory` is created if it is missing."""
        self.directory = directory.resolve()
        self.port = 0
        self._process: ServerProcess | None = None

    @property
    def endpoint(self) -> str:
        """The URL of the server, for clients that address buckets by the path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The id of the process. Raises ServerError if the server was not started."""
        if self._process is None:
            raise ServerError("S3Proxy was not started")
        return self._process.pid

    def start(self) -> None:
        """Start the server and return when it answers.

        Raises:
            RuntimeMissingError: Its jars have not been fetched.
            ServerError: It ended, or did not answer in time; the message shows its log.
        """
        if not (_JARS / ".ready").is_file():
            raise RuntimeMissingError(f"no S3Proxy in {_JARS}: run `make s3`")
        self.stop()
        self.port = free_port()
        self._process = ServerProcess(
            "S3Proxy", self._command(self._write_settings()), output=self.directory / "s3proxy.log"
        )
        self._process.wait_until(self._answers, START_SECONDS)

    def stop(self) -> None:
        """Stop the server if it runs; the buckets and the log remain."""
        if self._process is not None:
            self._process.stop(_STOP_SECONDS)
            self._process = None

    def create_bucket(self, name: str) -> str:
        """Create a bucket unless it exists, and return its name.

        Raises:
            ServerError: The server refused.
        """
        status, answer = self._request("PUT", f"/{name}", self.signed_headers("PUT", f"/{name}"))
        if status not in (200, 409):  # 409: it exists.
            raise ServerError(f"S3Proxy answered {status} for a new bucket {name}: {answer}")
        return name

    def signed_headers(self, method: str, path: str) -> dict[str, str]:
        """Return the headers that allow a request without a client's library.

        The request has no query, no Content-Type and no header x-amz-...: this is the second
        version of signatures, which is short.
        """
        date = formatdate(usegmt=True)
        text = f"{method}\n\n\n{date}\n{path}".encode()
        digest = hmac.digest(self.secret_key.encode(), text, "sha1")
        signature = base64.b64encode(digest).decode()
        return {"Date": date, "Authorization": f"AWS {self.access_key}:{signature}"}

    def environment(self, endpoint: str | None = None) -> dict[str, str]:
        """Return the environment variables by which clients find the server and their keys.

        Args:
            endpoint: The URL of a proxy before the server; None for the server itself.
        """
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": _REGION,
            "AWS_DEFAULT_REGION": _REGION,
            "AWS_ENDPOINT_URL": endpoint or self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            # Nobody's own settings, and no question to a metadata service that is not there.
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def storage_options(self) -> dict[str, str]:
        """Return the same as storage options (`Storage.open`), for the server itself."""
        return {
            "endpoint": self.endpoint,
            "access_key_id": self.access_key,
            "secret_access_key": self.secret_key,
            "region": _REGION,
        }

    def __enter__(self) -> "S3Server":
        """Start the server."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self.stop()

    @property
    def _buckets(self) -> Path:
        return self.directory / "buckets"

    def _write_settings(self) -> Path:
        self._buckets.mkdir(parents=True, exist_ok=True)
        settings = {
            "s3proxy.endpoint": self.endpoint,
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": self.access_key,
            "s3proxy.credential": self.secret_key,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self._buckets),
        }
        path = self.directory / "s3proxy.conf"
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return path

    def _command(self, settings: Path) -> list[str]:
        return [
            str(java()),
            "-Xmx256m",
            *COLLECTOR,
            f"-Dlogback.configurationFile={_LOGBACK}",
            "-cp",
            f"{_JARS}/*",
            _MAIN,
            "--properties",
            str(settings),
        ]

    def _answers(self) -> bool:
        """Whether it answers a request, if only that it allows nothing without a signature."""
        try:
            self._request("GET", "/", {})
        except (OSError, http.client.HTTPException):
            return False
        return True

    def _request(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_REQUEST_SECONDS)
        try:
            connection.request(method, path, headers=dict(headers))
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        finally:
            connection.close()
