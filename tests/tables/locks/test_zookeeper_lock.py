"""The ZooKeeper lock, against a real server and Hudi's own provider on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.zookeeper import ZookeeperServer
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks import LockLost, TableLock, UnknownLock, settings
from pyhudi_expr.tables.locks.zookeeper_lock import lock_path
from pyhudi_expr.tables.storage import Storage
from tests.tables.locks.hudi_locks import PACKAGE, assert_exclusive, hudi_lock

_EXPLICIT = "ZookeeperBasedLockProvider"
_IMPLICIT = "ZookeeperBasedImplicitBasePathLockProvider"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperServer]:
    with ZookeeperServer(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def table(tmp_path: Path) -> Storage:
    (tmp_path / "table/.hoodie").mkdir(parents=True)
    properties = "hoodie.table.name=trips\nhoodie.table.version=6\n"
    (tmp_path / "table/.hoodie/hoodie.properties").write_text(properties)
    return Storage.open(str(tmp_path / "table"))


def _settings(server: ZookeeperServer, table: Storage, provider: str) -> dict[str, str]:
    said = {
        settings.PROVIDER: f"{PACKAGE}.{provider}",
        settings.ZOOKEEPER_URL: server.hosts,
        settings.ZOOKEEPER_SESSION: "4000",
    }
    if provider == _EXPLICIT:
        # A path of each test's own.
        base = f"/locks/{Path(table.root).parent.name}"
        return {**said, settings.ZOOKEEPER_BASE_PATH: base, settings.ZOOKEEPER_KEY: "trips"}
    return {**said, settings.BASE_PATH: table.uri}


@pytest.mark.slow
@pytest.mark.parametrize("provider", [_EXPLICIT, _IMPLICIT])
def test_hudis_writers_and_this_program_exclude_each_other(
    server: ZookeeperServer, table: Storage, tmp_path: Path, provider: str
) -> None:
    said = _settings(server, table, provider)
    lock = TableLock.of(table, said, wait=10)
    lock.check()
    with hudi_lock(provider, said, tmp_path / "hudi.log") as hudi:
        impatient = TableLock.of(table, said, wait=0.3)
        assert_exclusive(hudi, lock, impatient, r"application_id=Unknown.* for 0\.3 s", 0.3)


@pytest.mark.slow
def test_the_lock_of_a_dead_writer_ends_with_its_session(
    server: ZookeeperServer, table: Storage, tmp_path: Path
) -> None:
    said = _settings(server, table, _EXPLICIT)
    with hudi_lock(_EXPLICIT, said, tmp_path / "hudi.log") as hudi:
        assert hudi.lock()
        hudi.kill()
        started = time.monotonic()
        with TableLock.of(table, said, wait=30).held("tries"):
            assert time.monotonic() - started < 20


@pytest.mark.slow
def test_holders_follow_each_other(server: ZookeeperServer, table: Storage) -> None:
    lock = TableLock.of(table, _settings(server, table, _EXPLICIT), wait=60)
    inside, most = [], []

    def hold() -> None:
        for _ in range(3):
            with lock.held("tries"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.02)
                inside.pop()

    threads = [threading.Thread(target=hold) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 15


@pytest.mark.slow
def test_a_holder_learns_that_its_session_ended(table: Storage, tmp_path: Path) -> None:
    with ZookeeperServer(tmp_path / "zookeeper") as server:
        said = {**_settings(server, table, _EXPLICIT), settings.ZOOKEEPER_SESSION: "1000"}
        lock = TableLock.of(table, said, wait=5)
        with pytest.raises(LockLost, match="another writer may have changed the table"):
            _hold_beyond(server, lock)


def _hold_beyond(server: ZookeeperServer, lock: TableLock) -> None:
    with lock.held("tries") as lease:
        lease.check()
        server.stop()
        with pytest.raises(LockLost, match="ended"):
            lease.check()


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_reported(table: Storage) -> None:
    said = {
        settings.PROVIDER: f"{PACKAGE}.{_EXPLICIT}",
        settings.ZOOKEEPER_URL: "127.0.0.1:1",
        settings.ZOOKEEPER_BASE_PATH: "/locks",
        settings.ZOOKEEPER_CONNECTION: "500",
    }
    with (
        pytest.raises(HudiError, match=rf"ZooKeeper at 127\.0\.0\.1:1 .*{settings.ZOOKEEPER_URL}"),
        TableLock.of(table, said).held("tries"),
    ):
        pass


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({settings.ZOOKEEPER_BASE_PATH: "/locks", settings.ZOOKEEPER_KEY: "t"}, "/locks/t"),
        ({settings.ZOOKEEPER_BASE_PATH: "/a//b/", settings.ZOOKEEPER_KEY: "t"}, "/a/b/t"),
        ({settings.ZOOKEEPER_BASE_PATH: "/locks"}, "/locks/trips"),
    ],
)
def test_the_path_of_the_settings(table: Storage, said: dict[str, str], path: str) -> None:
    assert lock_path(table, _EXPLICIT, said) == path


@pytest.mark.parametrize(
    ("table_path", "digest"),
    [  # of Hudi 1.2.0
        ("s3a://bucket/table", "4DCF035CB614089C"),
        ("S3A://b/t", "45205BCC2F82AB53"),
        ("s3n://b/t", "73FD9F2D70D4AE73"),
        ("/tmp/ä", "02BA7F0C3206A271"),
    ],
)
def test_the_path_that_hudi_derives(table: Storage, table_path: str, digest: str) -> None:
    said = {settings.BASE_PATH: table_path}
    assert lock_path(table, _IMPLICIT, said) == f"/tmp/{digest}/lock_key"


@pytest.mark.parametrize(
    ("provider", "said", "missing"),
    [
        (_EXPLICIT, {}, settings.ZOOKEEPER_URL),
        (_EXPLICIT, {settings.ZOOKEEPER_URL: "h:1"}, settings.ZOOKEEPER_BASE_PATH),
        (_IMPLICIT, {settings.ZOOKEEPER_URL: "h:1"}, settings.BASE_PATH),
    ],
)
def test_missing_settings_are_asked_for(
    table: Storage, provider: str, said: dict[str, str], missing: str
) -> None:
    lock = TableLock.of(table, {settings.PROVIDER: f"{PACKAGE}.{provider}", **said})
    with pytest.raises(UnknownLock, match=f"{provider}.* {missing} "):
        lock.check()
