"""No life of a table loses a row by its secondary index, whatever is stored twice.

Rows are written as Hudi writes them. `insert` looks nothing up, so a key may get a second row in
another file group; the record index names the last one. `upsert` and `delete` go to the group that
it names. A delete may lose against a newer row, which survives in a log file while its entries go.
Clustering moves a group's rows, and the index of places follows. Entries change with the rows. Some
groups are read, and compared with the indexes, by each row or by sums of digests.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.index.lookups.record_index import KeyLocations
from pyhudi_expr.index.lookups.secondary_index import trusted_slices
from pyhudi_expr.index.lookups.value_places import locate_values
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import Hashes, digest_sum, hashes
from pyhudi_expr.tables.mdt.store.hashed_records import HashedEntries

GROUPS, KEYS, VALUES = 4, 4, 3

groups = st.integers(0, GROUPS - 1)
keys = st.integers(0, KEYS - 1)
values = st.integers(0, VALUES - 1)
actions = st.one_of(
    st.tuples(st.just("insert"), keys, groups, values),
    st.tuples(st.just("upsert"), keys, groups, values),
    st.tuples(st.just("delete"), keys, st.booleans()),
    st.tuples(st.just("cluster"), groups, groups),
    st.tuples(st.just("build")),
)


@dataclass
class Table:
    """Rows of each file group, the entries of both indexes, and what changes them."""

    rows: list[list[tuple[int, int]]] = field(default_factory=lambda: [[] for _ in range(GROUPS)])
    places: dict[int, int] = field(default_factory=dict)
    pairs: set[tuple[int, int]] = field(default_factory=set)

    def insert(self, key: int, group: int, value: int) -> None:
        self.rows[group].append((key, value))
        self.places[key] = group
        # Of a key that there is already, Hudi 1.2 leaves the value that is known.
        if all(own != key for _, own in self.pairs):
            self.pairs.add((value, key))

    def upsert(self, key: int, group: int, value: int) -> None:
        group = self.places.get(key, group)
        old = [row for row in self.rows[group] if row[0] == key]
        self.rows[group] = [row for row in self.rows[group] if row[0] != key]
        self.pairs -= {(held, key) for _, held in old}
        self.insert(key, group, value)

    def delete(self, key: int, loses: bool) -> None:
        group = self.places.pop(key, None)
        if group is not None:
            self.pairs -= {(held, key) for own, held in self.rows[group] if own == key}
            if not loses:
                self.rows[group] = [row for row in self.rows[group] if row[0] != key]

    def cluster(self, source: int, target: int) -> None:
        if source != target and not self.rows[target]:
            self.rows[target], self.rows[source] = self.rows[source], []
            self.places.update({key: target for key, _ in self.rows[target]})

    def build(self) -> None:
        """Build the secondary index from all rows; the record index stays as it is."""
        self.pairs = {(value, key) for own in self.rows for key, value in own}

    def kept(self, value: int, are_read: BoolArray, by_sums: bool) -> BoolArray:
        entries = HashedEntries.of(
            hashed(list(self.places)), np.array(list(self.places.values()), np.int32)
        )
        records = KeyLocations.counted(entries, np.array([len(own) for own in self.rows]))
        pairs = hashed([held for held, _ in self.pairs]), hashed([key for _, key in self.pairs])
        found = locate_values([pairs], records, records.is_trusted)
        harmless = [
            entries.find_all(hashed([key for key, _ in own]), group)
            for group, own in enumerate(self.rows)
        ]
        compared = [
            found.entries.find_all(hashed([held for _, held in own]), group)
            for group, own in enumerate(self.rows)
        ]
        if by_sums:
            harmless = [
                same(
                    [key for key, _ in own], [key for key, at in self.places.items() if at == group]
                )
                for group, own in enumerate(self.rows)
            ]
            compared = [
                harmless[group]
                and same(
                    [pair(held, key) for key, held in own],
                    [pair(*one) for one in self.pairs if self.places.get(one[1]) == group],
                )
                for group, own in enumerate(self.rows)
            ]
        harmful = ~(records.is_trusted | (are_read & np.array(harmless)))
        trusted = trusted_slices(found.is_trusted, are_read & np.array(compared), harmful)
        return replace(found, is_trusted=trusted).slices_of(hashed([value]))


def hashed(numbers: list[int]) -> Hashes:
    return hashes(ByteStrings.of([str(number).encode() for number in numbers]))


def pair(value: int, key: int) -> int:
    return value * KEYS + key


def same(rows: list[int], entries: list[int]) -> bool:
    """Whether the sums of the digests of both are equal."""
    sums = [digest_sum(ByteStrings.of([b"%d" % one for one in part])) for part in (rows, entries)]
    return bool((sums[0] == sums[1]).all())


@given(
    st.lists(actions, max_size=14),
    st.lists(st.booleans(), min_size=GROUPS, max_size=GROUPS),
    st.booleans(),
)
@settings(max_examples=1000)
def test_every_row_is_in_a_slice_that_is_kept(
    life: list[tuple[str | int | bool, ...]],
    are_read: list[bool],
    by_sums: bool,
) -> None:
    table = Table()
    table.build()
    for name, *arguments in life:
        getattr(table, str(name))(*arguments)
        for value in range(VALUES):
            kept = table.kept(value, np.array(are_read), by_sums)
            for group, own in enumerate(table.rows):
                assert kept[group] or all(held != value for _, held in own)
