"""A builder whose lease ended, and whose lock another writer took, does not go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables import properties
from pyhudi_expr.tables.hudi_names import METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import LockLost, TableLock
from pyhudi_expr.tables.locks.storage_lease import LEASE_FILE, LeaseRecord, LeaseTimes, StorageLock
from pyhudi_expr.tables.mdt import extension_changes as extension
from pyhudi_expr.tables.mdt.changes import async_indexing
from pyhudi_expr.tables.mdt.changes.bootstrap import ensure_metadata_table
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.tables.mdt.extension import Coverage
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition, index_definitions
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import WrittenFile
from tests.stored_files import StoredFiles

pytestmark = pytest.mark.s3

_NEVER_RENEWED = LeaseTimes(validity=1, renewal=60)
_NEW = IndexDefinition("secondary_index_new", "secondary_index", "", ("name",), {}, "V2")
_PARTITION = NewPartition(_NEW.name, 1, _NEW)


@dataclass(frozen=True)
class ShortLease(TableLock):
    """A lease that ends after a second."""

    def _lock(self) -> StorageLock:
        return StorageLock(self.storage, 5, _NEVER_RENEWED)


@pytest.fixture
def table(s3_env: Mapping[str, str], s3_bucket: str, golden: Mapping[str, Path]) -> HudiTable:
    storage = Storage.open(f"s3://{s3_bucket}/t")
    StoredFiles.of_directory(golden["cow_v8_complexkeygen_hivestyle"]).restore(storage)
    ensure_metadata_table(HudiTable.at(storage), TableLock(storage))
    return HudiTable.at(storage)


def taken(storage: Storage) -> None:
    """Lets the lease end, and another writer take the lock."""
    time.sleep(_NEVER_RENEWED.validity + 0.1)
    until = int((time.time() + 100) * 1000)
    storage.write(LEASE_FILE, LeaseRecord(False, until, "another-writer").content())


def freed(storage: Storage) -> None:
    """The other writer is done."""
    storage.write(LEASE_FILE, LeaseRecord(True, 0, "another-writer").content())


def test_an_index_of_hudis_table_is_not_published(table: HudiTable) -> None:
    lock, storage = ShortLease(table.storage), table.storage
    announced = async_indexing.announce(table, [_PARTITION], lock)

    def catch_up(_table: HudiTable, _instant: str) -> list[WrittenFile]:
        taken(storage)
        return []

    with pytest.raises(LockLost, match="was taken by another writer while it was held here"):
        async_indexing.publish(announced, [], lock, 1, catch_up)
    now = table.refreshed()
    assert _NEW.name not in now.properties.metadata_partitions
    assert index_definitions(now) == index_definitions(table)
    metadata = HudiTable.at(storage.child(METADATA_DIR))
    assert not {announced.instant} & {i.requested for i in metadata.timeline.instants}
    freed(storage)
    async_indexing.abort(announced, lock)
    assert table.refreshed().properties == table.properties


@pytest.mark.parametrize("step", ["completes", "lists"])
def test_an_index_of_the_extension_is_not_published(table: HudiTable, step: str) -> None:
    lock, storage = ShortLease(table.storage), table.storage
    change = extension.begin(table, lock)
    extension.begin_partition(change, _PARTITION)
    coverage = Coverage()
    register: Callable[[], None] = lambda: None  # noqa: E731
    if step == "completes":
        coverage = _Slow(coverage, lambda: taken(storage))  # type: ignore[assignment]
    else:
        register = lambda: taken(storage)  # noqa: E731
    with pytest.raises(LockLost, match="was taken by another writer"):
        extension.publish(change, [], coverage, lock, [_NEW], register)
    now = change.extension.refreshed()
    assert not now.properties.metadata_partitions
    assert (change.instant in now.timeline.completed_requests) == (step == "lists")
    freed(storage)
    extension.abort(extension.begin(table, lock), lock)
    assert extension.Extension.open(table) is None


class _Slow:
    """A coverage whose file takes so long that the lease ends."""

    def __init__(self, coverage: Coverage, wait: Callable[[], None]) -> None:
        self._coverage, self._wait = coverage, wait

    def content(self) -> bytes:
        self._wait()
        return self._coverage.content()

    def __getattr__(self, name: str) -> object:
        return getattr(self._coverage, name)


def test_what_another_writer_wrote_meanwhile_is_not_undone(table: HudiTable) -> None:
    """Undoing needs the lock, too: else it would be done on top of the other's changes."""
    lock, storage = ShortLease(table.storage), table.storage

    def create_groups() -> None:
        taken(storage)
        raise HudiError("no space")

    broken = NewPartition(_NEW.name, _Many(create_groups), _NEW)
    with pytest.raises(HudiError, match=r"no space; what was started stays .* another writer"):
        async_indexing.announce(table, [broken], lock)
    freed(storage)


class _Many:
    """A number of shards that fails."""

    def __init__(self, fail: Callable[[], None]) -> None:
        self._fail = fail

    def __index__(self) -> int:
        self._fail()
        return 0


def test_properties_that_another_writer_changed_are_kept(
    table: HudiTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = Storage.open(table.base_path)
    write, written = Storage.write, list[str]()

    def meanwhile(storage: Storage, path: str, content: bytes) -> None:
        write(storage, path, content)
        if not written:
            written.append(path)
            properties.update(others, {"of.another": "1"})

    monkeypatch.setattr(Storage, "write", meanwhile)
    with pytest.raises(HudiError, match=r"another writer changed .*hoodie\.properties"):
        properties.update(table.storage, {"own": "1"})
    raw = HudiTable.at(table.storage).properties.raw
    assert raw == {**table.properties.raw, "of.another": "1"}
    properties.update(table.storage, {"own": "1"})
    assert HudiTable.at(table.storage).properties.raw == {**raw, "own": "1"}
    assert table.storage.stat(".hoodie/hoodie.properties.backup") is None
