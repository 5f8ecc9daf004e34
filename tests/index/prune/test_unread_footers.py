"""Footers take the place of statistics that a table lacks; until they are read, files are kept."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.statistics import column_stats
from pyhudi_expr.index.statistics.column_stats import _FOOTER_READER, BoundsLimits, WholeColumnStats
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics
from pyhudi_expr.tables.storage import Storage
from tests.index.statistics_entries import UNKNOWN, column, plain


@dataclass(frozen=True)
class BusyThread:
    """Keeps the thread that reads footers busy until it is released."""

    release: threading.Event

    def end(self) -> None:
        self.release.set()
        _FOOTER_READER.submit(int).result()


@pytest.fixture
def reader() -> Iterator[BusyThread]:
    found = BusyThread(threading.Event())
    _FOOTER_READER.submit(found.release.wait)
    yield found
    found.end()


def test_files_are_kept_until_their_footers_are_read(
    golden: Mapping[str, Path], reader: BusyThread
) -> None:
    """A table without column_stats."""
    pruner = Pruner(PruneOptions(footer_wait=0.05))

    def prune_ids() -> PruneResult:
        request = PruneRequest(parse_predicate("id = -1"), semantics=here("UTC"))
        return pruner.prune(str(golden["cow_v6_simplekeygen_hivestyle_no_metafields"]), request)

    early = prune_ids()
    assert early.keep.all()
    assert "footers are still being read for id" in early.notes
    reader.end()
    final = prune_ids()
    assert not final.keep.any()
    assert not [note for note in final.notes if "still being read" in note]


def test_columns_without_entries_are_pruned_by_footers(golden: Mapping[str, Path]) -> None:
    """Hudi indexes neither the name of a row's file nor the row's number in its commit."""
    path = str(golden["cow_v9_txns_simple_meta"])
    pruner = Pruner(PruneOptions(footer_wait=60))
    listing = pruner.open(path).listing
    for relative in listing.paths(np.arange(listing.num_files)):
        name = relative.rpartition("/")[2]
        found = pruner.prune(path, PruneRequest(parse_predicate(f"_hoodie_file_name = '{name}'")))
        assert found.kept_paths() == [relative]
        [note] = [note for note in found.notes if note.startswith("column_stats has no entries of")]
        assert "_hoodie_file_name" in note
    indexed = pruner.prune(path, PruneRequest(parse_predicate("txn_id IS NULL")))
    assert not [note for note in indexed.notes if "no entries" in note]


@dataclass(frozen=True)
class SomeEntries:
    """The entries of a metadata table that are about some files (an `EntrySource`)."""

    metadata: MetadataTable
    names: pa.Array
    cache: DiskCache | None = None
    meta_fields: bool = True
    reading_threads: int = 1

    def groups(self, partition: str) -> Sequence[FileGroup]:
        return self.metadata.groups(partition)

    def statistics_pieces(
        self, partition: str, prefixes: Sequence[str]
    ) -> list[Iterator[ColumnStatistics]]:
        found = self.metadata.statistics_pieces(partition, prefixes)
        return [map(self._chosen, pieces) for pieces in found]

    def _chosen(self, piece: ColumnStatistics) -> ColumnStatistics:
        return piece.filter(np.asarray(pc.is_in(piece.file_name, self.names)))


def test_a_file_without_an_entry_has_the_bounds_of_its_footer(golden: Mapping[str, Path]) -> None:
    table = HudiTable.open(str(golden["cow_v9_txns_simple_meta"]))
    metadata = MetadataTable.open(table)
    assert metadata is not None
    listing = current_listing(table, metadata, TableView.SNAPSHOT)
    names = pa.array(listing.file_name)
    asked, everywhere = column(pa.string(), "txn_id"), np.ones(len(listing.partitions), np.bool_)
    whole = WholeColumnStats(metadata, listing, table.storage).load([asked], everywhere, 60)
    for indexed in (names[:0], names[:2], names[2:]):
        stats = WholeColumnStats(SomeEntries(metadata, indexed), listing, table.storage)
        found = stats.load([asked], everywhere, 60)
        assert plain(found.bounds(asked)) == plain(whole.bounds(asked))
        assert found.without_entries == (() if len(indexed) else (asked,))


@dataclass(frozen=True)
class Counting(Storage):
    """Counts how often files are opened."""

    opened: Counter[str] = field(default_factory=Counter)

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        self.opened[path] += 1
        return super().open_input(path, size)


def test_each_question_has_footers_read_for_some_time(
    golden: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one question has begun, the next ones go on with; no footer is read twice."""
    monkeypatch.setattr(column_stats, "_FOOTERS", 1)
    table = HudiTable.open(str(golden["cow_v6_simplekeygen_hivestyle_no_metafields"]))
    listing, on_disk = table.listing(), table.storage
    storage = Counting(on_disk.uri, on_disk.backend, on_disk.root)
    stats = WholeColumnStats(None, listing, storage, BoundsLimits(footer_seconds=1e-9))
    asked = [column(pa.int32(), "id"), column(pa.string(), "name")]
    everywhere = np.ones(len(listing.partitions), np.bool_)
    for left in (2, 1, 0, 0):
        found = stats.load(asked, everywhere, 60)
        assert len(found.notes) == (2 if left else 0)
        assert all(f"the footers of {left} files are not read yet" in one for one in found.notes)
        for one in asked:
            assert plain(found.bounds(one)).count(UNKNOWN) == left
    assert sorted(storage.opened.values()) == [1, 1, 1]


def test_footers_serve_later_states_of_the_table(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """Each state is another snapshot; none of them reads a footer that an earlier one has read."""
    table = HudiTable.open(str(golden["cow_v6_simplekeygen_hivestyle_no_metafields"]))
    on_disk, asked = table.storage, [column(pa.int32(), "id")]
    everywhere = np.ones(len(table.listing().partitions), np.bool_)
    storage, earlier = Counting(on_disk.uri, on_disk.backend, on_disk.root), None
    for partitions in ([True, False, False], [False, True, False], [False] * 3, everywhere):
        stats = WholeColumnStats(
            None, table.listing(), storage, earlier={} if earlier is None else earlier.footers()
        )
        stats.load(asked, np.array(partitions), 60)
        earlier = stats
    found = stats.load(asked, everywhere, 60).bounds(asked[0])
    assert found is not None
    assert UNKNOWN not in plain(found)
    assert sorted(storage.opened.values()) == [1, 1, 1]
