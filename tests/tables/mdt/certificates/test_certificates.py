"""Certificates of places say what a reading of all entries says, at every state of the indexes.

A table of a few rows lives on: rows are inserted, updated, deleted, inserted again, moved between
file groups; commits fail or are rolled back; indexes are compacted. Its indexes are maintained as
Hudi does, and sometimes wrongly.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import digest_sum, secondary_key
from pyhudi_expr.tables.mdt.certificates.certificates import (
    EntrySums,
    RecordCertificate,
    ValueCertificate,
    count_entries,
    decoded_records,
    decoded_values,
)
from pyhudi_expr.tables.mdt.certificates.extending import extend_records, extend_values
from pyhudi_expr.tables.mdt.certificates.pairing import pair_entries
from pyhudi_expr.tables.mdt.certificates.states import added_bytes, is_state_of
from pyhudi_expr.tables.mdt.store.index_records import group_name
from tests.tables.mdt.certificates.index_shards import (
    GROUPS,
    Pair,
    Shards,
    record_cells,
    record_keys,
    value_cells,
)

KEYS = tuple(f"k{number}$\\" if number % 3 else f"k{number}" for number in range(8))
VALUES = ("1", "22", "-3", "x$y")


@dataclass(frozen=True)
class Change:
    """What a commit does with a key: the group and the value of its row; None deletes it.

    Attributes:
        forgets: The index that is not told: "", "places" or "values".
    """

    key: str
    row: tuple[int, str] | None
    forgets: str = ""


@dataclass(frozen=True)
class Step:
    """A commit, and what becomes of it: "commits", "fails", "rolled back" or "compacted" after."""

    changes: list[Change]
    end: str


rows = st.none() | st.tuples(st.integers(0, len(GROUPS) - 1), st.sampled_from(VALUES))
forgotten = st.sampled_from(["", "", "", "places", "values"])
changes = st.builds(Change, st.sampled_from(KEYS), rows, forgotten)
ends = st.sampled_from(["commits", "commits", "commits", "fails", "rolled back", "compacted"])
steps = st.lists(
    st.builds(Step, st.lists(changes, max_size=4, unique_by=lambda one: one.key), ends), max_size=4
)


@dataclass
class Indexes:
    """Both indexes, and what a reader should find in them."""

    records: Shards
    values: Shards
    places: dict[str, int] = field(default_factory=dict)
    pairs: set[Pair] = field(default_factory=set)
    rows: dict[str, str] = field(default_factory=dict)

    def build(self) -> None:
        self.records.build(record_cells(self.places))
        self.values.build(value_cells(dict.fromkeys(self.pairs, True)))

    def apply(self, step: Step) -> None:
        places, pairs, values = dict(self.places), set(self.pairs), dict(self.rows)
        deleted: set[str] = set()
        written: dict[str, int] = {}
        entries: dict[Pair, bool] = {}
        for change in step.changes:
            old = values.pop(change.key, None)
            if change.row is not None:
                values[change.key] = change.row[1]
            if change.forgets != "values":
                if old is not None:
                    entries[old, change.key] = False
                if change.row is not None:
                    entries[change.row[1], change.key] = True
            if change.forgets != "places":
                if change.row is None:
                    deleted.add(change.key)
                else:
                    written[change.key] = change.row[0]
        succeeds = step.end != "fails"
        self.records.write(record_cells(written), record_keys(deleted), succeeds=succeeds)
        self.values.write(value_cells(entries), {}, succeeds=succeeds)
        if step.end == "rolled back":
            for index, touched in ((self.records, written or deleted), (self.values, entries)):
                if touched:
                    index.roll_back()
        if step.end in ("commits", "compacted"):
            for key in deleted:
                places.pop(key, None)
            places.update(written)
            for pair, is_live in entries.items():
                (pairs.add if is_live else pairs.discard)(pair)
            self.places, self.pairs, self.rows = places, pairs, values
        if step.end == "compacted":
            self.build()

    def read(self) -> tuple[RecordCertificate, ValueCertificate]:
        return (
            count_entries(self.records.groups, lambda: None),
            pair_entries(self.records.groups, self.values.groups, lambda: None, 3_000),
        )


def counts(certificate: RecordCertificate) -> dict[str, int]:
    return {name: count for name, (count, _) in sums_of(certificate.sums).items() if count}


def sums_of(sums: EntrySums) -> dict[str, tuple[int, list[int]]]:
    names = map(str, sums.groups.to_pylist())
    numbers = zip(sums.counts.tolist(), sums.digests.tolist(), strict=True)
    return dict(zip(names, numbers, strict=True))


def of_entries(entries: Mapping[int, list[str]]) -> dict[str, list[int]]:
    """The sum of the digests of the entries of each group."""
    return {
        name(group): digest_sum(ByteStrings.of([key.encode() for key in keys])).tolist()
        for group, keys in entries.items()
    }


def digests_of(sums: EntrySums) -> dict[str, list[int]]:
    return {name: digest for name, (_, digest) in sums_of(sums).items() if any(digest)}


def name(number: int) -> str:
    return group_name("p", GROUPS[number])


@given(before=steps, after=steps)
def test_certificates_at_every_state(
    before: list[Step], after: list[Step], tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("indexes")
    indexes = Indexes(Shards(directory / "records"), Shards(directory / "values"))
    indexes.build()
    for step in before:
        indexes.apply(step)
    records, values = indexes.read()
    for step in after:
        indexes.apply(step)
        anew, values_anew = indexes.read()
        assert counts(anew) == Counter(map(name, indexes.places.values()))
        keys_in, entries_in = defaultdict(list), defaultdict(list)
        for key, group in indexes.places.items():
            keys_in[group].append(key)
        for value, key in indexes.pairs:
            if key in indexes.places:
                entries_in[indexes.places[key]].append(secondary_key(value, key))
        assert digests_of(anew.sums) == of_entries(keys_in)
        assert values_anew.sums is not None
        assert digests_of(values_anew.sums) == of_entries(entries_in)
        entries_of = Counter(key for _, key in indexes.pairs)
        assert set(values_anew.doubtful.to_pylist()) == {
            name(group) for key, group in indexes.places.items() if entries_of[key] != 1
        }
        extended = extend_records(records, indexes.records.groups)
        values_extended = extend_values(values, indexes.records.groups, indexes.values.groups)
        if extended is None or values_extended is None:
            assert step.end in ("compacted", "rolled back", "fails")
            records, values = anew, values_anew
            continue
        records, values = extended, values_extended
        assert is_state_of(records.state, indexes.records.groups)
        assert counts(records) == counts(anew)
        assert digests_of(records.sums) == of_entries(keys_in)
        if values.sums is None:
            values = values_anew
        else:
            assert digests_of(values.sums) == of_entries(entries_in)
        trusted = set(map(name, range(len(GROUPS)))) - set(values.doubtful.to_pylist())
        for key, group in indexes.places.items():
            assert entries_of[key] or name(group) not in trusted


@given(life=steps)
def test_certificates_are_stored_as_they_are(
    life: list[Step], tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("indexes")
    indexes = Indexes(Shards(directory / "records"), Shards(directory / "values"))
    indexes.build()
    for step in life:
        indexes.apply(step)
    records, values = indexes.read()
    again = decoded_records(records.encoded(), "a file")
    assert (again.state, sums_of(again.sums)) == (records.state, sums_of(records.sums))
    values_again = decoded_values(values.encoded(), "a file")
    assert values_again.records == records.state
    assert values_again.doubtful.equals(values.doubtful.cast(pa.large_string()))
    assert values_again.numbers_only == values.numbers_only
    assert values_again.has_others == values.has_others
    assert values.sums is not None
    assert values_again.sums is not None
    assert sums_of(values_again.sums) == sums_of(values.sums)
    unknown = decoded_values(replace(values, sums=None).encoded(), "a file")
    assert unknown.sums is None
    assert set(unknown.doubtful.to_pylist()) == set(values.doubtful.to_pylist())


def test_a_damaged_certificate_is_refused(tmp_path: Path) -> None:
    indexes = Indexes(Shards(tmp_path / "records"), Shards(tmp_path / "values"))
    indexes.build()
    records, values = indexes.read()
    for content in (b"", b"no certificate", records.encoded()[:-200], values.encoded()):
        with pytest.raises(CorruptFile):
            decoded_records(content, "a file")
    with pytest.raises(CorruptFile):
        decoded_values(records.encoded(), "a file")


def test_text_is_remembered_when_it_is_added(tmp_path: Path) -> None:
    indexes = Indexes(Shards(tmp_path / "records"), Shards(tmp_path / "values"))
    indexes.build()
    indexes.apply(Step([Change("k0", (0, "1"))], "commits"))
    _, values = indexes.read()
    assert values.numbers_only
    indexes.apply(Step([Change("k1", (0, "x$y"))], "commits"))
    extended = extend_values(values, indexes.records.groups, indexes.values.groups)
    assert extended is not None
    assert not extended.numbers_only
    assert not extended.doubtful.to_pylist()


def _life(directory: Path, *changes: Change) -> tuple[ValueCertificate | None, ValueCertificate]:
    """The certificate of two rows in one group, extended by a commit, and what is read anew."""
    indexes = Indexes(Shards(directory / "records"), Shards(directory / "values"))
    indexes.build()
    indexes.apply(Step([Change("k0", (0, "1")), Change("k1", (0, "22"))], "compacted"))
    _, before = indexes.read()
    indexes.apply(Step(list(changes), "commits"))
    extended = extend_values(before, indexes.records.groups, indexes.values.groups)
    return extended, indexes.read()[1]


@pytest.mark.parametrize(
    "change",
    [
        Change("k0", (0, "-3")),
        Change("k0", (0, "1")),
        Change("k0", None),
        Change("k0", (1, "-3")),
        Change("k2", (0, "1")),
    ],
    ids=["updated", "written again", "deleted", "moved", "added"],
)
def test_sums_follow_a_commit(change: Change, tmp_path: Path) -> None:
    extended, anew = _life(tmp_path, change)
    assert extended is not None
    assert extended.sums is not None
    assert anew.sums is not None
    assert digests_of(extended.sums) == digests_of(anew.sums)


@pytest.mark.parametrize(
    "change",
    [Change("k0", None, "values"), Change("k0", (1, "1"), "values")],
    ids=["deleted", "moved"],
)
def test_sums_are_not_known_after_a_key_has_left_its_entry(change: Change, tmp_path: Path) -> None:
    extended, anew = _life(tmp_path, change)
    assert extended is not None
    assert extended.sums is None
    assert anew.sums is not None


def test_an_index_that_was_built_in_more_file_groups_is_far_from_its_certificate(
    tmp_path: Path,
) -> None:
    indexes = Indexes(Shards(tmp_path / "records"), Shards(tmp_path / "values"))
    indexes.build()
    _, values = indexes.read()
    groups = indexes.values.groups
    assert added_bytes(groups, values.state) == 0
    assert added_bytes((*groups, *groups), values.state) == math.inf
