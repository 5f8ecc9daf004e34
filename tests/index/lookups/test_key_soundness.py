"""An index of locations never excludes a slice that holds the key or value, whatever it lacks.

Rows are assigned to slices, some keys several times. As in Hudi, an index has one location for each
key and one value, and some entries are missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.index.lookups.record_index import KeyLocations
from pyhudi_expr.index.lookups.value_places import locate_values
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import Hashes, hashes
from pyhudi_expr.tables.mdt.store.hashed_records import HashedEntries

SLICES = 4


@dataclass(frozen=True)
class Row:
    """missing: which index lacks the entry: "key", "value" or both."""

    slice: int
    key: int
    value: int
    missing: frozenset[str]


rows_of_slices = st.lists(
    st.builds(
        Row,
        slice=st.integers(0, SLICES - 1),
        key=st.integers(0, 9),
        value=st.integers(0, 3),
        missing=st.frozensets(st.sampled_from(["key", "value"]), max_size=1) | st.just(frozenset()),
    ),
    max_size=16,
)
counts_known = st.lists(st.booleans(), min_size=SLICES, max_size=SLICES)


def hashed(values: list[int]) -> Hashes:
    return hashes(ByteStrings.of([str(value).encode() for value in values]))


def key_index(rows: list[Row], known: list[bool]) -> KeyLocations:
    """The last location of each key, unless its entry is missing."""
    place = {row.key: row.slice for row in rows}
    missing_keys = {row.key for row in rows if "key" in row.missing}
    kept = {key: slice_ for key, slice_ in place.items() if key not in missing_keys}
    entries = HashedEntries.of(hashed(list(kept)), np.array(list(kept.values()), np.int32))
    counts = [sum(row.slice == number for row in rows) for number in range(SLICES)]
    rows_at_most = np.where(known, counts, -1).astype(np.int64)
    return KeyLocations.counted(entries, rows_at_most)


@given(rows_of_slices, counts_known)
def test_record_index_excludes_no_slice_with_the_key(rows: list[Row], known: list[bool]) -> None:
    index = key_index(rows, known)
    for row in rows:
        assert index.slices_of(hashed([row.key]))[row.slice]


@given(rows_of_slices, counts_known)
def test_secondary_index_excludes_no_slice_with_the_value(
    rows: list[Row], known: list[bool]
) -> None:
    keys = key_index(rows, known)
    # For a key that is stored twice, the entry may be of either row, or of both.
    pairs = {(row.value, row.key) for row in rows if "value" not in row.missing}
    values, of_keys = hashed([value for value, _ in pairs]), hashed([key for _, key in pairs])
    index = locate_values([(values, of_keys)], keys, np.full(SLICES, keys.is_trusted.all()))
    for row in rows:
        assert index.slices_of(hashed([row.value]))[row.slice], row


@given(rows_of_slices)
def test_complete_indexes_are_exact(rows: list[Row]) -> None:
    last_rows = list({row.key: row for row in rows}.values())
    complete_rows = [Row(row.slice, row.key, row.value, frozenset()) for row in last_rows]
    keys = key_index(complete_rows, [True] * SLICES)
    pairs = hashed([row.value for row in complete_rows]), hashed([row.key for row in complete_rows])
    values = locate_values([pairs], keys, keys.is_trusted)
    for key_looked_up in range(10):
        holding = {row.slice for row in complete_rows if row.key == key_looked_up}
        assert set(np.flatnonzero(keys.slices_of(hashed([key_looked_up]))).tolist()) == holding
        holding = {row.slice for row in complete_rows if row.value == key_looked_up}
        assert set(np.flatnonzero(values.slices_of(hashed([key_looked_up]))).tolist()) == holding
