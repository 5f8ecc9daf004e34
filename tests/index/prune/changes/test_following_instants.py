"""What is made of an earlier instant is what would be made as a whole, whatever has happened."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.tables import synthetic
from pyhudi_expr.expr.nodes import ALWAYS
from pyhudi_expr.index import known_tables
from pyhudi_expr.index.known_tables import opened_state
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.store.listing_state import ListingState
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.timeline import State, Timeline
from tests.example_counts import examples
from tests.index.prune.changes.changing_table import FILES_BEFORE, ChangingTable
from tests.index.prune.same_snapshots import (
    assert_as_made_anew,
    assert_same_listing,
    small_tables_followed,
)

ROWS = FILES_BEFORE * synthetic.ROWS_PER_FILE
PREDICATES = (
    f"spread < {ROWS // 3}",
    f"id BETWEEN {ROWS // 4} AND {ROWS // 2} OR spread IS NULL",
    "day = '2020-01-02' AND id > 5000",
    "spread >= 0",
    # Few files of several parts, in another order than the parts'.
    f"day IN ('2020-01-01', '2020-01-02') AND spread < {ROWS // 2}",
)
ACTIONS = {
    **{"write": 6, "add_partition": 2, "restate": 2, "begin": 2, "complete": 3, "clean": 2},
    **{"roll_back": 1, "replace": 1, "compact_data": 1, "compact_metadata": 1, "save": 1},
}
STEPS = 14


@pytest.fixture(autouse=True)
def followed() -> Iterator[None]:
    with small_tables_followed():
        yield


@pytest.mark.parametrize("merge_on_read", [False, True])
def test_random_lives(tmp_path: Path, *, merge_on_read: bool) -> None:
    followed: Counter[str] = Counter()
    for life in range(examples(4)):
        drawn = random.Random(f"{merge_on_read} {life}")
        table = ChangingTable(tmp_path / f"table{life}", drawn, merge_on_read=merge_on_read)
        options = PruneOptions(snapshot_dir=tmp_path / f"cache{life}")
        long_lived = [Pruner(), Pruner(options)]
        for one in long_lived:
            assert not assert_as_made_anew(one, table.path, PREDICATES)
        for _ in range(STEPS):
            (action,) = drawn.choices([*ACTIONS], [*ACTIONS.values()])
            getattr(table, action)()
            # A question in between sees the state that another one has to be followed from.
            if drawn.random() < 0.2:
                continue
            for one in (*long_lived, Pruner(options)):
                followed[action] += assert_as_made_anew(one, table.path, PREDICATES)
    assert followed["write"], followed


def test_bounds_beyond_the_memory_limit(tmp_path: Path) -> None:
    table = ChangingTable(tmp_path / "table", random.Random(31), merge_on_read=True)
    options = PruneOptions(cache_bytes=1)  # all bounds are read piece by piece
    pruner = Pruner(options)
    assert_as_made_anew(pruner, table.path, PREDICATES, options)
    for _ in range(3):
        table.write()
        assert assert_as_made_anew(pruner, table.path, PREDICATES, options)


def test_a_joined_listing_is_pickled_with_its_parts(tmp_path: Path) -> None:
    table = ChangingTable(tmp_path / "table", random.Random(31), merge_on_read=True)
    pruner, asked = Pruner(), PruneRequest(ALWAYS)
    pruner.open(str(table.path), asked.view, asked.as_of)
    table.write()
    listing = pruner.open(str(table.path), asked.view, asked.as_of).listing
    assert len(listing.parts) > 1
    copy = pickle.loads(pickle.dumps(listing))  # noqa: S301 - its own bytes
    assert_same_listing(copy, listing)


def test_after_many_changes_a_snapshot_is_made_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ChangingTable(tmp_path / "table", random.Random(31), merge_on_read=False)
    monkeypatch.setattr(known_tables, "LEAST_SHARE", 6)  # a partition has a twelfth
    pruner = Pruner()
    found = []
    for _ in range(4):
        found.append(assert_as_made_anew(pruner, table.path, PREDICATES))
        table.write()
    assert True in found
    assert False in found[1:]


def test_a_partition_that_only_the_list_of_partitions_names(tmp_path: Path) -> None:
    table = ChangingTable(tmp_path / "table", random.Random(31), merge_on_read=False)
    pruner = Pruner()
    assert_as_made_anew(pruner, table.path, PREDICATES)
    table.unlist("day=2020-01-02")
    assert assert_as_made_anew(pruner, table.path, PREDICATES)


def test_few_files_of_several_parts(tmp_path: Path) -> None:
    table = ChangingTable(tmp_path / "table", random.Random(31), merge_on_read=False)
    pruner = Pruner()
    assert_as_made_anew(pruner, table.path, PREDICATES)
    table.add_files("day=2020-01-01")
    assert assert_as_made_anew(pruner, table.path, PREDICATES)


def state_of(table: ChangingTable) -> tuple[MetadataTable, ListingState]:
    opened = MetadataTable.open(HudiTable.open(str(table.path)))
    assert opened is not None
    state = opened_state(opened)
    assert state is not None
    return opened, state


def test_what_a_state_is_not_followed_from(tmp_path: Path) -> None:
    table = ChangingTable(tmp_path / "table", random.Random(31), merge_on_read=False)
    _, earlier = state_of(table)
    assert ListingState.from_json(earlier.to_json()) == earlier
    table.write()
    opened, later = state_of(table)
    groups = opened.groups(FILES), opened.groups(COLUMN_STATS)
    partitions = opened.table.listing(files=opened.stored_files()).partitions

    def changed(known: ListingState) -> frozenset[str] | None:
        return known.changed_partitions(later, *groups, partitions)

    assert changed(earlier)
    first = earlier.timeline.instants[0]
    gone = replace(first, requested="20240601000009000", state=State.REQUESTED, completed=None)
    (base, blocks), block = earlier.files[0], ["files/.log", 1, "HFILE", "20240601", 0, 9]
    for other in (
        replace(earlier, archive="01"),
        replace(earlier, properties=[*earlier.properties, ("hoodie.table.name", "other")]),
        replace(earlier, statistics=None),
        replace(earlier, files=[[None, []]]),
        replace(earlier, files=[[base, [*blocks, block]]]),
        replace(earlier, timeline=Timeline((first, gone))),
        replace(earlier, timeline=Timeline((replace(first, completed="20240601000001001"),))),
        replace(earlier, timeline=Timeline((replace(first, requested="20240101000000000"),))),
    ):
        assert changed(other) is None
