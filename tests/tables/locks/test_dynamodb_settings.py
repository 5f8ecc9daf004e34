"""Which item of DynamoDB the settings of Hudi's writers name, and whose keys are used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks import TableLock, UnknownLock, settings
from pyhudi_expr.tables.locks.dynamodb_lock import DynamodbLock, LockRequests
from pyhudi_expr.tables.storage import Storage, using_storage_options

_PACKAGE = "org.apache.hudi.aws.transaction.lock"
_EXPLICIT = f"{_PACKAGE}.DynamoDBBasedLockProvider"
_IMPLICIT = f"{_PACKAGE}.DynamoDBBasedImplicitPartitionKeyLockProvider"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    for name in ("AWS_REGION", "PYHUDI_STORAGE_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "table/.hoodie").mkdir(parents=True)
    properties = "hoodie.table.name=trips\nhoodie.table.version=6\n"
    (tmp_path / "table/.hoodie/hoodie.properties").write_text(properties)
    return Storage.open(str(tmp_path / "table"))


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({}, "trips of the DynamoDB table hudi_locks (us-east-1)"),
        (
            {
                settings.DYNAMODB_TABLE: "locks",
                settings.DYNAMODB_KEY: "k",
                settings.DYNAMODB_REGION: "eu-central-1",
            },
            "k of the DynamoDB table locks (eu-central-1)",
        ),
        (
            {settings.DYNAMODB_ENDPOINT: "localhost:8000"},
            "trips of the DynamoDB table hudi_locks (https://localhost:8000)",
        ),
        (
            {settings.DYNAMODB_ENDPOINT: "http://localhost:8000"},
            "trips of the DynamoDB table hudi_locks (http://localhost:8000)",
        ),
    ],
)
def test_the_item_of_the_settings(table: Storage, said: Mapping[str, str], place: str) -> None:
    assert str(DynamodbLock.of(table, _EXPLICIT, said, 0).address) == place


def test_the_region_is_that_of_hudis_writers(
    table: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    assert DynamodbLock.of(table, _EXPLICIT, {}, 0).address.region == "eu-west-1"
    monkeypatch.delenv("AWS_REGION")
    assert DynamodbLock.of(table, _EXPLICIT, {}, 0).address.region == "us-east-1"


@pytest.mark.parametrize(
    "uri", ["s3://my-bucket/my_lake/my_table", "s3a://my-bucket/my_lake/my_table/"]
)
def test_the_key_that_hudi_derives(uri: str) -> None:
    lock = DynamodbLock.of(Storage.open(uri, {"skip_signature": "true"}), _IMPLICIT, {}, 0)
    assert lock.address.key == "C0E15D0CE1AD11CC"  # of Hudi's own test


def test_the_key_of_a_local_table_needs_its_path_as_writers_spell_it(table: Storage) -> None:
    said = {settings.PROVIDER: _IMPLICIT, settings.DYNAMODB_KEY: "k"}
    with pytest.raises(UnknownLock, match=f"{_IMPLICIT}.* {settings.BASE_PATH} "):
        TableLock.of(table, said).check()
    TableLock.of(table, {**said, settings.BASE_PATH: f"file://{table.root}"}).check()


@pytest.mark.parametrize(
    ("wait", "lease", "renewal"), [("90000", 90, 30), ("500", 10, 10 / 3), ("", 60, 20)]
)
def test_the_lease_lasts_as_long_as_writers_wait(
    table: Storage, wait: str, lease: float, renewal: float
) -> None:
    lock = DynamodbLock.of(table, _EXPLICIT, {settings.WAIT: wait} if wait else {}, 0)
    assert (lock.validity, lock.renewal) == (lease, renewal)


@pytest.mark.parametrize(
    "options",
    [
        {"access_key_id": "me", "secret_access_key": "hidden", "token": "hidden, too"},
        {
            "fs.s3a.access.key": "me",
            "fs.s3a.secret.key": "hidden",
            "aws_session_token": "hidden, too",
            "oss_access_key_id": "another",
        },
    ],
)
def test_the_keys_of_the_storage_options_are_used(
    table: Storage, options: Mapping[str, str]
) -> None:
    assert DynamodbLock.of(table, _EXPLICIT, {}, 0).address.keys == {}
    with using_storage_options(options):
        address = DynamodbLock.of(Storage.open(table.uri), _EXPLICIT, {}, 0).address
    names = ("access_key_id", "secret_access_key", "session_token")
    assert address.keys == dict(zip(names, ("me", "hidden", "hidden, too"), strict=True))
    assert "hidden" not in repr(address)
    credentials = LockRequests(address)._client._get_credentials()
    assert (credentials.access_key, credentials.token) == ("me", "hidden, too")


def test_the_endpoint_of_s3_is_not_taken_for_that_of_dynamodb(
    table: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://minio:9000")
    requests = LockRequests(DynamodbLock.of(table, _EXPLICIT, {}, 0).address)
    assert requests._client.meta.endpoint_url == "https://dynamodb.us-east-1.amazonaws.com"


def test_a_server_that_does_not_answer_is_reported(table: Storage) -> None:
    said = {settings.PROVIDER: _EXPLICIT, settings.DYNAMODB_ENDPOINT: "http://127.0.0.1:1"}
    with (
        using_storage_options({"access_key_id": "me", "secret_access_key": "hidden"}),
        pytest.raises(
            HudiError, match=r"hudi_locks \(http://127\.0\.0\.1:1\) fails: .*endpoint_url"
        ),
        TableLock.of(Storage.open(table.uri), said).held("tries"),
    ):
        pass


def test_missing_credentials_are_reported(table: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    lock = TableLock.of(table, {settings.PROVIDER: _EXPLICIT})
    with pytest.raises(HudiError, match=r"NoCredentialsError: .* credentials"), lock.held("tries"):
        pass


def test_an_invalid_endpoint_is_reported(table: Storage) -> None:
    said = {settings.PROVIDER: _EXPLICIT, settings.DYNAMODB_ENDPOINT: "http://a b"}
    with pytest.raises(HudiError, match="endpoint"), TableLock.of(table, said).held("tries"):
        pass
