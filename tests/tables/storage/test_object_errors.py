"""What users see when an object store cannot be used: one line, in seconds."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
from obstore import exceptions

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.storage.object_clients import as_os_error
from tests.tables.storage.failing_servers import refusing_port, repeating_server, silent_server

_KEYS = {"access_key_id": "reader", "secret_access_key": "S3CR3T-K3Y"}
_CLOUDS = ("AWS_", "GOOGLE_", "AZURE_", "OSS_", "PYHUDI_STORAGE")
_SOON, _MINUTE = 20.0, 55.0

Call = Callable[[Storage], object]
_CALLS: dict[str, Call] = {
    "read": lambda storage: storage.read("f"),
    "list": lambda storage: storage.list("d"),
    "stat": lambda storage: storage.stat("f"),
    "open_input": lambda storage: storage.open_input("f"),
    "read_if_present": lambda storage: storage.read_if_present("f"),
    "write": lambda storage: storage.write("f", b""),
    "create": lambda storage: storage.create("f", b""),
    "replace": lambda storage: storage.replace("f", b"", '{"e_tag": "1"}'),
    "delete_dir": lambda storage: storage.delete_dir("d"),
    "table": lambda storage: HudiTable.at(storage),
}


@pytest.fixture(autouse=True)
def _no_settings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cloud's variables, but those of the server that the test uses."""
    if "s3_env" in request.fixturenames:
        return
    for name in os.environ:
        if name.startswith(_CLOUDS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")


@contextmanager
def one_line(uri: str, message: str, seconds: float = _SOON) -> Iterator[None]:
    """Expect an error of one line that names the URI, within this time, and without secrets."""
    started = time.monotonic()
    with pytest.raises(HudiError) as raised:
        yield
    assert time.monotonic() - started < seconds
    text = str(raised.value)
    assert text.startswith(f"{uri}: ")
    assert re.search(message, text), text
    assert "\n" not in text
    assert "Generic" not in text
    assert _KEYS["secret_access_key"] not in text


@pytest.mark.s3
@pytest.mark.parametrize("call", sorted({*_CALLS} - {"replace", "open_input"}))
def test_a_missing_bucket(call: str, s3_env: Mapping[str, str]) -> None:
    uri = "s3://no-such-bucket/t"
    with one_line(uri, "the bucket or container does not exist"):
        _CALLS[call](Storage.open(uri))


@pytest.mark.s3
@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize(
    "keys", [_KEYS, {"access_key_id": "local-identity", "secret_access_key": "S3CR3T-K3Y"}]
)
def test_wrong_keys(
    call: str, keys: Mapping[str, str], s3_bucket: str, s3_env: Mapping[str, str]
) -> None:
    uri = f"s3a://{s3_bucket}/t"
    with one_line(uri, "access is denied: .*403 Forbidden"):
        _CALLS[call](Storage.open(uri, keys))


@pytest.mark.parametrize("call", _CALLS)
def test_a_server_that_refuses_connections(call: str) -> None:
    with refusing_port() as endpoint, one_line("s3://b/t", re.escape(endpoint)):
        _CALLS[call](Storage.open("s3://b/t", {**_KEYS, "endpoint": endpoint}))


@pytest.mark.long
@pytest.mark.parametrize(("call", "seconds"), [("table", 30.0), ("create", _MINUTE)])
def test_a_server_that_never_answers(call: str, seconds: float) -> None:
    with silent_server() as endpoint, one_line("s3://b/t", re.escape(endpoint), seconds):
        _CALLS[call](Storage.open("s3://b/t", {**_KEYS, "endpoint": endpoint}))


def test_the_time_limit_is_an_option() -> None:
    options = {**_KEYS, "read_timeout": "1s"}
    with silent_server() as endpoint, one_line("s3://b/t", "error sending request"):
        Storage.open("s3://b/t", {**options, "endpoint": endpoint}).read("f")


@pytest.mark.parametrize("call", _CALLS)
def test_a_server_that_repeats_what_it_was_sent(call: str) -> None:
    options = {**_KEYS, "session_token": _KEYS["secret_access_key"]}
    with repeating_server() as endpoint, one_line("s3://b/t", "400 Bad Request"):
        secret = endpoint.replace("://", f"://{_KEYS['secret_access_key']}@")
        _CALLS[call](Storage.open("s3://b/t", {**options, "endpoint": secret}))


def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing_port() as nobody, one_line("s3://b/t", "no credentials: none are set"):
        Storage.open("s3://b/t", {"metadata_endpoint": nobody}).read("f")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with one_line("s3://b/t", "no credentials: .*AWS_ACCESS_KEY_ID"):
        Storage.open("s3://b/t")
    Storage.open("s3://b/t", {"skip_signature": "true"})


@pytest.mark.parametrize(
    "uri", ["gs://b/t", "s3://b/t", "abfss://c@account.dfs.core.windows.net/t"]
)
def test_no_network(uri: str) -> None:
    with refusing_port() as nobody, one_line(uri, "no credentials|error sending request"):
        Storage.open(uri, {"proxy_url": nobody}).read("f")


def test_an_unknown_option_is_named() -> None:
    with one_line("s3://b/t", "'acces_key' is not valid"):
        Storage.open("s3://b/t", {"acces_key": _KEYS["secret_access_key"]}).read("f")


def test_a_malformed_option_is_told() -> None:
    with one_line("gs://b/t", "cannot be read: "):
        Storage.open("gs://b/t", {"service_account_key": "{S3CR3T-K3Y}"}).read("f")
    account = "abfss://c@account.dfs.core.windows.net/t"
    with one_line(account, "Invalid Access Key"):
        Storage.open(account, {"account_key": "S3CR3T-K3Y"}).read("f")


def test_of_an_answer_the_code_and_the_message_are_shown() -> None:
    body = '{"error": {"code": 401, "message": "Anonymous caller", "token": "S3CR3T"}}'
    error = exceptions.GenericError(
        f"Generic GCS error: Error performing GET https://u:S3CR3T@host/b?sig=S3CR3T in 1s - "
        f"Server returned non-2xx status code: 401 Unauthorized: {body}\n\nDebug source:\nS3CR3T"
    )
    text = str(as_os_error(error, "f"))
    shown = "Error performing GET https://host/b in 1s - 401 Unauthorized: 401: Anonymous caller"
    assert text.startswith(f"access is denied: {shown}; docs/object-stores.md")
