"""HDFS over TLS: NameNode and DataNode are asked by HTTPS, and have to show who they are."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.hdfs import Hdfs, running_hdfs
from devtools.hdfs.servers import write_settings
from devtools.runtime import free_port, java
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage
from tests.service.certificates import make

pytestmark = pytest.mark.long

_PASSWORD = "changeit"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hdfs, Mapping[str, str]]]:
    """The file system, and the storage options with which it is read over TLS."""
    directory = tmp_path_factory.mktemp("hdfs-tls")
    certificate = with_keys(directory)
    address = f"127.0.0.1:{free_port()}"
    over_tls = {
        "dfs.http.policy": "HTTP_AND_HTTPS",
        "dfs.namenode.https-address": address,
        "dfs.datanode.https.address": "127.0.0.1:0",
    }
    options = {
        "hdfs_via": "webhdfs",
        "dfs.http.policy": "HTTPS_ONLY",
        "dfs.namenode.https-address": address,
        "root_certificate": str(certificate),
    }
    with running_hdfs(directory, over_tls) as hdfs:
        yield hdfs, options


def with_keys(directory: Path) -> Path:
    """Makes a key of 127.0.0.1 and the servers' settings for it; its certificate."""
    store, certificate = directory / "keys.jks", directory / "ca.pem"
    keytool = [str(java().parent / "keytool"), "-keystore", str(store), "-storepass", _PASSWORD]
    keytool += ["-alias", "hdfs"]
    name = ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1,dns:localhost"]
    name += ["-ext", "bc:c=ca:true"]
    subprocess.run([*keytool, "-genkeypair", "-keyalg", "RSA", *name], check=True)
    exported = ["-exportcert", "-rfc", "-file", str(certificate)]
    subprocess.run([*keytool, *exported], check=True, capture_output=True)
    write_settings(
        directory / "conf" / "ssl-server.xml",
        {
            "ssl.server.keystore.location": str(store),
            "ssl.server.keystore.password": _PASSWORD,
            "ssl.server.keystore.keypassword": _PASSWORD,
            "ssl.server.keystore.type": "PKCS12",
        },
    )
    return certificate


def test_files_are_written_and_read_over_tls(secured: tuple[Hdfs, Mapping[str, str]]) -> None:
    hdfs, options = secured
    content = bytes(range(256)) * 10_000
    storage = Storage.open(hdfs.hdfs("secured"), options)
    storage.write("file", content)
    assert storage.read("file") == content
    assert Storage.open(hdfs.webhdfs("secured")).read("file") == content
    (port,) = options["dfs.namenode.https-address"].split(":")[1:]
    certificate = {"root_certificate": options["root_certificate"]}
    explicit = Storage.open(f"swebhdfs://127.0.0.1:{port}/secured", certificate)
    assert [entry.name for entry in explicit.list()] == ["file"]


def test_a_server_that_nobody_vouches_for_is_refused(
    secured: tuple[Hdfs, Mapping[str, str]], tmp_path: Path
) -> None:
    hdfs, options = secured
    other = make(tmp_path) / "ca.crt"
    storage = Storage.open(hdfs.hdfs("a"), {**options, "root_certificate": str(other)})
    with pytest.raises(HudiError, match=r"its certificate is not accepted.*root_certificate"):
        storage.read("file")
