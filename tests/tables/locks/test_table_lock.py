"""The locks of a table that are supported, and those that are not."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables import locks, properties
from pyhudi_expr.tables.locks import LockNotAcquired, TableLock, UnknownLock
from pyhudi_expr.tables.properties import hudi_defaults
from pyhudi_expr.tables.storage import Storage

_PACKAGE = "org.apache.hudi.client.transaction.lock"


@pytest.fixture
def table(tmp_path: Path) -> Storage:
    (tmp_path / "table/.hoodie").mkdir(parents=True)
    return Storage.open(str(tmp_path / "table"))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's configuration directory."""
    monkeypatch.setattr(properties, "_DIRECTORY", str(tmp_path / "none"))
    monkeypatch.setenv("HUDI_CONF_DIR", str(tmp_path / "conf"))
    (tmp_path / "conf").mkdir()
    return tmp_path / "conf/hudi-defaults.conf"


def lock_files(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("lock"))


def test_locks_are_taken_at_both_paths_that_hudis_versions_use(table: Storage) -> None:
    with TableLock.of(table).held("tries"):
        assert lock_files(Path(table.root)) == [".hoodie/.aux/lock", ".hoodie/lock"]
        owner = json.loads((Path(table.root) / ".hoodie/lock").read_bytes())
        assert "pyhudi tries" in owner["lockThreadName"]
    assert lock_files(Path(table.root)) == []


@pytest.mark.parametrize("place", ["locks/of/it", "{root}/elsewhere", "file://{root}/elsewhere"])
def test_the_lock_directory_in_the_settings_is_used(
    table: Storage, tmp_path: Path, place: str
) -> None:
    settings = {locks.DIRECTORY: place.format(root=tmp_path)}
    with TableLock.of(table, settings).held("tries"):
        (file,) = lock_files(tmp_path)
        assert file == ("table/locks/of/it/lock" if place == "locks/of/it" else "elsewhere/lock")
        with (
            pytest.raises(LockNotAcquired, match=file.removeprefix("table/")),
            TableLock.of(table, settings, wait=0).held("tries"),
        ):
            pass
    assert lock_files(tmp_path) == []


def test_the_machines_settings_define_the_lock(
    table: Storage, machine: Path, tmp_path: Path
) -> None:
    machine.write_text(f"# of this cluster\n{locks.DIRECTORY}   {tmp_path}/cluster\n")
    with TableLock.of(table).held("tries"):
        assert lock_files(tmp_path) == ["cluster/lock"]
    with TableLock.of(table, {locks.DIRECTORY: "mine"}).held("tries"):
        assert lock_files(tmp_path) == ["table/mine/lock"]


def test_an_invalid_wait_time_is_refused(table: Storage) -> None:
    with pytest.raises(HudiError, match=r"wait_time_ms is 'soon'"):
        TableLock.of(table, {locks.WAIT: "soon"})


@pytest.mark.parametrize("name", ["FileSystemBasedLockProvider", "InProcessLockProvider", ""])
def test_file_system_and_in_process_locks_are_supported(table: Storage, name: str) -> None:
    TableLock.of(table, {locks.PROVIDER: f"{_PACKAGE}.{name}" if name else ""}).check()


@pytest.mark.parametrize(
    "provider",
    [
        f"{_PACKAGE}.ZookeeperBasedLockProvider",
        f"{_PACKAGE}.StorageBasedLockProvider",
        "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider",
        "org.apache.hudi.aws.transaction.lock.DynamoDBBasedImplicitPartitionKeyLockProvider",
        "com.example.OurLocks",
    ],
)
def test_locks_of_other_services_are_refused(table: Storage, machine: Path, provider: str) -> None:
    machine.write_text(f"{locks.PROVIDER}={provider}\n")
    with pytest.raises(UnknownLock, match=rf"{provider}.*FileSystemBasedLockProvider.*extension"):
        TableLock.of(table).check()
    options = {locks.PROVIDER: f"{_PACKAGE}.FileSystemBasedLockProvider"}
    TableLock.of(table, options).check()


@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        ("", {}),
        ("a=1\nb = 2\nc 3\n\nd\t 4 5\n", {"a": "1", "b": "2", "c": "3", "d": "4 5"}),
        ("# a=1\nlonely\n", {}),
        ("a=1\ninclude=more.conf\nc=3\n", {"a": "2", "b": "x=y", "c": "3"}),
        ("include={conf}/more.conf\nb=1\n", {"a": "2", "b": "1"}),
    ],
)
def test_the_format_of_the_machines_settings(
    machine: Path, lines: str, settings: Mapping[str, str]
) -> None:
    (machine.parent / "more.conf").write_text("a=2\nb=x=y\n")
    machine.write_text(lines.format(conf=machine.parent))
    assert hudi_defaults() == settings


def test_a_machine_without_settings(machine: Path) -> None:
    assert not machine.exists()
    assert hudi_defaults() == {}


@pytest.mark.parametrize("line", ["include=hudi-defaults.conf", "include=none.conf"])
def test_unreadable_settings_are_reported(machine: Path, line: str) -> None:
    machine.write_text(line)
    with pytest.raises(HudiError, match=r"includes itself|none\.conf"):
        hudi_defaults()


def test_the_extension_is_locked_whatever_the_writers_lock_is(table: Storage) -> None:
    lock = TableLock.of(table, {locks.PROVIDER: "com.example.OurLocks"}, wait=0)
    refused = pytest.raises(LockNotAcquired, match=r"\.hoodie/lock")
    with lock.held("tries"), refused, lock.held("tries"):
        pass
