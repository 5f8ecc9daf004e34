"""The lock of the Hive metastore, against a real one and Hudi's own provider on it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.metastore import MetastoreServer
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks import LockLost, LockNotAcquired, TableLock, UnknownLock, settings
from pyhudi_expr.tables.locks.metastore_lock import MetastoreLock
from pyhudi_expr.tables.metastore import MetastoreClient
from pyhudi_expr.tables.storage import Storage
from tests.tables.locks.hudi_locks import assert_exclusive, hudi_lock

_PROVIDER = "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider"
_TIMEOUT = 6  # hive.txn.timeout of the server, in seconds


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    with MetastoreServer(tmp_path_factory.mktemp("metastore")) as server:
        yield server


@pytest.fixture
def table(tmp_path: Path) -> Storage:
    (tmp_path / "table/.hoodie").mkdir(parents=True)
    return Storage.open(str(tmp_path / "table"))


def _settings(uris: str, name: str) -> Mapping[str, str]:
    return {
        settings.PROVIDER: _PROVIDER,
        settings.METASTORE_URIS: uris,
        settings.METASTORE_DATABASE: "default",
        settings.METASTORE_TABLE: name,
        settings.HEARTBEAT: "1000",
        "hoodie.write.lock.num_retries": "3",  # Hudi's writers have defaults for these
        "hoodie.write.lock.wait_time_ms_between_retry": "100",
    }


@pytest.mark.slow
def test_hudis_writers_and_this_program_exclude_each_other(
    server: MetastoreServer, table: Storage, tmp_path: Path
) -> None:
    said = _settings(server.uris, "trips")
    lock = TableLock.of(table, said, wait=10)
    lock.check()
    with hudi_lock(_PROVIDER, said, tmp_path / "hudi.log") as hudi:
        impatient = TableLock.of(table, said, wait=0.3)
        assert_exclusive(hudi, lock, impatient, r"default\.trips of the Hive metastore", 5)


@pytest.mark.slow
def test_the_lock_is_kept_alive(server: MetastoreServer, table: Storage) -> None:
    said = _settings(server.uris, "alive")
    with TableLock.of(table, said).held("tries") as lease:
        time.sleep(_TIMEOUT + 3)
        lease.check()
        with pytest.raises(LockNotAcquired), TableLock.of(table, said, wait=0).held("tries"):
            pass


@pytest.mark.slow
def test_a_holder_learns_that_its_lock_ended(server: MetastoreServer, table: Storage) -> None:
    def hold() -> None:
        with MetastoreLock("t", server.uris, "default", "ends", 0).held("tries") as lease:
            lease.check()
            other = MetastoreClient(server.uris, 20)
            other.unlock(lease._id)  # type: ignore[attr-defined] # as an administrator does
            other.close()
            with pytest.raises(LockLost, match=r"default\.ends that was held here"):
                lease.check()

    with pytest.raises(LockLost, match="another writer may have changed the table"):
        hold()


def test_a_metastore_that_does_not_answer_is_reported(table: Storage) -> None:
    lock = TableLock.of(table, _settings("thrift://127.0.0.1:1,thrift://127.0.0.1:2", "t"))
    with (
        pytest.raises(HudiError, match=r"no Hive metastore can be reached: .*:1: .*:2: "),
        lock.held("tries"),
    ):
        pass


@pytest.mark.parametrize(
    "missing", [settings.METASTORE_URIS, settings.METASTORE_DATABASE, settings.METASTORE_TABLE]
)
def test_missing_settings_are_asked_for(table: Storage, missing: str) -> None:
    said = {key: value for key, value in _settings("h", "t").items() if key != missing}
    with pytest.raises(UnknownLock, match=f"{_PROVIDER}.* {missing} "):
        TableLock.of(table, said).check()
