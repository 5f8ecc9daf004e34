"""Slices that are read, and compared with indexes that Hudi wrote."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pyhudi_expr.index.lookups.slice_proofs import (
    Finding,
    IndexedRows,
    SliceProofs,
    SliceRows,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.certificates import stored
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.index.lookups.test_secondary_index import INDEXED, MERGED, opened
from tests.index.prune.changes.direct_lookups import looked_up_directly

COLUMN = "merchant_name"


@pytest.fixture(params=[nullcontext, looked_up_directly], ids=["in memory", "looked up"])
def how(request: pytest.FixtureRequest) -> Iterator[bool]:
    """How the indexes are read: whether slices without a row of an entry are found, too."""
    context: AbstractContextManager[None] = request.param()
    with context:
        yield request.param is nullcontext


def with_row(rows: IndexedRows, key: bytes, value: bytes) -> IndexedRows:
    return IndexedRows(
        ByteStrings.of([*rows.keys.to_list(), key]), ByteStrings.of([*rows.values.to_list(), value])
    )


@pytest.mark.parametrize("name", [INDEXED, MERGED])
def test_an_index_finds_the_rows_that_it_has_and_no_others(
    name: str, golden: Mapping[str, Path], how: bool
) -> None:
    listing, records, indexes = opened(golden[name])
    rows = SliceRows(HudiTable.open(str(golden[name])), listing)
    keys, values = records.places(5), indexes["merchant_idx"].places(5)
    for slice_ in range(listing.num_slices):
        found = rows.read(slice_, COLUMN)
        assert len(found.keys) == len(found.values) > 0
        assert keys.find_all(found.keys, slice_)
        assert values.find_all(found, slice_)
        more = with_row(found, found.keys[0], b"no such value")
        assert keys.find_all(more.keys, slice_)
        assert not values.find_all(more, slice_)
        unknown = with_row(found, b"no such key", b"no such value")
        assert not keys.find_all(unknown.keys, slice_)
        assert not values.find_all(unknown, slice_)
        fewer = IndexedRows(found.keys.take(slice(1, None)), found.values.take(slice(1, None)))
        assert keys.find_all(fewer.keys, slice_) is how
        assert values.find_all(fewer, slice_) is how
        other = (slice_ + 1) % listing.num_slices
        assert not keys.find_all(found.keys, other)


def test_sums_that_are_not_known_are_counted_anew(golden: Mapping[str, Path]) -> None:
    with looked_up_directly():
        listing, _, indexes = opened(golden[MERGED])
        mdt = MetadataTable.open(HudiTable.open(str(golden[MERGED])))
        assert mdt is not None
        known = stored.certify_values(mdt, "secondary_index_merchant_idx")
        without = replace(known, sums=None)
        stored._VALUES.put(stored._label(mdt, "secondary_index_merchant_idx"), without)
        rows = SliceRows(HudiTable.open(str(golden[MERGED])), listing)
        values = indexes["merchant_idx"].places(5)
        assert all(values.find_all(rows.read(n, COLUMN), n) for n in range(listing.num_slices))


def test_slices_are_read_once_for_all_states(golden: Mapping[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "t"
    shutil.copytree(golden[INDEXED], path)
    listing, _, _ = opened(path)
    table = HudiTable.open(str(path))
    before = SliceRows(table, listing)
    first = before.read(0, COLUMN)
    for file in listing.paths(~listing.file_is_log):
        (path / file).unlink()
    later = SliceRows(table, listing, before)
    assert later.read(0, COLUMN) is first
    assert later.nbytes == first.nbytes
    (part,) = listing.parts
    grown = FileListing.of(
        listing.instant, listing.view, replace(part, file_size=part.file_size + 1)
    )
    findings = SliceProofs(grown)
    others = SliceRows(table, grown, before)
    asked = np.arange(grown.num_slices) == 0
    found = findings.found(lambda rows, _: bool(rows), others, COLUMN, asked, 30)
    assert not found.any()
    assert findings.are(Finding.UNREADABLE).tolist() == asked.tolist()


def test_a_question_without_patience_reads_nothing(golden: Mapping[str, Path]) -> None:
    listing, _, _ = opened(golden[INDEXED])
    rows = SliceRows(HudiTable.open(str(golden[INDEXED])), listing)
    findings, asked = SliceProofs(listing), listing.every_slice
    assert not findings.found(lambda *_: True, None, COLUMN, asked, 30).any()
    assert not findings.found(lambda *_: True, rows, COLUMN, asked, 0).any()
    assert findings.are(Finding.NOTHING).all()
    assert findings.found(lambda _, number: number > 0, rows, COLUMN, asked, 30).sum() > 1
    assert findings.are(Finding.LACKING).sum() == 1
    found = findings.found(lambda *_: True, rows, COLUMN, asked, 0)
    assert found.sum() == listing.num_slices - 1
