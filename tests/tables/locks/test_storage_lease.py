"""The lock of Hudi's StorageBasedLockProvider, on an S3 server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping

import pytest

from devtools.s3.proxy import RecordingProxy
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks import LockLost, LockNotAcquired, TableLock, UnknownLock, settings
from pyhudi_expr.tables.locks.storage_lease import LEASE_FILE, LeaseRecord, LeaseTimes, StorageLock
from pyhudi_expr.tables.storage import Storage
from tests.tables.locks.hudi_locks import PACKAGE

pytestmark = pytest.mark.s3

_NAMED = {settings.PROVIDER: f"{PACKAGE}.StorageBasedLockProvider"}
_SHORT = LeaseTimes(validity=1.5, renewal=0.3)
_NEVER_RENEWED = LeaseTimes(validity=1.5, renewal=60)
_OTHER = "another-writer"

_RACER = """
import os, sys, time
from pyhudi_expr.tables.locks.storage_lease import LeaseTimes
from pyhudi_expr.tables.locks.storage_lease import StorageLock
from pyhudi_expr.tables.locks.file_lock import FileLock
from pyhudi_expr.tables.storage import Storage

kind, uri, marker = sys.argv[1:]
table = Storage.open(uri)
lease = StorageLock(table, 60, LeaseTimes(5, 0.5))
lock = lease if kind == "lease" else FileLock(table, [".hoodie"], 60)
for _ in range(5):
    with lock.held("races"):
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        time.sleep(0.005)
        os.unlink(marker)
"""


@pytest.fixture
def table(s3_env: Mapping[str, str], s3_bucket: str, request: pytest.FixtureRequest) -> Storage:
    table = Storage.open(f"s3://{s3_bucket}/table")
    table.delete_dir(".hoodie")
    return table


def _record(table: Storage) -> LeaseRecord:
    return LeaseRecord.parse(table.read(LEASE_FILE), table.uri)


def _write(table: Storage, seconds: float, expired: bool = False) -> None:
    """Write another writer's lease that ends in so many seconds."""
    until = int((time.time() + seconds) * 1000)
    table.write(LEASE_FILE, LeaseRecord(expired, until, _OTHER).content())


def test_the_file_is_hudis(table: Storage) -> None:
    lock = TableLock.of(table, _NAMED)
    lock.check()
    owners = set()
    for _ in range(2):
        with lock.held("tries") as lease:
            lease.check()
            content = table.read(LEASE_FILE)
            fields = json.loads(content)
            assert list(fields) == ["expired", "validUntil", "owner"]
            assert b" " not in content
            assert fields["expired"] is False
            assert 290 < fields["validUntil"] / 1000 - time.time() <= 300
            owners.add(fields["owner"])
        assert json.loads(table.read(LEASE_FILE)) == {**fields, "expired": True}
    assert len(owners) == 2


def test_a_table_with_the_file_needs_no_setting(table: Storage) -> None:
    with TableLock.of(table).held("tries"):
        assert table.stat(LEASE_FILE) is None  # the lock of files
    with TableLock.of(table, _NAMED).held("tries"):
        pass
    unnamed = TableLock.of(table)
    unnamed.check()
    with unnamed.held("tries"):
        assert not _record(table).expired
        assert table.stat(".hoodie/lock") is None
    with pytest.raises(UnknownLock, match="StorageBasedLockProvider"):
        TableLock.of(table, {settings.PROVIDER: "a.FileSystemBasedLockProvider"}).check()


def test_a_held_lock_is_waited_for(table: Storage) -> None:
    _write(table, seconds=100)
    with (
        pytest.raises(LockNotAcquired, match=f"for 0.1 s .owner {_OTHER}, its lease ends in"),
        TableLock.of(table, _NAMED, wait=0.1).held("tries"),
    ):
        pass
    _write(table, seconds=100, expired=True)
    with TableLock.of(table, _NAMED, wait=0).held("tries"):
        pass


def test_a_dead_writers_lease_ends_half_a_second_after_its_time(table: Storage) -> None:
    _write(table, seconds=0.5)
    started = time.monotonic()
    with TableLock.of(table, _NAMED, wait=10).held("tries"):
        assert 0.9 < time.monotonic() - started < 5


