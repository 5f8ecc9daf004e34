"""Settings of object stores: their names, and where they come from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage, process_options, set_storage_options
from pyhudi_expr.tables.storage.object_clients import client
from pyhudi_expr.tables.storage.object_options import unknown_options
from pyhudi_expr.tables.storage.process_options import OPTIONS_VARIABLE

_KEYS = ("access_key_id", "secret_access_key", "session_token")
_CREDENTIALS = """
[default]
aws_access_key_id = default key
aws_secret_access_key = default secret
[prod]
aws_access_key_id = prod key
aws_secret_access_key = prod/secret%25
aws_session_token = prod token
"""
_CONFIG = """
[default]
region = eu-north-1
s3 =
  max_concurrent_requests = 20
[profile prod]
region = eu-west-1
endpoint_url = https://prod.example
[profile keyless]
region = eu-west-3
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cloud's variables, and files of the AWS tools."""
    for name in os.environ:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "OSS_", "PYHUDI_STORAGE")):
            monkeypatch.delenv(name)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(_CREDENTIALS)
    (tmp_path / ".aws" / "config").write_text(_CONFIG)
    monkeypatch.setenv("HOME", str(tmp_path))


def settings(uri: str, options: Mapping[str, str] | None = None) -> dict[str, str]:
    backend: Any = Storage.open(uri, options).backend
    return dict(backend.address.settings)


def keys(options: Mapping[str, str] | None = None) -> list[str | None]:
    return [settings("s3://lake/t", options).get(name) for name in _KEYS]


@pytest.mark.parametrize(
    "options",
    [
        {"aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_session_token": "t"},
        {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"},
        {"access_key_id": "k", "secret_access_key": "s", "session_token": "t"},
        {"aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_token": "t"},
        {"fs.s3a.access.key": "k", "fs.s3a.secret.key": "s", "fs.s3a.session.token": "t"},
    ],
)
def test_keys_of_s3(options: Mapping[str, str]) -> None:
    assert keys(options) == ["k", "s", "t"]


@pytest.mark.parametrize(
    ("options", "endpoint"),
    [
        ({"endpoint": "http://h:9000/"}, "http://h:9000"),
        ({"aws_endpoint_url": "https://h"}, "https://h"),
        ({"fs.s3a.endpoint": "http://h:9000"}, "http://h:9000"),
        ({"fs.s3a.endpoint": "h:9000"}, "https://h:9000"),
        (
            {"fs.s3a.endpoint": "h:9000", "fs.s3a.connection.ssl.enabled": "false"},
            "http://h:9000",
        ),
        ({}, None),
    ],
)
def test_endpoints_of_s3(options: Mapping[str, str], endpoint: str | None) -> None:
    assert settings("s3a://lake/t", options).get("endpoint") == endpoint
    backend: Any = Storage.open("s3a://lake/t", options).backend
    of_client = dict(backend.address.client_settings)
    assert of_client.get("allow_http", False) is bool(endpoint and endpoint.startswith("http:"))


def test_settings_of_a_bucket_win() -> None:
    options = {
        "fs.s3a.bucket.lake.access.key": "lake's",
        "fs.s3a.bucket.lake.endpoint": "http://lake",
        "fs.s3a.access.key": "general",
        "fs.s3a.secret.key": "secret",
        "fs.s3a.endpoint": "http://general",
        "fs.s3a.bucket.lake2.access.key": "another's",
        "fs.s3a.connection.maximum": "100",
    }
    found = settings("s3a://lake/t", options)
    assert (found["access_key_id"], found["secret_access_key"]) == ("lake's", "secret")
    assert found["endpoint"] == "http://lake"
    assert not [key for key in found if key.startswith("fs.")]
    assert settings("s3a://other/t", options)["access_key_id"] == "general"


def test_anonymous_access() -> None:
    provider = "fs.s3a.aws.credentials.provider"
    name = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
    for options in ({provider: name}, {"skip_signature": "true"}):
        found = settings("s3a://lake/t", options)
        assert found["skip_signature"] == "true"
        assert not {*_KEYS} & found.keys()
    own = {f"fs.s3a.bucket.open.{provider.removeprefix('fs.s3a.')}": name}
    assert settings("s3a://open/t", own)["skip_signature"] == "true"
    assert "skip_signature" not in settings("s3a://lake/t", own)


def test_options_precede_the_environment_which_precedes_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert keys() == ["default key", "default secret", None]
    assert settings("s3://lake/t")["region"] == "eu-north-1"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "environment's")
    monkeypatch.setenv("AWS_REGION", "af-south-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://environment")
    assert keys() == [None, None, None]  # obstore reads the environment
    found = settings("s3://lake/t")
    assert (found["region"], found["endpoint"]) == ("af-south-1", "http://environment")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://s3")
    assert settings("s3://lake/t")["endpoint"] == "http://s3"
    set_storage_options({"access_key_id": "process's", "region": "process's"})
    try:
        assert settings("s3://lake/t")["region"] == "process's"
        given = {"aws_access_key_id": "given", "endpoint": "http://given"}
        found = settings("s3://lake/t", given)
        assert (found["access_key_id"], found["endpoint"]) == ("given", "http://given")
        assert found["region"] == "process's"
        assert settings("s3://lake/t", {"fs.s3a.access.key": "g"})["access_key_id"] == "g"
    finally:
        del os.environ[OPTIONS_VARIABLE]


