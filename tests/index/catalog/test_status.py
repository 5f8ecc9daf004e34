"""The indexes that a table reports, and their status."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import pyhudi_expr as ph
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.index.catalog.status import (
    State,
    checked_statuses,
    index_statuses,
)
from pyhudi_expr.index.planner import LookupCost
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.changes import partitions
from tests.index.prune.matching_slices import groups, request
from tests.tables.mdt.extension import example_index


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> HudiTable:
    shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    return HudiTable.open(str(tmp_path / "table"))


def test_hudis_indexes_have_their_kinds_and_columns(table: HudiTable) -> None:
    found = {status.name: status for status in index_statuses(table)}
    assert list(found) == ["column_stats", "merchant_idx", "record_index", "txn_date_idx"]
    assert found["merchant_idx"].kind == "secondary_index"
    assert found["merchant_idx"].partitions == ("secondary_index_merchant_idx",)
    assert len(found["txn_date_idx"].columns) == 1
    assert found["column_stats"].partitions == ("column_stats", "partition_stats")
    assert {status.state for status in found.values()} == {State.ACTIVE}
    assert {status.covers for status in found.values()} == {table.instant}


def test_a_registered_index_without_files_is_reported_as_missing(table: HudiTable) -> None:
    index = RegisteredIndex(
        name="shops",
        kind="secondary_index",
        columns=("merchant",),
        options={},
        store=Store.HUDI,
        partitions=("secondary_index_merchant_idx",),
        created=table.instant or "",
    )
    Registry().with_index(index).write(table.storage)
    assert {s.name: s.state for s in index_statuses(table)}["shops"] is State.ACTIVE

    partitions.drop(table, index.partitions, TableLock(table.storage))
    (status,) = [s for s in index_statuses(table.refreshed()) if s.name == "shops"]
    assert status.state is State.DROPPED
    assert status.covers is None
    assert "refresh it" in status.note


@pytest.mark.parametrize(
    ("actions", "named"),
    [
        (["rollback", "commit"], "commit 1 (rollback),"),
        (["clean", "commit", "restore"], "commit 2 (commit),"),
        (["restore", "commit"], "restore 1,"),
    ],
)
def test_the_action_that_deleted_an_index_is_named(
    table: HudiTable, actions: Sequence[str], named: str
) -> None:
    index = RegisteredIndex(
        "shops", "column_stats", ("s",), {}, Store.HUDI, ("column_stats",), created=""
    )
    Registry().with_index(index).write(table.storage)
    partitions.drop(table, index.partitions, TableLock(table.storage))
    for number, action in enumerate(actions, 1):
        table.storage.write(f".hoodie/timeline/2999000{number}_2999001{number}.{action}", b"{}")
    (status,) = [s for s in index_statuses(table.refreshed()) if s.name == "shops"]
    assert f"deleted by the {named.replace(' ', ' 2999000', 1)}" in status.note


def test_a_lagging_index_names_the_first_commit_that_it_lacks(
    table: HudiTable, tmp_path: Path
) -> None:
    newest = max(Path(table.base_path).glob(".hoodie/timeline/*_*.commit"))
    newest.rename(tmp_path / newest.name)
    example_index.build(table.base_path, [("oslo", "1")])
    found = {status.name: status for status in index_statuses(table.refreshed())}
    assert (found["city"].state, found["city"].note) == (State.ACTIVE, "")

    (tmp_path / newest.name).rename(newest)
    first_missing = newest.name.split("_")[0]
    found = {status.name: status for status in index_statuses(table.refreshed())}
    assert found["city"].state is State.LAGGING
    assert found["city"].covers != first_missing
    assert found["city"].note == f"the first that it does not cover is {first_missing} (commit)"


def test_indexes_that_have_all_keys_stay_active(table: HudiTable) -> None:
    assert checked_statuses(IndexCatalog.open(table)) == index_statuses(table)


def test_a_record_index_that_lacks_keys_is_reported_as_queries_use_it(
    flink: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flink's writer deleted entries of existing keys."""
    # The files are so small that reading them costs less than reading the index.
    monkeypatch.setattr(LookupCost, "is_worth", lambda *_: True)
    path = str(flink["mor_indexed"])
    assert [status.state for status in index_statuses(HudiTable.open(path))] == [State.ACTIVE]
    (status,) = checked_statuses(IndexCatalog.open(HudiTable.open(path)))
    # Rows read for a missing key are those that the index is not trusted about.
    result = Pruner().prune(path, request("_hoodie_record_key = 'nowhere'"))
    kept, every = len(groups(result)), len(groups(result, kept_only=False))
    assert 0 < kept < every
    assert status.state is State.DOUBTED
    assert f"{kept} of {every} file slices are read" in status.note


def test_an_unreadable_index_is_broken(flink: Mapping[str, Path], tmp_path: Path) -> None:
    shutil.copytree(flink["mor_indexed"], tmp_path / "table")
    for file in tmp_path.glob("table/.hoodie/metadata/record_index/*.hfile"):
        file.write_bytes(b"nothing")
    table = HudiTable.open(str(tmp_path / "table"))
    (status,) = checked_statuses(IndexCatalog.open(table))
    assert (status.state, status.covers) == (State.BROKEN, None)
    assert "record_index/" in status.note


@pytest.mark.parametrize(
    ("gone", "named"),
    [
        (".hoodie/metadata/column_stats", "column_stats"),
        (".hoodie/metadata", "the metadata table is gone"),
        (".hoodie/metadata/.hoodie/hoodie.properties", "the metadata table"),
    ],
)
def test_an_index_whose_files_are_gone_is_broken(
    golden: Mapping[str, Path], tmp_path: Path, gone: str, named: str
) -> None:
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    lost = path / gone
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    rows = {row["name"]: row for row in ph.table(str(path)).indexes().to_pylist()}
    broken = rows["column_stats"]
    assert (broken["state"], broken["covers"], broken["bytes"]) == ("broken", None, 0)
    assert named in broken["note"]
    every = {row["state"] for row in rows.values()}
    assert (every == {"broken"}) == (not gone.endswith("column_stats"))


def test_a_damaged_metadata_table_breaks_its_indexes(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    (path / ".hoodie/metadata/.hoodie/hoodie.properties").write_bytes(b"\xff\xfe garbage")
    rows = ph.table(str(path)).indexes().to_pylist()
    assert {row["state"] for row in rows} == {"broken"}


def test_the_index_registry_survives_a_round_trip(table: HudiTable) -> None:
    index = RegisteredIndex("i", "k", ("a", "b.c"), {"x": "y"}, Store.EXTENSION, ("p",), "1")
    registry = Registry().with_index(index)
    registry.write(table.storage)
    assert Registry.read(table.storage) == registry
    registry.without("i").write(table.storage)
    assert not Registry.read(table.storage).indexes


@pytest.mark.parametrize("content", ["", "[]", '{"indexes": {"i": {"kind": 1}}}'])
def test_a_damaged_index_registry_is_reported(table: HudiTable, content: str) -> None:
    table.storage.write(".hoodie/pyhudi/indexes.json", content.encode())
    with pytest.raises(CorruptFile, match=r"indexes\.json"):
        index_statuses(table)
