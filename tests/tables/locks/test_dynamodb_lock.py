"""The DynamoDB lock, against AWS's local server and the lock client that Hudi's provider uses."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devtools.dynamodb.server import JARS, DynamodbServer
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks import LockLost, LockNotAcquired, TableLock, settings
from pyhudi_expr.tables.locks.dynamodb_lock import DynamodbLock, LockAddress, LockItem, LockRequests
from pyhudi_expr.tables.storage import Storage
from tests.tables.locks.hudi_locks import HudiLock, started

pytestmark = [pytest.mark.s3, pytest.mark.slow]

_PROVIDER = "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider"
_TABLE = "hudi_locks"
_LEASE = 3.0  # of AWS's client, in seconds

_OTHER = LockItem("another-writer", "1", 100)

_RACER = """
import os, sys, time
from pyhudi_expr.tables.locks.dynamodb_lock import LockAddress
from pyhudi_expr.tables.locks.dynamodb_lock import DynamodbLock

endpoint, table, key, marker = sys.argv[1:]
lock = DynamodbLock(LockAddress("t", table, key, "us-east-1", endpoint), 60, 5)
for _ in range(5):
    with lock.held("races"):
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        time.sleep(0.005)
        os.unlink(marker)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DynamodbServer]:
    with DynamodbServer(tmp_path_factory.mktemp("dynamodb")) as server:
        server.create_table(_TABLE)
        yield server