def test_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_PROFILE", "prod")
    assert keys() == ["prod key", "prod/secret%25", "prod token"]
    found = settings("s3://lake/t")
    assert (found["region"], found["endpoint"]) == ("eu-west-1", "https://prod.example")
    monkeypatch.setenv("AWS_PROFILE", "keyless")
    assert keys() == [None, None, None]
    assert settings("s3://lake/t")["region"] == "eu-west-3"
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(HudiError, match=r"s3://lake/t: AWS_PROFILE: .* has the profile 'nobody'"):
        Storage.open("s3://lake/t")
    other = tmp_path / "other"
    other.write_text("[nobody]\naws_access_key_id = k\naws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(other))
    assert keys() == ["k", "s", None]
    other.write_text("[nobody]\naws_secret_access_key S3CR3T\n")
    with pytest.raises(HudiError, match=f"{other} cannot be read: ParsingError") as raised:
        Storage.open("s3://lake/t")
    assert "S3CR3T" not in str(raised.value)


def test_the_token_of_the_environment_is_of_the_keys_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of other keys")
    options = {"access_key_id": "k", "secret_access_key": "s"}
    backend: Any = Storage.open("s3://lake/t", options).backend
    provider: Any = client(backend.address).credential_provider
    assert provider() == {"access_key_id": "k", "secret_access_key": "s", "expires_at": None}
    assert "access" not in repr(provider)
    backend = Storage.open("s3://lake/t", {**options, "session_token": "t"}).backend
    assert client(backend.address).credential_provider is None


def test_options_of_other_clouds_are_passed_over() -> None:
    options = {
        "aws_access_key_id": "a",
        "aws_secret_access_key": "a",
        "fs.s3a.endpoint": "http://a",
        "google_service_account": "g.json",
        "azure_storage_account_key": "z",
        "fs.azure.account.key.shop.dfs.core.windows.net": "zz",
        "fs.oss.endpoint": "o",
        "oss_access_key_id": "o",
        "oss_access_key_secret": "o",
    }
    assert settings("gs://lake/t", options) == {"bucket": "lake", "service_account": "g.json"}
    assert settings("abfss://box@other/t", options) == {
        "container_name": "box",
        "account_name": "other",
        "account_key": "z",
    }
    assert settings("oss://lake/t", options)["access_key_id"] == "o"
    assert "service_account" not in settings("s3://lake/t", options)
    assert Storage.open("/local", options).root == "/local"


def test_hadoop_s_names_for_azure() -> None:
    account = "shop.dfs.core.windows.net"
    uri = f"abfss://box@{account}/t"
    options = {
        f"fs.azure.account.key.{account}": "shop's",
        "fs.azure.account.key.other.dfs.core.windows.net": "other's",
        "fs.azure.account.key": "general",
    }
    assert settings(uri, options)["account_key"] == "shop's"
    assert settings("abfss://box@third/t", options)["account_key"] == "general"
    token = settings(uri, {f"fs.azure.sas.fixed.token.{account}": "sv=1&sig=2"})
    assert token["sas_key"] == "sv=1&sig=2"
    oauth = {
        f"fs.azure.account.oauth2.client.id.{account}": "c",
        f"fs.azure.account.oauth2.client.secret.{account}": "s",
        "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/T/oauth2/token",
    }
    found = settings(uri, oauth)
    assert (found["client_id"], found["client_secret"], found["tenant_id"]) == ("c", "s", "T")


@pytest.mark.parametrize("prefix", ["fs.gs.", "google.cloud."])
def test_hadoop_s_names_for_gcs(prefix: str) -> None:
    options = {f"{prefix}auth.service.account.json.keyfile": "/k.json", "fs.gs.project.id": "p"}
    assert settings("gs://lake/t", options) == {"bucket": "lake", "service_account": "/k.json"}


def test_settings_of_the_http_client(tmp_path: Path) -> None:
    certificate = tmp_path / "ca.pem"
    certificate.write_text("-----BEGIN CERTIFICATE-----")
    options = {
        "root_certificate": str(certificate),
        "proxy_url": "http://p:1",
        "allow_invalid_certificates": "True",
        "timeout": "9s",
    }
    backend: Any = Storage.open("gs://lake/t", options).backend
    assert dict(backend.address.client_settings) == {
        "root_certificate": "-----BEGIN CERTIFICATE-----",
        "proxy_url": "http://p:1",
        "allow_invalid_certificates": True,
        "timeout": "9s",
    }
    with pytest.raises(
        HudiError, match=r"gs://lake/t: the storage option root_certificate: .*no\.pem"
    ):
        Storage.open("gs://lake/t", {"root_certificate": str(tmp_path / "no.pem")})


def test_hudi_rs_gets_the_same_settings() -> None:
    options = {"fs.s3a.access.key": "k", "fs.s3a.secret.key": "s", "endpoint": "http://h"}
    assert Storage.open("s3a://lake/t", options).client_options == {
        "aws_access_key_id": "k",
        "aws_secret_access_key": "s",
        "aws_endpoint": "http://h",
        "aws_region": "eu-north-1",
        "aws_bucket": "lake",
        "allow_http": "true",
    }


def test_options_of_the_process_are_those_of_its_children() -> None:
    set_storage_options({"a": "1"})
    try:
        assert process_options() == {"a": "1"}
        assert os.environ[OPTIONS_VARIABLE] == '{"a": "1"}'
    finally:
        del os.environ[OPTIONS_VARIABLE]
    assert process_options() == {}


def test_names_that_no_store_has_are_found() -> None:
    document = Path(__file__).parents[3] / "docs" / "object-stores.md"
    table = document.read_text().partition("| store | names |")[2].partition("\n\n")[0]
    documented = re.findall(r"`((?:\w|\.)+)`", table)
    assert "oss_access_key_secret" in documented
    assert unknown_options(one for one in documented if one.islower() and one[0] != ".") == ()
    wrong = ("aws_regoin", "regoin", "google_region", "azure_storage_region", "oss_key", "colour")
    assert unknown_options(wrong) == wrong
    assert unknown_options(("fs.s3a.paging.maximum", "region", "AWS_REGION")) == ()
