"""What `hdfs://`, `viewfs://` and `webhdfs://` name by Hadoop's settings."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from devtools.hdfs.servers import write_settings
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.storage.hadoop.backend import WebHdfsBackend
from pyhudi_expr.tables.storage.hadoop.name_nodes import carried_options
from pyhudi_expr.tables.storage.object_options import unknown_options

_VIA = {"hdfs_via": "webhdfs"}
_PAIR = {
    "dfs.nameservices": "lake, archive",
    "dfs.ha.namenodes.lake": "a,b",
    "dfs.namenode.rpc-address.lake.a": "m1:8020",
    "dfs.namenode.rpc-address.lake.b": "m2:8020",
    "dfs.namenode.http-address.lake.a": "m1:50070",
    "dfs.namenode.http-address.lake.b": "0.0.0.0:50071",
    "dfs.namenode.https-address.lake.a": "m1:50470",
    "dfs.namenode.rpc-address.archive": "m3:9000",
}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME", "PYHUDI_HDFS_VIA"):
        monkeypatch.delenv(name, raising=False)


def named(uri: str, settings: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The addresses of the NameNodes, and the path, by settings as storage options."""
    storage = Storage.open(uri, {**_VIA, **settings})
    assert isinstance(storage.backend, WebHdfsBackend)
    assert storage.uri == uri
    return storage.backend.name_nodes.addresses, storage.root


@pytest.mark.parametrize(
    ("uri", "settings", "addresses"),
    [
        ("hdfs://lake/a//b/", _PAIR, ("m1:50070", "m2:50071")),
        ("HDFS://lake/a/b", _PAIR, ("m1:50070", "m2:50071")),
        ("hdfs://lake/a/b", {**_PAIR, "dfs.http.policy": "HTTPS_ONLY"}, ("m1:50470", "m2:9871")),
        ("hdfs:///a/b", {**_PAIR, "fs.defaultFS": "hdfs://lake"}, ("m1:50070", "m2:50071")),
        ("hdfs:/a/b", {**_PAIR, "fs.defaultFS": "hdfs://lake/"}, ("m1:50070", "m2:50071")),
        ("webhdfs://lake/a/b", _PAIR, ("m1:50070", "m2:50071")),
        ("swebhdfs://lake/a/b", _PAIR, ("m1:50470", "m2:9871")),
        ("hdfs://archive/a/b", _PAIR, ("m3:9870",)),
        ("hdfs://m2:8020/a/b", _PAIR, ("m2:50071",)),
        ("hdfs://m3:9000/a/b", _PAIR, ("m3:9870",)),
        ("hdfs://other.host/a/b", _PAIR, ("other.host:9870",)),
        ("hdfs://nn/a/b", {}, ("nn:9870",)),
        ("hdfs://nn:8020/a/b", {"dfs.http.policy": "HTTPS_ONLY"}, ("nn:9871",)),
        ("hdfs://nn:8020/a/b", {"dfs.namenode.http-address": "0.0.0.0:50070"}, ("nn:50070",)),
        (
            "hdfs://nn:8020/a/b",
            {"fs.defaultFS": "hdfs://nn", "dfs.namenode.http-address": "gate:14000"},
            ("gate:14000",),
        ),
        (
            "hdfs://elsewhere:8020/a/b",
            {"fs.defaultFS": "hdfs://nn", "dfs.namenode.http-address": "gate:14000"},
            ("elsewhere:9870",),
        ),
    ],
)
def test_the_name_nodes_of_a_uri(
    uri: str, settings: dict[str, str], addresses: tuple[str, ...]
) -> None:
    assert named(uri, settings) == (addresses, "a/b")


_VIEWS = {
    **_PAIR,
    "fs.defaultFS": "viewfs://all",
    "fs.viewfs.mounttable.all.link./data": "hdfs://lake/warehouse/",
    "fs.viewfs.mounttable.all.link./data/old": "hdfs://archive/kept",
    "fs.viewfs.mounttable.rest.link./x": "hdfs://lake/x",
    "fs.viewfs.mounttable.rest.linkFallback": "hdfs://archive/rest",
}


@pytest.mark.parametrize(
    ("uri", "addresses", "path"),
    [
        ("viewfs://all/data/t", ("m1:50070", "m2:50071"), "warehouse/t"),
        ("viewfs:///data/t", ("m1:50070", "m2:50071"), "warehouse/t"),
        ("viewfs:/data", ("m1:50070", "m2:50071"), "warehouse"),
        ("viewfs://all/data/old/t", ("m3:9870",), "kept/t"),
        ("viewfs://all/data/older/t", ("m1:50070", "m2:50071"), "warehouse/older/t"),
        ("viewfs://rest/x/t", ("m1:50070", "m2:50071"), "x/t"),
        ("viewfs://rest/y/t", ("m3:9870",), "rest/y/t"),
    ],
)
def test_the_longest_link_of_a_mount_table_counts(
    uri: str, addresses: tuple[str, ...], path: str
) -> None:
    assert named(uri, _VIEWS) == (addresses, path)