@pytest.fixture(autouse=True)
def environment(server: DynamodbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "PYHUDI_STORAGE_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def table(tmp_path: Path) -> Storage:
    (tmp_path / "table/.hoodie").mkdir(parents=True)
    properties = "hoodie.table.name=trips\nhoodie.table.version=6\n"
    (tmp_path / "table/.hoodie/hoodie.properties").write_text(properties)
    return Storage.open(str(tmp_path / "table"))


@pytest.fixture
def address(server: DynamodbServer, request: pytest.FixtureRequest) -> LockAddress:
    """A lock of the test's own."""
    return LockAddress("/t", _TABLE, request.node.name, "us-east-1", server.endpoint)


@pytest.fixture
def said(address: LockAddress) -> Mapping[str, str]:
    return {
        settings.PROVIDER: _PROVIDER,
        settings.DYNAMODB_KEY: address.key,
        settings.DYNAMODB_ENDPOINT: address.endpoint or "",
    }


@pytest.fixture
def requests(address: LockAddress) -> Iterator[LockRequests]:
    requests = LockRequests(address)
    yield requests
    requests.close()


@contextmanager
def _aws_client(server: DynamodbServer, log: Path) -> Iterator[HudiLock]:
    arguments = [server.endpoint, _TABLE, str(round(_LEASE * 1000))]
    jars, environment = [f"{JARS}/*"], {**os.environ, **server.environment}
    with started("DynamodbLockHolder.java", arguments, jars, log, environment) as client:
        yield client


@pytest.fixture(scope="module")
def _aws(server: DynamodbServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HudiLock]:
    with _aws_client(server, tmp_path_factory.mktemp("aws") / "log") as client:
        yield client


@pytest.fixture
def aws(_aws: HudiLock, address: LockAddress) -> HudiLock:
    """AWS's client, for the test's lock."""
    _aws.choose(address.key)
    return _aws


@pytest.fixture
def lock(table: Storage, said: Mapping[str, str]) -> DynamodbLock:
    """The lock of the settings, with a short lease."""
    lock = DynamodbLock.of(table, _PROVIDER, said, wait=10)
    return replace(lock, validity=_LEASE, renewal=_LEASE / 3)


def _place(address: LockAddress) -> dict[str, Any]:
    return {"TableName": address.table, "Key": {"key": {"S": address.key}}}


def test_hudis_writers_and_this_program_exclude_each_other(
    lock: DynamodbLock, aws: HudiLock
) -> None:
    impatient = replace(lock, wait=0)
    with lock.held("tries") as lease:
        assert not aws.lock(0)  # it waits a lease longer, during which this one is renewed
        lease.check()
    assert aws.lock()
    with (
        pytest.raises(LockNotAcquired, match=r"a lease of 3 s\) has held"),
        impatient.held("tries"),
    ):
        pass
    aws.unlock()
    with impatient.held("tries"):
        pass
    # Each waits for the other, and gets the lock when that releases it.
    assert aws.lock()
    threading.Timer(0.5, aws.unlock).start()
    waiting = threading.Thread(target=aws.lock)
    with lock.held("tries"):
        waiting.start()
        time.sleep(0.5)
    waiting.join()
    with pytest.raises(LockNotAcquired), impatient.held("tries"):
        pass


def test_a_lock_that_is_not_renewed_is_taken_by_hudis_writers(
    lock: DynamodbLock, aws: HudiLock
) -> None:
    def hold_and_stop() -> None:
        # As if the process stood still.
        with replace(lock, validity=1, renewal=60).held("stops") as lease:
            assert aws.lock()
            with pytest.raises(LockLost, match="was taken by another writer"):
                lease.check()

    with pytest.raises(LockLost, match=f"{lock.address.key} .* repeat it"):
        hold_and_stop()
    aws.unlock()


def test_the_lock_of_a_dead_writer_is_taken_when_its_lease_is_over(
    server: DynamodbServer, lock: DynamodbLock, tmp_path: Path
) -> None:
    with _aws_client(server, tmp_path / "log") as aws:
        aws.choose(lock.address.key)
        assert aws.lock()
        aws.kill()
    started = time.monotonic()
    with replace(lock, wait=0).held("tries"):
        assert _LEASE <= time.monotonic() - started < 40


def test_one_of_many_processes_holds_the_lock(
    address: LockAddress, aws: HudiLock, tmp_path: Path
) -> None:
    marker = tmp_path / "inside"
    arguments = [address.endpoint, address.table, address.key, marker]
    command = [sys.executable, "-c", _RACER, *map(str, arguments)]
    aws.race(3, marker)
    racers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    errors = [racer.communicate(timeout=120)[1].decode() for racer in racers]
    assert errors == [""] * len(racers)
    assert aws.read() == "true"


def test_the_item_is_that_of_awss_client(
    server: DynamodbServer, lock: DynamodbLock, aws: HudiLock
) -> None:
    def item() -> dict[str, dict[str, str]] | None:
        return server.client().get_item(**_place(lock.address), ConsistentRead=True).get("Item")

    assert aws.lock()
    theirs = item()
    aws.unlock()
    assert item() is None
    with lock.held("tries"):
        ours = item()
    assert item() is None
    assert ours is not None
    assert theirs is not None
    assert ours.keys() == theirs.keys()
    assert ours["leaseDuration"] == theirs["leaseDuration"] == {"S": "3000"}
    assert f"pyhudi tries (process {os.getpid()} on " in ours["ownerName"]["S"]


def test_an_item_that_is_marked_as_released_is_taken(
    server: DynamodbServer, lock: DynamodbLock, requests: LockRequests, aws: HudiLock
) -> None:
    def leave_released() -> None:
        assert requests.put(_OTHER, None)
        server.client().update_item(
            **_place(lock.address),
            UpdateExpression="SET isReleased = :released",
            ExpressionAttributeValues={":released": {"S": "1"}},
        )

    leave_released()
    assert not requests.renew(_OTHER)
    with replace(lock, wait=0).held("tries"):
        pass
    leave_released()
    assert aws.lock(0)
    aws.unlock()


def test_a_lease_is_renewed(lock: DynamodbLock, requests: LockRequests) -> None:
    with lock.held("tries") as lease:
        first = requests.read()
        time.sleep(_LEASE / 2)
        second = requests.read()
        assert first is not None
        assert second is not None
        assert replace(second, version=first.version) == first
        assert second.version != first.version
        lease.check()


def test_a_check_renews_a_lease_that_would_end_soon(
    lock: DynamodbLock, requests: LockRequests
) -> None:
    with replace(lock, validity=4, renewal=60).held("tries") as lease:
        first = requests.read()
        lease.check()
        assert requests.read() == first
        time.sleep(2.1)
        lease.check()
        assert requests.read() != first


def take(requests: LockRequests) -> None:
    """Take the lock from its holder, who may renew it between the two requests."""
    while not requests.put(_OTHER, requests.read()):
        pass


@pytest.mark.parametrize("renewal", [0.1, 60])
def test_a_holder_learns_that_another_took_the_lock(
    lock: DynamodbLock, requests: LockRequests, renewal: float
) -> None:
    def hold() -> None:
        with replace(lock, validity=1, renewal=renewal).held("tries") as lease:
            take(requests)
            time.sleep(0.6)
            with pytest.raises(LockLost, match="was taken by another writer"):
                lease.check()

    with pytest.raises(LockLost, match="another writer may have changed the table"):
        hold()
    assert requests.read() == _OTHER


def test_a_holder_learns_that_the_item_was_deleted(
    server: DynamodbServer, lock: DynamodbLock, requests: LockRequests
) -> None:
    with pytest.raises(LockLost, match="its item was deleted"), lock.held("tries"):
        server.client().delete_item(**_place(lock.address))
    assert requests.read() is None


def test_a_holder_learns_that_it_cannot_renew_the_lease(tmp_path: Path) -> None:
    def hold(server: DynamodbServer, lock: DynamodbLock) -> None:
        with lock.held("tries") as lease:
            lease.check()
            server.stop()
            time.sleep(lock.validity)
            with pytest.raises(LockLost, match="could not be renewed in time"):
                lease.check()

    with DynamodbServer(tmp_path) as server:
        server.create_table(_TABLE)
        address = LockAddress("/t", _TABLE, "k", "us-east-1", server.endpoint)
        with pytest.raises(LockLost, match="another writer may have changed the table"):
            hold(server, DynamodbLock(address, 0, 2, 60))


def test_a_lease_that_nobody_took_is_no_loss(lock: DynamodbLock) -> None:
    with replace(lock, validity=0.2, renewal=60).held("tries"):
        time.sleep(0.5)


def test_a_loss_hides_no_other_error(lock: DynamodbLock, requests: LockRequests) -> None:
    def fail() -> None:
        with lock.held("tries"):
            take(requests)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()


def test_a_holder_that_renews_its_lease_is_not_waited_for_longer(lock: DynamodbLock) -> None:
    """A silent one is waited for until its lease is over; a sign of life ends that."""
    with replace(lock, validity=60, renewal=0.1).held("lives"):
        started = time.monotonic()
        with pytest.raises(LockNotAcquired, match="lives"), replace(lock, wait=0).held("tries"):
            pass
        assert time.monotonic() - started < 10


def test_a_request_that_is_sent_again_succeeds_as_the_first_one_did(requests: LockRequests) -> None:
    """The client sends it again if the answer is lost."""
    renewed, mine = replace(_OTHER, version="2"), LockItem("mine", "3", 100)
    for _ in range(2):
        assert requests.put(_OTHER, None)
    assert not requests.put(mine, None)
    for _ in range(2):
        assert requests.renew(renewed)
    assert not requests.renew(mine)
    assert not requests.put(mine, _OTHER)
    for _ in range(2):
        assert requests.put(mine, renewed)
    assert requests.read() == mine
    assert not requests.release(_OTHER.owner)
    assert requests.release(mine.owner)
    assert requests.read() is None


def test_a_missing_table_is_reported(address: LockAddress) -> None:
    lock = DynamodbLock(replace(address, table="locks"), 0)
    with (
        pytest.raises(HudiError, match=r"/t: .* table locks .*no such table.*\.dynamodb\.table,"),
        lock.held("tries"),
    ):
        pass


def test_another_item_is_reported(server: DynamodbServer, lock: DynamodbLock) -> None:
    item = {"key": {"S": lock.address.key}, "ownerName": {"S": "me"}}
    server.client().put_item(TableName=_TABLE, Item=item)
    with (
        pytest.raises(HudiError, match=r"should have .*recordVersionNumber.*'key', 'ownerName'"),
        lock.held("tries"),
    ):
        pass


def test_the_lock_of_the_tables_settings_is_taken(
    table: Storage, said: Mapping[str, str], requests: LockRequests
) -> None:
    lock = TableLock.of(table, said)
    lock.check()
    with lock.held("tries") as lease:
        lease.check()
        item = requests.read()
        assert item is not None
        assert item.lease == 60
        assert item.owner.startswith("pyhudi tries ")
    assert not lock.is_abandoned()
