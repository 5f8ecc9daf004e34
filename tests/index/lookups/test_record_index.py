"""Record indexes written by Hudi: exact, and trusted where they account for all rows."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.lookups.record_index import RecordIndex, describes_listing, record_index
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.index.row_counts import row_counts
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import hashes
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing

#: After inserts, updates, deletes, insert overwrite, compaction and clustering.
INDEXED = ("cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta")


def opened(path: Path, view: TableView = TableView.SNAPSHOT) -> tuple[MetadataTable, FileListing]:
    mdt = MetadataTable.open(HudiTable.open(str(path)))
    assert mdt is not None
    return mdt, current_listing(mdt.table, mdt, view)


def the_index(path: Path) -> RecordIndex:
    found = record_index(*opened(path))
    assert found is not None
    return found


def slices_of(index: RecordIndex, *keys: str) -> list[int]:
    hashed_keys = hashes(ByteStrings.of([key.encode() for key in keys]))
    return [int(number) for number in np.flatnonzero(index.loaded().slices_of(hashed_keys))]


@pytest.mark.parametrize("name", INDEXED)
def test_each_key_is_in_its_slice_only(name: str, golden: Mapping[str, Path]) -> None:
    _, listing = opened(golden[name])
    held = defaultdict(list)
    for number, path in enumerate(listing.paths(~listing.file_is_log)):
        rows = pq.read_table(golden[name] / path, partitioning=None)
        for key in rows["_hoodie_record_key"].to_pylist():
            held[key].append(number)
    index = the_index(golden[name])
    assert index.loaded().is_trusted.all()
    for key, slices in held.items():
        assert slices_of(index, key) == slices
    assert slices_of(index, *held) == list(range(listing.num_slices))
    assert slices_of(index, "no such key") == []


def test_rows_of_logs_with_updates_and_deletes_are_counted(golden: Mapping[str, Path]) -> None:
    path = golden["mor_v6_metadata_pending_compaction"]
    mdt, listing = opened(path)
    named = the_index(path).loaded().entries.per_slice(listing.num_slices)
    counted = row_counts(mdt, listing)
    known = counted != -1
    assert counted[known].tolist() == named[known].tolist()
    # Two slices were written to after a delete, so the deleted key may exist again.
    assert int((~known).sum()) == 2


def test_a_group_with_more_rows_than_entries_is_kept(
    golden: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a bulk insert of keys that exist already."""

    def one_more(mdt: MetadataTable, listing: FileListing) -> np.ndarray:
        counts = row_counts(mdt, listing)
        counts[2] += 1
        return counts

    monkeypatch.setattr("pyhudi_expr.index.lookups.record_index.row_counts", one_more)
    assert slices_of(the_index(golden[INDEXED[0]]), "no such key") == [2]


def test_the_record_index_is_not_used_for_read_optimised_queries(
    golden: Mapping[str, Path],
) -> None:
    assert not describes_listing(*opened(golden[INDEXED[1]], TableView.READ_OPTIMIZED))
    assert describes_listing(*opened(golden[INDEXED[0]], TableView.READ_OPTIMIZED))


def test_the_record_index_is_not_used_for_older_instants(golden: Mapping[str, Path]) -> None:
    mdt, listing = opened(golden[INDEXED[0]])
    assert describes_listing(mdt, listing)
    assert not describes_listing(
        mdt, replace(listing, instant=mdt.table.timeline.writes[0].requested)
    )


def test_an_index_that_lags_is_not_used(golden: Mapping[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "t"
    shutil.copytree(golden[INDEXED[0]], path)
    newest = opened(path)[0].table.instant
    for file in (path / ".hoodie/metadata/.hoodie/timeline").glob(f"{newest}*"):
        file.unlink()
    assert record_index(*opened(path)) is None


def test_shards_for_each_partition_are_recognised(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "t"
    shutil.copytree(golden[INDEXED[0]], path)
    definitions = path / ".hoodie/.index_defs/index.json"
    text = definitions.read_text()
    definitions.write_text(text.replace('"isPartitioned" : "false"', '"isPartitioned" : "true"'))
    assert text != definitions.read_text()
    for sums in definitions.parent.glob(".*.crc"):
        sums.unlink()
    assert record_index(*opened(path)) is None


def test_a_damaged_index_costs_pruning_and_is_noted(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "t"
    shutil.copytree(golden[INDEXED[0]], path)
    for file in (path / ".hoodie/metadata/record_index").glob("record-index-0003*.hfile"):
        file.write_bytes(file.read_bytes()[:3000])
    request = PruneRequest(parse_predicate("txn_id IN ('TXN-001', 'TXN-007')"))
    result = Pruner().prune(str(path), request)
    assert "record_index" not in [source.name for source in result.evidence]
    assert any("record_index" in note and str(path) in note for note in result.notes)
    assert result.files_kept >= 2


def test_rows_of_files_that_are_missing_in_the_index_are_not_lost(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """Their groups still have their first, empty logs: only the row counts show it."""
    path = tmp_path / "t"
    shutil.copytree(golden[INDEXED[0]], path)
    for file in (path / ".hoodie/metadata/record_index").glob("*record-index-000[0-1]*_2026*"):
        file.unlink()
    index, complete = the_index(path), the_index(golden[INDEXED[0]])
    assert 0 < np.count_nonzero(index.loaded().is_trusted) < len(index.loaded().is_trusted)
    for number in range(25):
        key = f"TXN-{number:03}"
        assert set(slices_of(complete, key)) <= set(slices_of(index, key))