def test_a_mounted_directory_may_be_in_another_kind_of_storage(tmp_path: Path) -> None:
    views = {"fs.viewfs.mounttable.all.link./local": tmp_path.as_uri()}
    Storage.open("viewfs://all/local/a", {**_VIA, **views}).write("f", b"x")
    assert (tmp_path / "a" / "f").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("uri", "settings", "problem"),
    [
        ("hdfs:///a", {}, r"no NameNode is named.*HADOOP_CONF_DIR"),
        ("hdfs://nowhere/a", _PAIR, r"no address of the name service 'nowhere'.*dfs\.ha\.namen"),
        ("viewfs://all/other", _VIEWS, r"no link of the mount table 'all' holds the path"),
        ("webhdfs://host/a", {}, r"name the NameNode's host and HTTP port"),
        ("hdfs://lake/a", {"hdfs_via": "rest"}, r"hdfs_via: expected webhdfs or libhdfs"),
        ("hdfs://lake/a", {"hadoop_conf_dir": "/nowhere"}, r"/nowhere: Hadoop's configuration is"),
        ("hdfs://h/a", {"root_certificate": "/no.pem"}, r"option root_certificate: .*/no\.pem"),
    ],
)
def test_what_settings_do_not_say_is_an_error(
    uri: str, settings: dict[str, str], problem: str
) -> None:
    with pytest.raises(HudiError, match=problem):
        Storage.open(uri, {**_VIA, **settings})


def test_the_files_of_hadoop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Included files and variables count, and options win over them."""
    write_settings(tmp_path / "mounts.xml", {"fs.viewfs.mounttable.v.link./d": "hdfs://lake/w"})
    core = "<configuration xmlns:xi='http://www.w3.org/2001/XInclude'>"
    core += "<xi:include href='mounts.xml'/><property><name>master</name><value> m1 </value>"
    core += "</property></configuration>"
    (tmp_path / "core-site.xml").write_text(core)
    site = {
        "dfs.nameservices": "lake",
        "dfs.ha.namenodes.lake": "a,b",
        "dfs.namenode.http-address.lake.a": "${master}:50070",
        "dfs.namenode.http-address.lake.b": "${env.OTHER_MASTER}:50070",
    }
    write_settings(tmp_path / "hdfs-site.xml", site)
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("OTHER_MASTER", "m2")
    assert named("viewfs://v/d/t", {}) == (("m1:50070", "m2:50070"), "w/t")
    assert named("hdfs://lake/t", {"dfs.namenode.http-address.lake.b": "m4:1"})[0][1] == "m4:1"
    (tmp_path / "hdfs-site.xml").write_text("<configuration>")
    with pytest.raises(HudiError, match=r"hdfs-site\.xml: Hadoop's configuration cannot be read"):
        named("hdfs://lake/t", {})


def test_variables_of_the_process_map_hdfs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_settings(tmp_path / "hdfs-site.xml", _PAIR)
    monkeypatch.setenv("PYHUDI_HDFS_VIA", "webhdfs")
    monkeypatch.setenv("PYHUDI_HADOOP_CONF_DIR", str(tmp_path))
    backend = Storage.open("hdfs://lake/a").backend
    assert isinstance(backend, WebHdfsBackend)
    assert backend.name_nodes.addresses == ("m1:50070", "m2:50071")
    with pytest.raises(HudiError, match="libhdfs"):
        Storage.open("hdfs://lake/a", {"hdfs_via": "libhdfs"})


def test_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def user(**options: str) -> str:
        backend = Storage.open("hdfs://nn/a", {**_VIA, **options}).backend
        assert isinstance(backend, WebHdfsBackend)
        return backend.name_nodes.user

    monkeypatch.setenv("HADOOP_USER_NAME", "loader")
    assert user() == "loader"
    assert user(hadoop_user_name="reader") == "reader"


def test_a_task_on_another_machine_needs_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(tmp_path / "hdfs-site.xml", _PAIR)
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----")
    options = {**_VIA, "hadoop_conf_dir": str(tmp_path), "root_certificate": f"{tmp_path}/ca.pem"}
    monkeypatch.setenv("HADOOP_USER_NAME", "loader")
    carried = carried_options(options)
    (tmp_path / "hdfs-site.xml").unlink()
    monkeypatch.setenv("HADOOP_USER_NAME", "yarn")
    there = Storage.open("hdfs://lake/a", carried).backend
    assert isinstance(there, WebHdfsBackend)
    assert there.name_nodes.addresses == ("m1:50070", "m2:50071")
    assert (there.name_nodes.user, there.name_nodes.certificate[:10]) == ("loader", "-----BEGIN")
    assert pickle.loads(pickle.dumps(there)) == there  # noqa: S301 - our own
    assert carried_options({"region": "r"}) == {"region": "r"}


def test_object_stores_pass_over_the_options_of_hdfs() -> None:
    options = {**_VIA, **_PAIR, "hadoop_user_name": "loader", "region": "r"}
    assert unknown_options(options) == ()
    assert Storage.open("s3://bucket/t", options).client_options["aws_region"] == "r"
