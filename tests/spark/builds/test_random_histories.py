"""Random histories of tables with indexes that are built here, in Hudi's metadata table and in the
extension. Whatever writers, table services, builds and refreshes do, in any order, no matching row
is lost, and a new or refreshed index agrees with the files.

TEST_LIVES=N, or TEST_EXAMPLES, runs N histories instead of one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from devtools.tables import HudiTable, TableSpec, TableType, upsert
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State, index_statuses
from pyhudi_expr.index.planner import LookupCost, RemainingRead
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.manage.indexing.build_options import BuildOptions, BuildResult
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.extension_indexes import extension_compact
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable
from pyhudi_expr.tables.mdt import extension_changes as extension
from pyhudi_expr.tables.mdt.extension_changes import Extension
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.example_counts import examples
from tests.index.prune.changes.test_long_lived_pruner import PREDICATES, remove_completion, rows
from tests.index.prune.changes.test_random_histories import (
    LIVES,
    TableHistory,
    comma_separated,
    ids,
    run_histories,
    texts,
    values,
)
from tests.index.prune.changes.test_table_services import MANUAL, newest
from tests.index.prune.matching_slices import INDEXES_ALONE, request
from tests.marks import long
from tests.spark.builds.test_concurrent_writers import run_before
from tests.spark.builds.test_extension_refresh import replace_partitions
from tests.spark.builds.test_hudi_reads_indexes import with_options

pytestmark = pytest.mark.spark

_OPTIONS = BuildOptions(wait=60)
_SHARDS = 2
_NOBODY = ("id = 12345", "s = 'nobody'", "x = 54321")
"""No row has these values; all except the first are within bounds."""
_PREDICATES = (
    *PREDICATES,
    *_NOBODY,
    *("id = 3", "id = 45", "id IN (5, 50, 77)", "s = ''", "s = 'new 45'", "s IN ('row 1', '')"),
    *("id = 45 AND s = 'row 7'", "s = 'row 3' OR id = 77", "s <=> null", "NOT (id = 3)"),
)
_KINDS = {
    "ranges": "USING column_stats(x, s, d)",
    "keys": "USING record_index",
    "texts": "USING secondary_index(s)",
    "blooms": "USING bloom_filters",
}
"""In this order, because a secondary index would also create the record index."""
_OF_VERSION_6 = frozenset(_KINDS) - {"texts"}
_INDEXES = [(kind, store) for kind in _KINDS for store in Store]
Index = tuple[str, Store]


class IndexedTableHistory(TableHistory):
    """A history with indexes. Hudi's writers maintain them until their settings are lost."""

    predicates = _PREDICATES
    patch: ClassVar[pytest.MonkeyPatch]

    plain: HudiTable
    indexes: dict[str, Index]
    saved: str | None

    @initialize(
        type_=st.sampled_from(TableType),
        version=st.sampled_from([6, 8, 9]),
        compacted=st.sampled_from(["2", "100"]),
        built=st.sets(st.sampled_from(_INDEXES), min_size=2, max_size=5),
    )
    def begin(self, type_: TableType, version: int, compacted: str, built: set[Index]) -> None:
        extra = {**MANUAL, "hoodie.metadata.compact.max.delta.commits": compacted}
        spec = TableSpec("life", type_, version, partitions=("p",), stats_columns=None, extra=extra)
        self.create(spec)
        self.plain, self.indexes, self.saved = self.table, {}, None
        for index in _INDEXES:
            if index in built:
                self.build(index)

    @rule(some=ids, s=texts)
    def insert(self, some: list[int], s: str) -> None:
        frame = rows(self.spark, f"id in ({comma_separated(some)})", s=s)
        upsert(self.table, frame.withColumn("id", f.expr("id + 100")))
        self.writes, self.changed = self.writes + 1, True

    @rule(first=st.integers(0, 79))
    def delete_a_partition(self, first: int) -> None:
        replace_partitions(self.table, "delete_partition", rows(self.spark, f"id = {first}"))
        self.writes, self.changed = 0, True

    @rule(index=st.sampled_from(_INDEXES))
    def build(self, index: Index) -> None:
        kind, store = index
        name = f"{kind}_{store.value}"
        of_version = _KINDS if self.table.spec.version > 6 else _OF_VERSION_6
        if name in self.indexes or (store is Store.HUDI and kind not in of_version):
            return
        found = {one.name: one.store for one in self.statuses()}
        if kind == "keys" and found.get("record_index") is store:
            return  # created with a secondary index
        options = f"OPTIONS (store = '{store.value}', shards = {_SHARDS})"
        built = self._execute(f"CREATE INDEX {name} ON '{{path}}' {_KINDS[kind]} {options}")
        assert isinstance(built, BuildResult)
        self.indexes[name] = index
        self._record_index_change(store)
        self.is_right(name)
        records = (
            MetadataTable.open(self._opened()) if store is Store.HUDI else self._extension().records
        )
        assert records is not None
        (status,) = [one for one in self.statuses() if one.name == name]
        assert {len(records.groups(partition)) for partition in status.partitions} == {_SHARDS}

    @rule(number=st.integers(0, 7))
    def refresh(self, number: int) -> None:
        if self.indexes:
            name = list(self.indexes)[number % len(self.indexes)]
            if self._execute(f"REFRESH INDEX {name} ON '{{path}}'") is not None:
                self.is_right(name)
            self._record_index_change(self.indexes[name][1])

    @precondition(lambda self: self._extension() is not None)
    @rule(some=ids, x=values)
    def refresh_while_others_write(self, some: list[int], x: str) -> None:
        """A commit right before the refresh's instant is not part of the refresh."""
        name = self._of_extension()
        upsert(self.table, rows(self.spark, "id = 31", x=x))
        with self.patch.context() as patch:
            run_before(patch, extension, "publish", lambda: self.write(some, x, "'meanwhile'"))
            assert self._execute(f"REFRESH INDEX {name} ON '{{path}}'") is not None
        (status,) = [one for one in self.statuses() if one.name == name]
        assert (status.state, newest(self.table) in status.note) == (State.LAGGING, True)

    @precondition(lambda self: self._extension() is not None)
    @rule()
    def compact_the_extension(self) -> None:
        extension_compact(self.spark, self._opened(), _OPTIONS)
        self.changed = True

    @rule(number=st.integers(0, 7))
    def drop(self, number: int) -> None:
        """A secondary index needs the record index."""
        needing = {store for kind, store in self.indexes.values() if kind == "texts"}
        free = [n for n, (kind, s) in self.indexes.items() if kind != "keys" or s not in needing]
        if free:
            name = free[number % len(free)]
            self._execute(f"DROP INDEX {name} ON '{{path}}'")
            self._record_index_change(self.indexes.pop(name)[1])

    @rule()
    def writers_forget_the_indexes(self) -> None:
        self.table = self.plain

    @rule(some=ids, x=values)
    def fail_to_write(self, some: list[int], x: str) -> None:
        """An index is refreshed between a commit's files and its completion."""
        upsert(self.table, rows(self.spark, f"id in ({comma_separated(some)})", x=x))
        put_back = remove_completion(self.table)
        if self._extension() is not None:
            self._execute(f"REFRESH INDEX {self._of_extension()} ON '{{path}}'")
        self.no_row_is_lost()
        put_back()
        self.writes, self.changed = 0, True

    @precondition(lambda self: self.saved is None)
    @rule()
    def save(self) -> None:
        self.saved = newest(self.table)
        self._call(f"create_savepoint(table => 'life', commit_time => '{self.saved}')")

    @precondition(lambda self: self.saved is not None)
    @rule()
    def restore(self) -> None:
        self._call(f"rollback_to_savepoint(table => 'life', instant_time => '{self.saved}')")

    def kept(self, text: str) -> int:
        """The number of slices that a query reads."""
        return int(Pruner(INDEXES_ALONE).prune(self.table.uri, request(text)).keep.sum())

    def _execute(self, statement: str) -> Any:
        self.changed = True
        return execute(self.spark, statement.format(path=self.table.uri), _OPTIONS)

    def _record_index_change(self, changed: Store) -> None:
        if changed is Store.HUDI:
            self.writes = 0  # a rollback would compact the metadata table, and then fail
        self.table = with_options(self.plain, writer_options(self.plain.uri))

    def is_right(self, name: str) -> None:
        (status,) = [one for one in self.statuses() if one.name == name]
        assert status.state is State.ACTIVE, status
        for one in verify(self.spark, self._opened(), status):
            assert one.is_right, one

    def _opened(self) -> OpenedTable:
        return OpenedTable.open(self.plain.uri)

    def statuses(self) -> list[IndexStatus]:
        return index_statuses(self._opened())

    def _extension(self) -> Extension | None:
        return Extension.open(self._opened())

    def _of_extension(self) -> str:
        return next(name for name, (_, store) in self.indexes.items() if store is Store.EXTENSION)


