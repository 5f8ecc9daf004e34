"""Secondary indexes written by Hudi: from values to the right slices."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.computed_once import LazyValue
from pyhudi_expr.index.lookups import secondary_index
from pyhudi_expr.index.lookups.record_index import RecordIndex, record_index
from pyhudi_expr.index.lookups.secondary_index import SecondaryIndex, secondary_indexes
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.store.hashed_records import HashedEntries
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from tests.index.prune.matching_slices import request

INDEXED = "cow_v9_txns_simple_meta"
MERGED = "mor_v9_txns_simple_meta"


def opened(path: Path) -> tuple[FileListing, RecordIndex, dict[str, SecondaryIndex]]:
    mdt = MetadataTable.open(HudiTable.open(str(path)))
    assert mdt is not None
    listing = current_listing(mdt.table, mdt, TableView.SNAPSHOT)
    records = record_index(mdt, listing)
    assert records is not None
    found = secondary_indexes(mdt, listing, records)
    return listing, records, {index.name.removeprefix("secondary_index_"): index for index in found}


def spelled(value: object) -> bytes:
    if value is None:
        return b"\0"
    if isinstance(value, date):
        return str((value - date(1970, 1, 1)).days).encode()
    return str(value).encode()


@pytest.mark.parametrize(
    ("index", "column"), [("merchant_idx", "merchant_name"), ("txn_date_idx", "txn_date")]
)
def test_each_value_is_in_its_slices_only(
    index: str, column: str, golden: Mapping[str, Path]
) -> None:
    listing, _, indexes = opened(golden[INDEXED])
    held = defaultdict(set)
    for number, path in enumerate(listing.paths(~listing.file_is_log)):
        for value in pq.read_table(golden[INDEXED] / path, partitioning=None)[column].to_pylist():
            held[spelled(value)].add(number)
    index_of_values = indexes[index]
    assert index_of_values.loaded().is_trusted.all()
    for value, slices in held.items():
        assert set(np.flatnonzero(index_of_values.loaded().slices_with([value])).tolist()) == slices
    assert not index_of_values.loaded().slices_with([b"no such value"]).any()


def test_a_slice_with_a_key_that_has_no_entry_or_two_is_kept(golden: Mapping[str, Path]) -> None:
    listing, records, indexes = opened(golden[INDEXED])
    known = records.loaded()
    # As if the record index had a key of slice 1 that the secondary index lacks.
    more = HashedEntries.of(
        np.append(known.entries.hashes, np.uint64(42)),
        np.append(known.entries.slices, np.int32(1)),
    )
    records._read = LazyValue(lambda: replace(known, entries=more))
    kept = indexes["merchant_idx"].loaded().slices_with([b"no such value"])
    assert np.flatnonzero(kept).tolist() == [1]
    assert listing.num_slices > 2


def test_a_slice_not_accounted_for_harms_others(golden: Mapping[str, Path]) -> None:
    """It may hold another row of any key."""
    _, records, indexes = opened(golden[INDEXED])
    known = records.loaded()
    doubted = known.is_trusted.copy()
    doubted[3] = False
    records._read = LazyValue(lambda: replace(known, is_trusted=doubted))
    index = indexes["merchant_idx"]
    assert np.flatnonzero(~index.loaded().is_trusted).tolist() == [3]
    assert np.flatnonzero(index._trust.harmful(doubted)).tolist() == [3]


def test_slices_that_no_rule_covers_are_compared_with_the_index(
    golden: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: object, listing: FileListing, __: str) -> BoolArray:
        return np.zeros(listing.num_slices, np.bool_)

    monkeypatch.setattr(secondary_index, "covered_slices", none)
    patient = Pruner(PruneOptions(footer_wait=30))
    found = patient.prune(str(golden[INDEXED]), request("merchant_name = 'Japan Airlines'"))
    assert [note for note in found.notes if "SHOW INDEXES" in note] == []
    assert 0 < found.files_kept < found.files_total


def test_a_query_is_told_for_how_many_slices_an_index_answers(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """Keys that the record index lacks make their slices unknown; the others are not affected."""
    path = tmp_path / "t"
    shutil.copytree(golden[INDEXED], path)
    for file in (path / ".hoodie/metadata/record_index").glob("*record-index-000[0-1]*_2026*"):
        file.unlink()
    patient = Pruner(PruneOptions(footer_wait=30))
    found = patient.prune(str(path), request("merchant_name = 'M'"))
    (note,) = [note for note in found.notes if "SHOW INDEXES" in note]
    assert note.startswith("secondary_index_merchant_idx answers for 2 of 3 file slices")
    assert found.dropped_by["secondary_index_merchant_idx"] == 2


def test_an_index_built_last_is_used_for_merge_on_read_tables(golden: Mapping[str, Path]) -> None:
    _, _, indexes = opened(golden[MERGED])
    assert indexes["merchant_idx"].loaded().is_trusted.all()
    assert not indexes["merchant_idx"].loaded().slices_with([b"no such value"]).any()
