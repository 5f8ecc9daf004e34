"""Secured HDFS: callers of WebHDFS show a ticket, which a keytab renews."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.hdfs import Hdfs, running_hdfs
from devtools.hdfs.realm import REALM, missing_programs, running_realm
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.storage.hadoop.backend import WebHdfsBackend
from pyhudi_expr.tables.storage.hadoop.client import WebHdfsClient
from tests.service.running_server import PATIENCE
from tests.service.service_process import Process

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(missing_programs()), reason="Debian's krb5-kdc is not installed"),
]

_TICKET_SECONDS = 10
_VIA = {"hdfs_via": "webhdfs"}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hdfs, Mapping[str, str]]]:
    """The file system, and the storage options for it. This process has the keytab of alice."""
    home, directory = tmp_path_factory.mktemp("realm"), tmp_path_factory.mktemp("hdfs")
    keytabs = {
        "hdfs.keytab": ("hdfs/127.0.0.1", "HTTP/127.0.0.1"),
        "alice.keytab": (f'-maxlife "{_TICKET_SECONDS} seconds" alice',),
    }
    settings = {
        "hadoop.security.authentication": "kerberos",
        "dfs.block.access.token.enable": "true",
        "dfs.namenode.kerberos.principal": f"hdfs/127.0.0.1@{REALM}",
        "dfs.namenode.keytab.file": f"{home}/hdfs.keytab",
        "dfs.datanode.kerberos.principal": f"hdfs/127.0.0.1@{REALM}",
        "dfs.datanode.keytab.file": f"{home}/hdfs.keytab",
        "dfs.web.authentication.kerberos.principal": f"HTTP/127.0.0.1@{REALM}",
        "dfs.web.authentication.kerberos.keytab": f"{home}/hdfs.keytab",
        # By default a name is enough over HTTP, Kerberos or not.
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.kerberos.principal": f"HTTP/127.0.0.1@{REALM}",
        "hadoop.http.authentication.kerberos.keytab": f"{home}/hdfs.keytab",
        # The DataNode's ports are not those of root.
        "ignore.secure.ports.for.testing": "true",
    }
    with pytest.MonkeyPatch.context() as here, running_realm(home, keytabs) as environment:
        for name, value in environment.items():
            here.setenv(name, value)
        here.setenv("KRB5CCNAME", f"FILE:{home}/tickets")
        here.setenv("KRB5_CLIENT_KTNAME", f"{home}/alice.keytab")
        with running_hdfs(directory, settings) as hdfs:
            yield hdfs, {**_VIA, "dfs.namenode.http-address": f"127.0.0.1:{hdfs.http}"}


def asking(storage: Storage) -> WebHdfsClient:
    """A client that has asked nothing yet, and so shows a ticket."""
    assert isinstance(storage.backend, WebHdfsBackend)
    return WebHdfsClient(storage.backend.name_nodes)


def test_files_are_those_of_the_keytabs_user(secured: tuple[Hdfs, Mapping[str, str]]) -> None:
    hdfs, options = secured
    storage = Storage.open(hdfs.hdfs("owned"), options)
    content = bytes(range(256)) * 10_000
    storage.write("file", content)
    assert storage.read("file") == content
    assert storage.create("file", b"") is False
    assert [entry.name for entry in storage.list()] == ["file"]
    found = asking(storage).ask("GETFILESTATUS", "/owned/file")
    assert found["FileStatus"]["owner"] == "alice"


def test_a_ticket_that_ends_is_renewed_by_the_keytab(
    secured: tuple[Hdfs, Mapping[str, str]],
) -> None:
    hdfs, options = secured
    storage = Storage.open(hdfs.hdfs("renewed"), options)
    storage.write("file", b"x")
    time.sleep(_TICKET_SECONDS + 2)
    assert asking(storage).read("/renewed/file") == b"x"


def test_without_a_ticket_nothing_is_read(
    secured: tuple[Hdfs, Mapping[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hdfs, options = secured
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/tickets")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", f"{tmp_path}/none")
    monkeypatch.setenv("HADOOP_USER_NAME", "hdfs")
    storage = Storage.open(hdfs.hdfs(""), {**options, "hadoop_user_name": "hdfs"})
    with pytest.raises(HudiError, match=r"no Kerberos ticket for HTTP/127.*KRB5_CLIENT_KTNAME"):
        storage.read("started")


def test_the_service_reads_with_its_keytab(
    secured: tuple[Hdfs, Mapping[str, str]], golden: Mapping[str, Path], tmp_path: Path
) -> None:
    hdfs, options = secured
    local = golden["cow_v9_txns_simple_meta"]
    hdfs.upload(local, "warehouse/t")
    predicate = parse_predicate("amount > 100")
    expected = Pruner().prune(str(local), PruneRequest(predicate))
    settings = {"hdfs_via": "webhdfs", "table_roots": [hdfs.hdfs("warehouse")]}
    http = {"dfs.namenode.http-address": options["dfs.namenode.http-address"]}
    with pytest.MonkeyPatch.context() as here:
        here.setenv("PYHUDI_STORAGE_OPTIONS", str(http).replace("'", '"'))
        service = Process(tmp_path, **settings)
    try:
        for _ in range(2):
            with PruningClient("127.0.0.1", service.port, PATIENCE) as client:
                answer = client.prune(hdfs.hdfs("warehouse/t"), predicate)
            assert answer.status == PruneStatus.OK
            kept = answer.counts.filesConsidered - answer.counts.filesDropped
            assert kept == len(expected.kept_paths()) < answer.counts.filesConsidered
            time.sleep(_TICKET_SECONDS / 2)
    finally:
        service.stop()
