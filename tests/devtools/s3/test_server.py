"""The S3 server starts, says why it does not, and leaves nothing running."""

import os
from pathlib import Path

import obstore
import pytest

from devtools.process import ServerError
from devtools.runtime import is_listening
from devtools.s3.server import S3Server
from tests.devtools.s3.stores import store

pytestmark = pytest.mark.s3


def test_clients_find_the_server_by_the_environment(s3_server, s3_bucket, monkeypatch):
    for name, value in s3_server.environment().items():
        monkeypatch.setenv(name, value)
    obstore.put(store(s3_bucket), "t/a", b"0123")
    assert bytes(obstore.get(store(s3_bucket), "t/a").bytes()) == b"0123"


def test_a_bucket_is_created_once(s3_server, s3_bucket):
    assert s3_server.create_bucket(s3_bucket) == s3_bucket
    with pytest.raises(ServerError, match=r"400 for a new bucket b: .*InvalidBucketName"):
        s3_server.create_bucket("b")


def test_a_server_that_cannot_start_shows_its_log(s3_server, tmp_path: Path, monkeypatch):
    server = S3Server(tmp_path)
    monkeypatch.setattr("devtools.s3.server.free_port", lambda: s3_server.port)
    # The other server answers on that port at once, so only the log tells.
    monkeypatch.setattr(server, "_answers", lambda: False)
    with pytest.raises(ServerError, match=r"(?s)S3Proxy ended with status .*Failed to bind"):
        server.start()


def test_the_process_ends_and_the_port_is_free(tmp_path: Path):
    with S3Server(tmp_path) as server:
        pid, port = server.pid, server.port
        assert is_listening(port)
    assert not is_listening(port)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
