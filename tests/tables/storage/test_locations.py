"""URIs of object stores: the cloud, bucket or container, account and path that they name."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.storage.object_clients import AZURE, GCS, S3

_OSS = {
    "fs.oss.endpoint": "oss-cn-hangzhou.aliyuncs.com",
    "fs.oss.accessKeyId": "k",
    "fs.oss.accessKeySecret": "s",
}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "OSS_", "PYHUDI_STORAGE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")


def named(uri: str, **options: str) -> tuple[str, dict[str, str], str]:
    """The kind of store, its settings, and the path in it."""
    storage = Storage.open(uri, options)
    backend: Any = storage.backend
    assert storage.uri == uri
    return backend.address.kind, dict(backend.address.settings), storage.root


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n", "S3", "S3A"])
def test_buckets_of_s3(scheme: str) -> None:
    assert named(f"{scheme}://lake/a/b") == (
        S3,
        {"bucket": "lake", "region": "us-east-1"},
        "a/b",
    )


@pytest.mark.parametrize("scheme", ["gs", "gcs", "GS"])
def test_buckets_of_gcs(scheme: str) -> None:
    assert named(f"{scheme}://my.lake_1/a/b") == (GCS, {"bucket": "my.lake_1"}, "a/b")


@pytest.mark.parametrize("scheme", ["abfs", "abfss", "wasb", "wasbs", "ABFSS"])
@pytest.mark.parametrize("domain", ["", ".dfs.core.windows.net", ".blob.core.windows.net"])
def test_containers_of_azure(scheme: str, domain: str) -> None:
    kind, settings, path = named(f"{scheme}://box@shop{domain}/a/b")
    assert (kind, path) == (AZURE, "a/b")
    assert settings == {"container_name": "box", "account_name": "shop"}


@pytest.mark.parametrize(
    ("domain", "endpoint"),
    [
        ("dfs.core.chinacloudapi.cn", "https://shop.blob.core.chinacloudapi.cn"),
        ("blob.core.usgovcloudapi.net", "https://shop.blob.core.usgovcloudapi.net"),
        ("z12.dfs.storage.azure.net", "https://shop.z12.blob.storage.azure.net"),
    ],
)
def test_other_domains_of_azure(domain: str, endpoint: str) -> None:
    _, settings, _ = named(f"abfss://box@shop.{domain}/a")
    assert settings == {
        "container_name": "box",
        "account_name": "shop",
        "endpoint": endpoint,
    }
    _, settings, _ = named(f"abfss://box@shop.{domain}/a", endpoint="http://own:10000/shop")
    assert settings["endpoint"] == "http://own:10000/shop"


def test_the_account_may_be_an_option_or_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {"container_name": "box", "account_name": "shop"}
    assert named("az://box/a", azure_storage_account_name="shop")[1] == expected
    assert named("abfss://box@shop/a", account_name="other")[1] == expected
    with pytest.raises(HudiError, match="abfss://box/a: no storage account; write abfss://box@ACC"):
        Storage.open("abfss://box/a")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "shop")
    assert named("abfss://box/a")[1] == {"container_name": "box"}


@pytest.mark.parametrize("scheme", ["oss", "OSS"])
@pytest.mark.parametrize("prefix", ["", "https://", "http://"])
def test_buckets_of_oss(scheme: str, prefix: str) -> None:
    host = _OSS["fs.oss.endpoint"]
    kind, settings, path = named(
        f"{scheme}://lake/a/b", **{**_OSS, "fs.oss.endpoint": prefix + host}
    )
    assert (kind, path) == (S3, "a/b")
    assert settings["endpoint"] == f"{prefix or 'https://'}lake.{host}"
    assert (settings["bucket"], settings["virtual_hosted_style_request"]) == ("lake", "true")
    assert settings["conditional_put"] == "disabled"


def test_oss_needs_an_endpoint_and_keys_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        HudiError, match=r"oss://lake/a: no endpoint; set the option fs.oss.endpoint"
    ):
        Storage.open("oss://lake/a")
    monkeypatch.setenv("OSS_ENDPOINT", _OSS["fs.oss.endpoint"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of AWS")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of AWS")
    with pytest.raises(HudiError, match="oss://lake/a: no credentials; set OSS_ACCESS_KEY_ID"):
        Storage.open("oss://lake/a")
    monkeypatch.setenv("OSS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("OSS_ACCESS_KEY_SECRET", "s")
    _, settings, _ = named("oss://lake/a")
    assert (settings["access_key_id"], settings["secret_access_key"]) == ("k", "s")


@pytest.mark.parametrize(
    ("rest", "path"),
    [
        ("", ""),
        ("/", ""),
        ("//", ""),
        ("/a/", "a"),
        ("//a//b//", "a/b"),
        ("/a b/%2F/ü", "a b/%2F/ü"),
        ("/a?b#c", "a?b#c"),
        ("/day=2024-01-01 00:00:00", "day=2024-01-01 00:00:00"),
    ],
)
def test_paths_are_cleaned_as_hadoop_cleans_them(rest: str, path: str) -> None:
    assert named(f"s3a://lake{rest}")[2] == path
    assert named(f"gs://lake{rest}")[2] == path
    assert named(f"abfss://box@shop{rest}")[2] == path


@pytest.mark.parametrize("uri", ["s3:lake/a", "s3:///a", "gs://", "abfss:/box", "oss:///a"])
def test_a_uri_without_a_bucket_is_refused(uri: str) -> None:
    with pytest.raises(
        HudiError, match=f"{uri}: name the bucket: {uri.split(':')[0]}://bucket/path"
    ):
        Storage.open(uri)


@pytest.mark.parametrize("uri", ["adl://account.azuredatalakestore.net/a", "cosn://b/a", "x:y"])
def test_an_unknown_scheme_is_refused(uri: str) -> None:
    with pytest.raises(HudiError, match=f"{uri}: the file system cannot be used"):
        Storage.open(uri)


def test_other_directories_of_a_table() -> None:
    """With the same backend, or with the same options."""
    options = {"region": "r", "skip_signature": "true"}
    table = Storage.open("s3a://lake/a/t", options)
    assert table.child("b/c") == Storage.open("s3a://lake/a/t/b/c", options)
    assert table.resolve("b").root == "a/t/b"
    assert table.resolve("/locks/t").root == "locks/t"
    assert table.resolve("s3a://other/locks") == Storage.open("s3a://other/locks", options)
    assert table.child("b").resolve("s3a://other/locks").options == options