def test_a_lease_is_renewed(table: Storage) -> None:
    with StorageLock(table, 0, _SHORT).held("tries") as lease:
        first = _record(table)
        time.sleep(_SHORT.validity + 1)
        second = _record(table)
        assert (second.owner, second.expired) == (first.owner, False)
        assert second.valid_until > first.valid_until + 1000 * _SHORT.validity / 2
        with pytest.raises(LockNotAcquired), TableLock.of(table, wait=0).held("tries"):
            pass
        lease.check()


def test_a_check_renews_a_lease_that_would_end_soon(table: Storage) -> None:
    with StorageLock(table, 0, _NEVER_RENEWED).held("tries") as lease:
        first = _record(table)
        lease.check()
        assert _record(table) == first
        time.sleep(1)
        lease.check()
        assert _record(table).valid_until > first.valid_until


@pytest.mark.parametrize("times", [_SHORT, _NEVER_RENEWED])
def test_a_holder_learns_that_another_took_the_lock(table: Storage, times: LeaseTimes) -> None:
    def hold() -> None:
        with StorageLock(table, 0, times).held("tries") as lease:
            _write(table, seconds=100)
            time.sleep(1)
            with pytest.raises(LockLost, match="was taken by another writer"):
                lease.check()

    with pytest.raises(LockLost, match=f"{table.uri}: the lock {LEASE_FILE} was taken"):
        hold()
    assert (_record(table).owner, _record(table).expired) == (_OTHER, False)


def test_a_holder_learns_at_the_end_that_another_took_the_lock(table: Storage) -> None:
    with (
        pytest.raises(LockLost, match="repeat it"),
        StorageLock(table, 0, _NEVER_RENEWED).held("tries"),
    ):
        _write(table, seconds=100)
    assert _record(table).owner == _OTHER


def test_a_holder_learns_that_its_lease_ended(table: Storage, s3_proxy: RecordingProxy) -> None:
    def hold() -> None:
        with StorageLock(table, 0, _SHORT).held("tries") as lease:
            s3_proxy.delay = 2.0  # a renewal takes longer than a lease is valid
            time.sleep(_SHORT.renewal + _SHORT.validity)
            table.write(LEASE_FILE, _other_content())
            s3_proxy.delay = 0.0
            with pytest.raises(LockLost):
                lease.check()

    with pytest.raises(LockLost, match="another writer may have changed the table"):
        hold()


def _other_content() -> bytes:
    return LeaseRecord(False, int((time.time() + 100) * 1000), _OTHER).content()


def test_a_loss_hides_no_other_error(table: Storage) -> None:
    def fail() -> None:
        with StorageLock(table, 0, _SHORT).held("tries"):
            _write(table, seconds=100)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()


def test_a_lease_that_nobody_took_is_no_loss(table: Storage) -> None:
    with StorageLock(table, 0, _NEVER_RENEWED).held("tries"):
        time.sleep(_NEVER_RENEWED.validity + 1)
    assert _record(table).expired


@pytest.mark.parametrize("content", [b"", b"{}", b'{"expired":1,"validUntil":1,"owner":"a"}'])
def test_another_file_is_reported(table: Storage, content: bytes) -> None:
    table.write(LEASE_FILE, content)
    with (
        pytest.raises(HudiError, match=r"table_lock\.json should have the fields expired"),
        TableLock.of(table, _NAMED).held("tries"),
    ):
        pass


@pytest.mark.parametrize("kind", ["lease", "file"])
def test_one_of_many_processes_holds_the_lock(table: Storage, tmp_path: os.PathLike, kind) -> None:
    command = [sys.executable, "-c", _RACER, kind, table.uri, f"{tmp_path}/inside"]
    racers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    errors = [racer.communicate(timeout=120)[1].decode() for racer in racers]
    assert errors == [""] * len(racers)


def test_the_lock_of_a_process_that_ended_is_taken_once(
    table: Storage, tmp_path: os.PathLike
) -> None:
    dead = """import os, sys
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.storage import Storage
with TableLock(Storage.open(sys.argv[1])).held("dies"):
    os._exit(0)
"""
    subprocess.run([sys.executable, "-c", dead, table.uri], check=True)
    assert table.stat(".hoodie/lock") is not None
    test_one_of_many_processes_holds_the_lock(table, tmp_path, "file")
    assert table.stat(".hoodie/lock") is None
