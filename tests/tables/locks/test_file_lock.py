"""The lock of Hudi's FileSystemBasedLockProvider on a local disk."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyhudi_expr.tables.locks import LockLost, TableLock
from pyhudi_expr.tables.process_owner import this_process
from pyhudi_expr.tables.storage import Storage

_RACER = """
import os, sys, time
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.storage import Storage

marker = sys.argv[1] + "/inside"
for _ in range(10):
    with TableLock(Storage.open(sys.argv[1]), wait=60).held("races"):
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        time.sleep(0.002)
        os.unlink(marker)
    if sys.argv[2] == "dies":
        with TableLock(Storage.open(sys.argv[1]), wait=60).held("races"):
            os._exit(0)
"""


@pytest.fixture
def table(tmp_path: Path) -> Storage:
    (tmp_path / ".hoodie").mkdir()
    return Storage.open(str(tmp_path))


def _replace(table: Storage) -> Path:
    """Do what a writer does for which the lock is too old."""
    file = Path(table.root) / ".hoodie/lock"
    file.unlink()
    file.write_bytes(b"another writer's")
    return file


def test_the_lock_of_another_writer_is_not_deleted(table: Storage) -> None:
    def hold() -> None:
        with TableLock(table).held("tries") as lease:
            lease.check()
            _replace(table)
            with pytest.raises(LockLost, match=r"\.hoodie/lock was deleted or replaced"):
                lease.check()

    with pytest.raises(LockLost, match=r"\.hoodie/lock was deleted or replaced"):
        hold()
    files = [path for path in Path(table.root).rglob("lock") if path.is_file()]
    assert [file.read_bytes() for file in files] == [b"another writer's"]


def test_a_loss_hides_no_other_error(table: Storage) -> None:
    def fail() -> None:
        with TableLock(table).held("tries"):
            _replace(table)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()


def test_the_lock_of_a_process_that_ended_is_taken(table: Storage) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )
    owner = {**this_process(), "process": ended.stdout.strip()}
    (Path(table.root) / ".hoodie/lock").write_text(json.dumps(owner))
    with TableLock(table, wait=0).held("tries"):
        pass
    assert not list(Path(table.root).rglob("lock"))


def test_one_of_many_takes_the_lock_of_a_process_that_ended(table: Storage) -> None:
    racers = [
        subprocess.Popen([sys.executable, "-c", _RACER, table.root, does], stderr=subprocess.PIPE)
        for does in ("dies", "dies", "dies", "lives", "lives")
    ]
    # All at once: a process that ended is gone only when its parent has noticed.
    with ThreadPoolExecutor(len(racers)) as pool:
        errors = list(pool.map(lambda racer: racer.communicate(timeout=120)[1].decode(), racers))
    assert errors == [""] * len(racers)
    assert [racer.returncode for racer in racers] == [0] * len(racers)
