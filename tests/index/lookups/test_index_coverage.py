"""Which slices of a merge-on-read table a secondary index covers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pyhudi_expr.index.lookups.slice_proofs import covered_slices
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing

INDEX = "secondary_index_merchant_idx"
MERGED = "mor_v9_txns_simple_meta"
#: Its newest three: a compaction, a clustering, and a delta commit of base files only.
CLUSTERED, INSERTED = "20260307162619269", "20260307162620509"


@pytest.fixture
def timeline(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    """The timeline of a copy of the table."""
    shutil.copytree(golden[MERGED], tmp_path / "t")
    return tmp_path / "t/.hoodie/timeline"


def covered(timeline: Path, index: str = INDEX) -> dict[str, bool]:
    """For each base instant, whether its slices are covered."""
    table = HudiTable.open(str(timeline.parent.parent))
    mdt = MetadataTable.open(table)
    assert mdt is not None
    listing = current_listing(table, mdt, TableView.SNAPSHOT)
    flags = covered_slices(mdt, listing, index)
    instants = listing.slice_base_instant.to_pylist()
    return dict(zip(instants, map(bool, flags), strict=True))


def moved(timeline: Path, change: Callable[[str], str]) -> None:
    """Renames the completed index actions."""
    for file in timeline.glob("*_*.indexing"):
        file.rename(timeline / change(file.name))


def test_slices_that_existed_when_the_index_was_built_are_covered(timeline: Path) -> None:
    assert covered(timeline) == {CLUSTERED: True, INSERTED: True}


def test_nothing_is_covered_without_an_index_action_of_that_name(timeline: Path) -> None:
    assert covered(timeline, "secondary_index_other") == {CLUSTERED: False, INSERTED: False}
    moved(timeline, lambda name: name.partition("_")[0] + ".indexing.inflight")
    assert covered(timeline) == {CLUSTERED: False, INSERTED: False}


def test_a_write_completed_after_the_index_action_was_requested_is_not_covered(
    timeline: Path,
) -> None:
    """Its base files are covered, because nothing was logged since."""
    between = str(int(INSERTED) + 1)
    moved(timeline, lambda name: between + "_" + name.partition("_")[2])
    assert covered(timeline) == {CLUSTERED: True, INSERTED: True}


def test_base_files_after_the_first_log_files_are_not_covered(timeline: Path) -> None:
    """As if the index were built first: then came log files, a compaction and a clustering."""
    first = min(file.name for file in timeline.glob("*_*.deltacommit"))
    moved(timeline, lambda name: first.partition("_")[0] + "_" + name.partition("_")[2])
    assert covered(timeline) == {CLUSTERED: False, INSERTED: False}
