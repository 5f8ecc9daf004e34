"""Writes to a table are atomic: files, properties, locks, instants."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.tables import properties
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import LockNotAcquired, TableLock
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline import State
from pyhudi_expr.tables.timeline_writer import Action, next_time


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage.open(str(tmp_path))


@pytest.fixture(params=["cow_v9_txns_simple_meta", "mor_v6_metadata_pending_compaction"])
def table(request: pytest.FixtureRequest, golden: Mapping[str, Path], tmp_path: Path) -> HudiTable:
    shutil.copytree(golden[request.param], tmp_path / "table")
    return HudiTable.open(str(tmp_path / "table"))


def test_a_file_is_replaced_and_nothing_else_is_left(storage: Storage, tmp_path: Path) -> None:
    storage.write("a/b", b"one")
    storage.write("a/b", b"two")
    assert storage.read("a/b") == b"two"
    assert [file.name for file in (tmp_path / "a").iterdir()] == ["b"]


def test_hadoops_checksum_of_the_old_content_is_deleted(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / ".b.crc").write_bytes(b"crc")
    storage.write("b", b"new")
    assert not (tmp_path / ".b.crc").exists()


def test_only_one_of_several_creators_of_a_file_succeeds(storage: Storage) -> None:
    start, outcomes = threading.Barrier(8), []

    def create(number: int) -> None:
        start.wait()
        outcomes.append((storage.create("a/lock", str(number).encode()), number))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [number for created, number in outcomes if created]
    assert storage.read("a/lock") == str(winner).encode()


def test_a_directory_that_cannot_be_written_is_an_error_that_names_the_file(
    storage: Storage, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"no directory")
    with pytest.raises(HudiError, match="'a/b' cannot be written"):
        storage.write("a/b", b"")


def test_other_properties_are_kept(table: HudiTable) -> None:
    before = dict(table.properties.raw)
    properties.update(table.storage, {"new": "a:b=c é\n", "hoodie.table.name": None})
    before.pop("hoodie.table.name")
    assert HudiTable.at(table.storage).properties.raw == {**before, "new": "a:b=c é\n"}


def test_properties_that_do_not_change_are_not_written(table: HudiTable) -> None:
    path = Path(table.base_path) / ".hoodie/hoodie.properties"
    content = path.read_bytes()
    properties.update(table.storage, {"hoodie.table.name": table.properties.name})
    assert path.read_bytes() == content


@pytest.mark.parametrize("is_there", [True, False])
def test_an_interrupted_update_of_properties_is_completed(table: HudiTable, is_there: bool) -> None:
    hoodie = Path(table.base_path) / ".hoodie"
    shutil.copy(hoodie / "hoodie.properties", hoodie / "hoodie.properties.backup")
    if not is_there:
        (hoodie / "hoodie.properties").unlink()
    properties.update(table.storage, {"new": "1"})
    assert HudiTable.at(table.storage).properties.raw == {**table.properties.raw, "new": "1"}
    assert not (hoodie / "hoodie.properties.backup").exists()


def test_writing_properties_requires_a_table(storage: Storage) -> None:
    with pytest.raises(TableNotFound):
        properties.update(storage, {"new": "1"})


def test_only_one_holder_gets_a_lock(storage: Storage, tmp_path: Path) -> None:
    lock = TableLock(storage, wait=0.1)
    refused = pytest.raises(LockNotAcquired, match="delete that file")
    with lock.held("one"), refused, lock.held("two"):
        pass
    with lock.held("three"):
        pass
    assert not list(tmp_path.rglob("lock"))


def test_an_action_goes_through_its_states(table: HudiTable) -> None:
    times = [t for i in table.timeline.instants for t in (i.requested, i.completed)]
    requested = next_time(table.properties, times)
    action = Action(table.storage, table.properties, requested, "indexing")
    states = []
    for step in (action.request, action.start, lambda: action.complete(b"", requested)):
        step()
        (found,) = [i for i in table.refreshed().timeline.instants if i.requested == requested]
        assert found.action == "indexing"
        states.append(found.state)
    assert states == [State.REQUESTED, State.INFLIGHT, State.COMPLETED]
    with pytest.raises(HudiError, match="another writer"):
        action.request()


def test_a_new_instant_is_after_all_others(table: HudiTable) -> None:
    assert next_time(table.properties, []) > "20260101000000000"
    assert next_time(table.properties, ["29991231235959999"]) == "30000101000000000"
    assert next_time(table.properties, ["29991231235959", None]) == "30000101000000000"
