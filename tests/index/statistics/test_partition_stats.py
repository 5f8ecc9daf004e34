"""Which partitions' aggregates are of all their files."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from pyhudi_expr.index.statistics.partition_stats import tracked_partitions
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.manage.audit.living_table import LivingTable


def tracked(table: LivingTable) -> dict[str, bool]:
    opened = table.open()
    metadata, listing = MetadataTable.open(opened), opened.listing()
    assert metadata is not None
    flags = tracked_partitions(metadata, listing).tolist()
    return dict(zip(listing.partition_paths, flags, strict=True))


@pytest.fixture
def table(tmp_path: Path) -> LivingTable:
    """Partition b has only files that are older than its statistics, partition a none of them."""
    living = LivingTable(tmp_path / "t", Random(7))
    living.begin({"a": [[1, 2]], "b": [[3, 4]]})
    living.update([1, 2])
    living.insert("a", [5, 6])
    return living


def test_files_that_are_older_than_the_statistics_may_be_left_out(table: LivingTable) -> None:
    assert tracked(table) == {"a": True, "b": False}


def test_a_write_leaves_out_what_was_completed_after_it_had_begun(table: LivingTable) -> None:
    """As Hudi's of two writers at once; the next write to the partition sees both."""
    *_, first, second = sorted((table.path / ".hoodie" / "timeline").glob("*_*.commit"))
    began = second.name.partition("_")[0]
    first.rename(first.with_name(f"{first.name.partition('_')[0]}_{began}.commit"))
    assert tracked(table) == {"a": False, "b": False}
    table.insert("a", [7])
    assert tracked(table) == {"a": True, "b": False}
