"""Keys and values looked up in the files of an index: the same slices as with all in memory."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from pyhudi_expr import computed_once
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.lookups import record_index as of_records
from pyhudi_expr.index.lookups import secondary_index as of_values
from pyhudi_expr.index.lookups.record_index import RecordIndex, record_index, slices_with
from pyhudi_expr.index.lookups.secondary_index import SecondaryIndex, secondary_indexes
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.index.row_counts import row_counts
from pyhudi_expr.manage.certifying import READER, IndexCertification
from pyhudi_expr.manage.operations import carry_out
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.certificates import stored
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.index_records import entries
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from tests.index.prune.changes.direct_lookups import looked_up_directly

INDEXED = ("cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta")


@pytest.fixture
def directly() -> Iterator[None]:
    """No index is small enough to be read into memory."""
    forget_certificates()
    with looked_up_directly():
        yield
    forget_certificates()


def forget_certificates() -> None:
    """As in a new process."""
    for held in (stored._RECORDS, stored._VALUES):
        held._known.clear()


def opened(path: Path) -> tuple[MetadataTable, RecordIndex, list[SecondaryIndex]]:
    mdt = MetadataTable.open(HudiTable.open(str(path)))
    assert mdt is not None
    listing = current_listing(mdt.table, mdt, TableView.SNAPSHOT)
    records = record_index(mdt, listing)
    assert records is not None
    return mdt, records, secondary_indexes(mdt, listing, records)


@pytest.mark.parametrize("name", INDEXED)
def test_keys_are_in_the_same_slices(name: str, golden: Mapping[str, Path], directly: None) -> None:
    mdt, records, _ = opened(golden[name])
    keys = [
        key
        for group in mdt.groups(RECORD_INDEX)
        for found in group.newest(HFile.scan)
        for key in found.cells.keys
    ]
    places, in_memory = records.places(0), records.loaded()
    assert not isinstance(places, type(in_memory))
    assert np.array_equal(places.is_trusted, in_memory.is_trusted)
    for some in ([key] for key in keys):
        assert np.array_equal(slices_with(places, some), slices_with(in_memory, some))
    assert np.array_equal(slices_with(places, keys), slices_with(in_memory, keys))
    assert np.array_equal(slices_with(places, [b"no"]), ~in_memory.is_trusted)


@pytest.mark.parametrize("name", INDEXED)
def test_values_are_in_the_same_slices(
    name: str, golden: Mapping[str, Path], directly: None
) -> None:
    mdt, _, indexes = opened(golden[name])
    assert indexes
    for index in indexes:
        values = {
            value
            for group in mdt.groups(index.name)
            for found in group.newest(HFile.scan)
            for part in entries(found)
            for value in part.values.to_list()
        }
        places, in_memory = index.places(0), index.loaded()
        assert not isinstance(places, type(in_memory))
        assert np.array_equal(places.is_trusted, in_memory.is_trusted)
        assert places.numbers_only == in_memory.numbers_only
        for some in itertools.chain([[value] for value in values], [sorted(values), [b"no"]]):
            assert np.array_equal(places.slices_with(some), in_memory.slices_with(some))
            assert np.array_equal(places.slices_with(some), in_memory.slices_with(some)), "known"


def test_only_the_shard_of_the_key_is_opened(
    golden: Mapping[str, Path], tmp_path: Path, directly: None
) -> None:
    path = tmp_path / "t"
    shutil.copytree(golden[INDEXED[0]], path)
    mdt, records, _ = opened(path)
    stored.write_certificate(mdt, RECORD_INDEX, stored.certify_records(mdt))
    forget_certificates()
    mdt, records, _ = opened(path)
    slices_with(records.places(0), [b"TXN-001"])
    groups = mdt.groups(RECORD_INDEX)
    assert sum(bool(group.bytes_read) for group in groups) == 1 < len(groups)


def test_a_certificate_of_another_state_is_not_believed(
    golden: Mapping[str, Path], tmp_path: Path, directly: None
) -> None:
    """Entries of two shards are gone since."""
    path = tmp_path / "t"
    shutil.copytree(golden[INDEXED[0]], path)
    mdt, _, _ = opened(path)
    stored.write_certificate(mdt, RECORD_INDEX, stored.certify_records(mdt))
    forget_certificates()
    for file in (path / ".hoodie/metadata/record_index").glob("*record-index-000[0-1]*_2026*"):
        file.unlink()
    _, records, _ = opened(path)
    trusted = records.places(0).is_trusted
    assert 0 < np.count_nonzero(trusted) < len(trusted)


def test_a_slice_with_more_rows_than_entries_is_kept(
    golden: Mapping[str, Path], directly: None
) -> None:
    mdt = MetadataTable.open(HudiTable.open(str(golden[INDEXED[0]])))
    assert mdt is not None
    listing = current_listing(mdt.table, mdt, TableView.SNAPSHOT)
    counts = row_counts(mdt, listing)
    counts[2] += 1
    places = RecordIndex(mdt, listing, lambda: counts).places(0)
    assert np.flatnonzero(slices_with(places, [b"no such key"])).tolist() == [2]


def test_entries_of_a_large_index_are_counted_in_the_background(
    golden: Mapping[str, Path], directly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (of_records, of_values):
        monkeypatch.setattr(module, "AT_ONCE_BYTES", 0)
    pruner = Pruner(PruneOptions(footer_wait=60))
    request = PruneRequest(parse_predicate("txn_id IN ('TXN-001', 'TXN-007')"))
    result = pruner.prune(str(golden[INDEXED[1]]), request)
    assert "record_index" in [source.name for source in result.evidence]
    assert result.notes == ()


def test_a_query_does_not_wait_for_a_long_count(
    golden: Mapping[str, Path], directly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (of_records, of_values):
        monkeypatch.setattr(module, "AT_ONCE_BYTES", 0)
        monkeypatch.setattr(module, "QUERY_SECONDS", 0.01)
    pruner = Pruner(PruneOptions(footer_wait=20))
    request = PruneRequest(parse_predicate("txn_id IN ('TXN-001', 'TXN-007')"))
    started = perf_counter()
    with computed_once._ONE_AT_A_TIME:
        early = pruner.prune(str(golden[INDEXED[1]]), request)
    assert perf_counter() - started < 15
    uncounted = "record_index is not used yet: it has no certificate"
    assert [note for note in early.notes if note.startswith(uncounted)]
    assert "record_index" not in [source.name for source in early.evidence]


def test_who_certifies_an_index_as_the_note_says_has_it_used_at_once(
    golden: Mapping[str, Path], tmp_path: Path, directly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (of_records, of_values):
        monkeypatch.setattr(module, "AT_ONCE_BYTES", 0)
        monkeypatch.setattr(module, "QUERY_SECONDS", 0.01)
    path = str(shutil.copytree(golden[INDEXED[1]], tmp_path / "t"))
    request = PruneRequest(parse_predicate("txn_id IN ('TXN-001', 'TXN-007')"))
    with computed_once._ONE_AT_A_TIME:
        early = Pruner(PruneOptions(footer_wait=20)).prune(path, request)
        assert any("'pyhudi index verify --certify'" in note for note in early.notes)
        operation = IndexCertification(path, RECORD_INDEX, READER)
        carry_out(operation, operation.plan())
        forget_certificates()
        found = Pruner(PruneOptions(footer_wait=20)).prune(path, request)
    assert RECORD_INDEX in [source.name for source in found.evidence]
    assert found.notes == ()


def test_a_damaged_certificate_costs_a_count(
    golden: Mapping[str, Path], tmp_path: Path, directly: None, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t"
    shutil.copytree(golden[INDEXED[0]], path)
    certificates = path / stored.CERTIFICATES_DIR
    certificates.mkdir(parents=True)
    (certificates / f"{RECORD_INDEX}.arrow").write_bytes(b"damaged")
    _, records, _ = opened(path)
    assert records.places(0).is_trusted.all()
    assert "the certificate of record_index is not used" in caplog.text
