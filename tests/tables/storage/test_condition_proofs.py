"""Servers that ignore the conditions of a write are found out; nothing is taken for exclusive."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.s3.proxy import RecordingProxy
from devtools.s3.server import S3Server
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks import PROVIDER, TableLock
from pyhudi_expr.tables.locks.storage_lease import LEASE_FILE, LeaseRecord
from pyhudi_expr.tables.storage import Storage

pytestmark = [pytest.mark.s3, pytest.mark.usefixtures("s3_env")]

_LEASE = {PROVIDER: "a.StorageBasedLockProvider"}
_CONTENT = LeaseRecord(True, 0, "another-writer").content()


@pytest.fixture
def table(s3_bucket: str) -> Storage:
    return Storage.open(f"s3://{s3_bucket}/table")


def _writes(proxy: RecordingProxy) -> list[tuple[int | None, str | None]]:
    """The statuses and conditions of writing requests since the last call."""
    found = [one for one in proxy.requests if one.method in ("PUT", "POST")]
    proxy.requests.clear()
    return [(one.status, (one.conditional or "").partition(":")[0] or None) for one in found]


def _hold(table: Storage, settings: dict[str, str]) -> None:
    with TableLock.of(table, settings, wait=0).held("tries"):
        pass


def _create(table: Storage) -> None:
    table.create(".hoodie/timeline/1.indexing.requested", b"")


@pytest.mark.parametrize(
    "act",
    [lambda table: _hold(table, {}), lambda table: _hold(table, _LEASE), _create],
    ids=["lock of files", "lease", "instant"],
)
def test_nothing_is_created_where_if_none_match_is_ignored(
    table: Storage, s3_proxy: RecordingProxy, s3_server: S3Server, act: Callable[[Storage], None]
) -> None:
    refused = (
        rf"{table.uri}.*: file .* cannot be written: the object store {s3_proxy.endpoint} \(bucket "
        r"test-\w+\) ignores the header If-None-Match of a PUT, .*: upgrade the server"
    )
    with s3_proxy.ignoring("if-none-match", s3_server):
        with pytest.raises(HudiError, match=refused):
            act(table)
        created, refuted = [(200, "if-none-match")] * 2
        deleted = (200, None)
        assert _writes(s3_proxy) == [created, refuted, deleted]
        assert table.list() == []
        with pytest.raises(HudiError, match=refused):
            act(table)
        assert _writes(s3_proxy) == []


def test_nothing_is_replaced_where_if_match_is_ignored(
    table: Storage, s3_proxy: RecordingProxy, s3_server: S3Server
) -> None:
    table.write(LEASE_FILE, _CONTENT)
    known = table.read_versioned(LEASE_FILE)
    assert known is not None
    s3_proxy.requests.clear()
    with s3_proxy.ignoring("if-match", s3_server):
        with pytest.raises(HudiError, match="ignores the header If-Match of a PUT"):
            _hold(table, _LEASE)
        assert _writes(s3_proxy) == [(200, "if-match")]
        with pytest.raises(HudiError, match="ignores the header If-Match of a PUT"):
            table.replace(LEASE_FILE, b"", known.version)
        assert _writes(s3_proxy) == []


def test_a_store_is_tried_once(table: Storage, s3_proxy: RecordingProxy) -> None:
    tried, refused = (200, "if-none-match"), (412, "if-none-match")
    assert table.create("a", b"1")
    assert _writes(s3_proxy) == [tried, refused]
    assert Storage.open(table.uri).create("b", b"1")
    assert _writes(s3_proxy) == [tried]
    known = table.read_versioned("a")
    assert known is not None
    second = table.replace("a", b"2", known.version)
    assert second is not None
    assert _writes(s3_proxy) == [(412, "if-match"), (200, "if-match")]
    assert table.replace("a", b"3", second) is not None
    assert _writes(s3_proxy) == [(200, "if-match")]


def test_a_creation_that_is_refused_is_proof_enough(
    table: Storage, s3_proxy: RecordingProxy
) -> None:
    table.write("a", b"1")
    s3_proxy.requests.clear()
    assert not table.create("a", b"2")
    assert _writes(s3_proxy) == [(412, "if-none-match")]
    assert table.create("b", b"2")
    assert _writes(s3_proxy) == [(200, "if-none-match")]


def test_what_is_missing_is_not_replaced(table: Storage) -> None:
    table.write("a", b"1")
    known = table.read_versioned("a")
    assert known is not None
    table.delete("a")
    assert table.replace("a", b"2", known.version) is None
    assert table.read_if_present("a") is None


@pytest.mark.slow
def test_without_an_answer_nothing_is_believed(table: Storage, s3_proxy: RecordingProxy) -> None:
    with s3_proxy.die_at(2), pytest.raises(HudiError, match="'a' cannot be written"):
        table.create("a", b"1")
