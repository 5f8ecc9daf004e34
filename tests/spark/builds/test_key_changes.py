"""Log entries for replaced slices keep indexes of keys and values right.

Compared with brute force over the rows, including keys in several file groups. No Spark is needed.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.spark.builds.key_changes import KeyIndexes, changer
from pyhudi_expr.spark.entries.secondary_index import EntryKeys
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import split_secondary_key
from pyhudi_expr.tables.mdt.hfile.cells import Cells
from pyhudi_expr.tables.mdt.records.metadata_records import EncodedRecords, is_deleted
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.index_records import group_of, locations

_INDEX = "secondary_index_c"
_INDEXES = KeyIndexes(
    {RECORD_INDEX: 2, _INDEX: 2}, {_INDEX: EntryKeys(is_composite=False, by_value=True)}
)
_GROUPS = 4

Row = tuple[str, str | None]
"""A record key and its value."""
Slices = dict[int, list[Row]]
"""The rows of each file group."""
Slice = tuple[int, list[Row]]
"""The time of its write, and its rows."""

rows = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["x", "y$\\", "", None])), max_size=4
)
changes = st.lists(st.dictionaries(st.integers(0, _GROUPS - 1), rows), min_size=1, max_size=5)
# Not in order: a restore brings older slices back.
times = st.permutations(range(5))


class Indexes:
    """Both indexes, merged as a reader of the logs merges them."""

    def __init__(self) -> None:
        self.place: dict[str, str] = {}
        self.pairs: set[tuple[str | None, str]] = set()

    def replace(self, old: Mapping[int, Slice], new: Mapping[int, Slice]) -> None:
        batch = pa.Table.from_batches([_rows(old, False), _rows(new, True)])
        for logged in changer(_INDEXES)(batch.to_batches()):
            for row in logged.to_pylist():
                self._merge(row["partition"], row["key"], row["value"])

    def _merge(self, partition: str, key: bytes, value: bytes) -> None:
        if partition == RECORD_INDEX and not value:
            self.place.pop(key.decode(), None)
            return
        cells = Cells(ByteStrings.of([key]), ByteStrings.of([value]))
        records = EncodedRecords("log", RECORD_SCHEMA, cells)
        if partition == RECORD_INDEX:
            self.place[key.decode()] = group_of(locations(records)[0].as_py())[1]
            return
        pair = split_secondary_key(key.decode())
        (payload,) = records.decoded()
        (self.pairs.discard if is_deleted(payload) else self.pairs.add)(pair)


def _rows(slices: Mapping[int, Slice], is_new: bool) -> pa.RecordBatch:
    every = [(key, group, at, value) for group, (at, held) in slices.items() for key, value in held]
    columns = [
        [key for key, _, _, _ in every],
        [f"p\0{group}" for _, group, _, _ in every],
        [at for _, _, at, _ in every],
        [is_new] * len(every),
        [value for _, _, _, value in every],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _INDEXES.schema, strict=True)]
    return pa.record_batch(arrays, schema=_INDEXES.schema)


def _by_key(slices: Mapping[int, Slice]) -> Mapping[str, set[tuple[int, str | None]]]:
    """The groups and values of each key."""
    found: dict[str, set[tuple[int, str | None]]] = {}
    for group, (_, held) in slices.items():
        for key, value in held:
            found.setdefault(key, set()).add((group, value))
    return found


def written(slices: Slices, at: int) -> dict[int, Slice]:
    return {group: (at, held) for group, held in slices.items()}


@given(changes, times)
def test_each_key_has_all_values_of_its_file_group(steps: list[Slices], times: list[int]) -> None:
    indexes, current = Indexes(), dict[int, Slice]()
    for at, step in zip(times, steps, strict=False):
        old, new = {g: current[g] for g in step if g in current}, written(step, at)
        indexes.replace(old, new)
        current.update(new)
        before, after = _by_key(old), _by_key(new)
        for key in before.keys() | after.keys():
            if before.get(key) != after.get(key):  # otherwise its old entry may stay
                places = {str(group) for group, _ in after.get(key, ())}
                assert indexes.place.get(key) in (places or {None})
        for key, group in indexes.place.items():
            held = {(value, own) for own, value in current[int(group)][1] if own == key}
            assert held
            assert held <= indexes.pairs


@given(changes, times)
def test_keys_that_are_stored_once_are_exact(steps: list[Slices], times: list[int]) -> None:
    indexes, current = Indexes(), dict[int, Slice]()
    for at, step in zip(times, steps, strict=False):
        elsewhere = {k for g, (_, held) in current.items() if g not in step for k, _ in held}
        seen = set[str]()
        alone: Slices = {}
        for group, held in step.items():
            alone[group] = []
            for key, value in held:
                if key not in elsewhere | seen:
                    alone[group].append((key, value))
                    seen.add(key)
        new = written(alone, at)
        indexes.replace({group: current[group] for group in step if group in current}, new)
        current.update(new)
        assert indexes.place == {k: str(g) for g, (_, held) in current.items() for k, _ in held}
        assert indexes.pairs == {(v, k) for _, held in current.values() for k, v in held}


def test_unchanged_rows_are_not_logged() -> None:
    held: list[Row] = [("a", "x"), ("b", None)]
    batch = pa.Table.from_batches([_rows({0: (0, held)}, False), _rows({0: (1, held)}, True)])
    assert sum(logged.num_rows for logged in changer(_INDEXES)(batch.to_batches())) == 0


def test_a_changed_value_leaves_a_tombstone() -> None:
    indexes = Indexes()
    before: dict[int, Slice] = {0: (0, [("a", "x"), ("b", "x")])}
    indexes.replace({}, before)
    indexes.replace(before, {0: (1, [("a", "y"), ("b", "x")])})
    assert indexes.pairs == {("y", "a"), ("x", "b")}
