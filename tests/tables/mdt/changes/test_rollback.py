"""An incomplete change is undone, with disk space reserved for that."""

import json
import subprocess
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.mdt.changes.rollback import (
    abandoned_space,
    reserve_disk_space,
    rollback_on_failure,
)
from pyhudi_expr.tables.process_owner import PROCESS
from pyhudi_expr.tables.storage import Storage


def sizes(path: Path) -> list[int]:
    return [file.stat().st_size for file in path.rglob("*") if file.is_file()]


def test_undoing_uses_the_reserved_disk_space(tmp_path: Path) -> None:
    seen = []

    def change() -> None:
        undone = rollback_on_failure(lambda: seen.append(sizes(tmp_path)))
        with undone, reserve_disk_space(Storage.open(str(tmp_path))):
            seen.append(sizes(tmp_path))
            raise HudiError("the disk is full")

    with pytest.raises(HudiError, match="disk is full"):
        change()
    assert seen == [[1 << 16], []]


def test_reserved_disk_space_is_released_for_the_last_steps(tmp_path: Path) -> None:
    with reserve_disk_space(Storage.open(str(tmp_path))) as give_back:
        assert sizes(tmp_path) == [1 << 16]
        give_back()
        assert not sizes(tmp_path)
    assert not sizes(tmp_path)


def test_both_errors_are_reported_if_undoing_fails(tmp_path: Path) -> None:
    def undo() -> None:
        raise HudiError("no lock")

    with (
        pytest.raises(HudiError, match=r"full; .*takes it back, .*no lock"),
        rollback_on_failure(undo),
    ):
        raise HudiError("the disk is full")


def test_the_space_of_a_dead_process_is_found(tmp_path: Path) -> None:
    table, reserve = Storage.open(str(tmp_path)), tmp_path / ".hoodie/pyhudi/reserve"
    ended = subprocess.Popen(["true"])
    ended.wait()
    with reserve_disk_space(table):
        assert abandoned_space(table) is None
        content = reserve.read_bytes()
        assert len(content) == 1 << 16
        line, _, rest = content.partition(b"\n")
        owner = {**json.loads(line), PROCESS: str(ended.pid)}
        reserve.write_bytes(json.dumps(owner).encode() + b"\n" + rest)
        assert abandoned_space(table) == ".hoodie/pyhudi/reserve"
    assert abandoned_space(table) is None
    reserve.write_bytes(bytes(1 << 16))  # of an earlier version
    assert abandoned_space(table) is None