@pytest.fixture
def history_class(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> type[IndexedTableHistory]:
    """Every index is used, though reading the small files would cost less."""

    def always(_look_up: LookupCost, _left: RemainingRead) -> bool:
        return True

    monkeypatch.setattr(LookupCost, "is_worth", always)
    IndexedTableHistory.spark, IndexedTableHistory.root, IndexedTableHistory.patch = (
        spark,
        tmp_path,
        monkeypatch,
    )
    return IndexedTableHistory


@pytest.mark.timeout(0)
def test_random_histories_with_indexes_lose_no_row(
    history_class: type[IndexedTableHistory],
) -> None:
    run_histories(history_class, examples(LIVES))


def test_commits_during_a_refresh_are_left_to_the_next_one(
    history_class: type[IndexedTableHistory],
) -> None:
    one = history_class()
    index = ("texts", Store.EXTENSION)
    one.begin(type_=TableType.COW, version=9, compacted="100", built={index})
    one.refresh_while_others_write([3], "5")
    one.no_row_is_lost()
    assert one.kept("s = 'nobody'") > 0
    one.refresh(0)
    one.no_row_is_lost()
    assert one.kept("s = 'nobody'") == 0
    assert one.kept("s = 'meanwhile'") == 1


@pytest.mark.parametrize("type_", [TableType.COW, long(TableType.MOR)])
def test_statistics_of_kept_or_restored_files_are_counted_once(
    history_class: type[IndexedTableHistory], type_: TableType
) -> None:
    """They stay when log files are added to them, and come back by a rollback."""
    one = history_class()
    index = ("ranges", Store.EXTENSION)
    one.begin(type_=type_, version=9, compacted="100", built={index})
    one.write([3, 45], "5", "'new'")
    one.refresh(0)
    one.roll_back()
    one.refresh(0)
    one.no_row_is_lost()
