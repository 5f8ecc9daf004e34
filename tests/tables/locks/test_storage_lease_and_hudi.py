"""The lease in an object store, taken by Hudi's own StorageBasedLockProvider and by this program.

Only the requests to S3 are not Hudi's (`java/S3StorageLockClient.java`).
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.runtime import WORK, hudi_bundle, java
from pyhudi_expr.tables.locks import LockLost, LockNotAcquired, TableLock, settings
from pyhudi_expr.tables.locks.storage_lease import LEASE_FILE, LeaseTimes, StorageLock
from pyhudi_expr.tables.storage import Storage
from tests.tables.locks.hudi_locks import JAVA, PACKAGE, HudiLock, assert_waits_for, hudi_lock

pytestmark = [pytest.mark.s3, pytest.mark.slow]

_PROVIDER = "StorageBasedLockProvider"
_JARS = f"{WORK}/s3/*"


@pytest.fixture(scope="module")
def client_classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the compiled client."""
    classes = tmp_path_factory.mktemp("classes")
    compiler = java().parent / "javac"
    command = [str(compiler), "-d", str(classes), "-cp", f"{hudi_bundle()}:{_JARS}"]
    subprocess.run([*command, str(JAVA / "S3StorageLockClient.java")], check=True)
    return classes


@pytest.fixture
def table(s3_env: Mapping[str, str], s3_bucket: str) -> Storage:
    table = Storage.open(f"s3://{s3_bucket}/table")
    table.delete_dir(".hoodie")
    return table


@pytest.fixture
def said(table: Storage) -> Mapping[str, str]:
    return {
        settings.PROVIDER: f"{PACKAGE}.{_PROVIDER}",
        settings.BASE_PATH: table.uri,
        settings.VALIDITY: "10",
        settings.RENEWAL: "1",
    }


@pytest.fixture
def hudi(said: Mapping[str, str], client_classes: Path, tmp_path: Path) -> Iterator[HudiLock]:
    log = tmp_path / "hudi.log"
    with hudi_lock(_PROVIDER, said, log, [client_classes], os.environ, [_JARS]) as holder:
        yield holder


def test_hudis_writers_and_this_program_exclude_each_other(
    table: Storage, said: Mapping[str, str], hudi: HudiLock
) -> None:
    lock = TableLock.of(table, said, wait=10)
    impatient = TableLock.of(table, said, wait=0.3)
    for _ in range(2):
        with lock.held("tries") as lease:
            assert not hudi.lock(0.5)
            lease.check()
        assert hudi.lock()
        with pytest.raises(LockNotAcquired, match="its lease ends in"), impatient.held("tries"):
            pass
        time.sleep(1.5)  # a renewal
        with pytest.raises(LockNotAcquired), impatient.held("tries"):
            pass
        hudi.unlock()
    assert_waits_for(hudi, lock)


def test_each_takes_what_the_other_left(
    table: Storage, said: Mapping[str, str], hudi: HudiLock
) -> None:
    def hold_and_stop() -> None:
        with StorageLock(table, 0, LeaseTimes(validity=1, renewal=60)).held("stops"):
            # It is renewed no more, as if its process stood still, and Hudi takes it.
            assert hudi.lock(10)

    with pytest.raises(LockLost, match=LEASE_FILE):
        hold_and_stop()
    hudi.kill()
    started = time.monotonic()
    with TableLock.of(table, said, wait=30).held("tries"):
        assert 5 < time.monotonic() - started < 15
