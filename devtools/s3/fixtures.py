"""Pytest fixtures of an S3 server and the proxy before it, registered by the root's `conftest.py`.

A test that uses one is marked `s3`. The server starts at its first use, and stops at the end.
"""

import hashlib
from collections.abc import Iterator, Mapping

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import RuntimeMissingError
from devtools.s3.hadoop import s3a_settings, spark_s3a_jars
from devtools.s3.proxy import RecordingProxy
from devtools.s3.server import S3Server
from pyhudi_expr.tables.storage import using_storage_options

_OWN_SETTINGS = (
    *("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"),
    "PYHUDI_STORAGE_OPTIONS",
)


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server, which tests reach through `s3_proxy`."""
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="session")
def _s3_proxy(s3_server: S3Server) -> Iterator[RecordingProxy]:
    with RecordingProxy(s3_server.port) as proxy:
        yield proxy


@pytest.fixture
def s3_proxy(_s3_proxy: RecordingProxy) -> Iterator[RecordingProxy]:
    """The proxy before `s3_server`; each test finds it without a delay, faults and requests."""
    _s3_proxy.reset()
    yield _s3_proxy
    _s3_proxy.reset()


@pytest.fixture
def s3_bucket(s3_server: S3Server, request: pytest.FixtureRequest) -> str:
    """An empty bucket of the test's own; its name is the same in each run, as are faults then."""
    digest = hashlib.blake2b(request.node.nodeid.encode(), digest_size=8).hexdigest()
    return s3_server.create_bucket(f"test-{digest}")


@pytest.fixture
def s3_env(
    s3_server: S3Server, s3_proxy: RecordingProxy, monkeypatch: pytest.MonkeyPatch
) -> Mapping[str, str]:
    """The AWS_* variables of `s3_proxy`, which the environment of this process has in the test."""
    for name in _OWN_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    environment = s3_server.environment(s3_proxy.endpoint)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return environment


@pytest.fixture
def spark_on_s3(
    spark: SparkSession, s3_server: S3Server, s3_proxy: RecordingProxy, s3_env: Mapping[str, str]
) -> Iterator[SparkSession]:
    """The session with S3A; requests of its JVM, its tasks and this process go to `s3_proxy`.

    S3A tries a request three times at most, within half a second.
    """
    if not spark_s3a_jars():
        raise RuntimeMissingError("no S3A for Spark: run `make s3a`")
    hadoop = spark._jsc.hadoopConfiguration()
    settings = {
        **s3a_settings(s3_server.environment(), s3_proxy.endpoint),
        "fs.s3a.retry.limit": "2",
        "fs.s3a.retry.interval": "100ms",
        # Readers that are interrupted do not give their connections back.
        "fs.s3a.connection.maximum": "2000",
    }
    before = {name: hadoop.get(name) for name in settings}
    for name, value in settings.items():
        hadoop.set(name, value)
    options = {**s3_server.storage_options(), "endpoint": s3_proxy.endpoint}
    with using_storage_options(options):
        yield spark
    for name, value in before.items():
        hadoop.unset(name) if value is None else hadoop.set(name, value)
