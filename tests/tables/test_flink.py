"""Tables written by Flink are listed as hudi-rs lists them, at every instant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from tests.flink_rows import NAMES
from tests.tables.tables import slices

Slice = tuple[str, str, str, tuple[str, ...]]


def by_hudi_rs(path: Path, as_of: str) -> list[Slice]:
    from hudi import HudiReadOptions, HudiTableBuilder

    table = HudiTableBuilder.from_base_uri(str(path)).build()
    found = table.get_file_slices(HudiReadOptions().with_as_of_timestamp(as_of))
    return sorted(
        (
            one.partition_path,
            one.file_id,
            one.base_file_name or "",
            tuple(sorted(one.log_file_names)),
        )
        for one in found
    )


@pytest.mark.parametrize("name", NAMES)
def test_file_slices_equal_those_of_hudi_rs(flink: Mapping[str, Path], name: str) -> None:
    table = HudiTable.open(str(flink[name]))
    scheduled = min((i.requested for i in table.timeline.pending_compactions), default="9")
    # hudi-rs leaves out log files written since a compaction was scheduled; Flink's own rows show
    # that this loses rows (`tests/rows/test_flink.py`).
    for instant in (one for one in table.timeline.writes if one.requested < scheduled):
        listing = table.listing(as_of=instant.requested)
        found = [
            (str(s["partition"]), str(s["file_id"]), str(s["base"]), tuple(sorted(s["logs"])))
            for s in slices(listing)
        ]
        assert sorted(found) == by_hudi_rs(flink[name], instant.requested), instant
    assert found


def test_flink_starts_file_groups_with_log_files(flink: Mapping[str, Path]) -> None:
    listing = HudiTable.open(str(flink["mor_state"])).listing()
    assert listing.num_slices > 1
    assert listing.file_is_log.all()
    assert not HudiTable.open(str(flink["mor_state"])).listing(TableView.READ_OPTIMIZED).num_files


def test_bucket_numbers_are_prefixes_of_file_ids(flink: Mapping[str, Path]) -> None:
    listing = HudiTable.open(str(flink["mor_bucket"])).listing()
    assert {str(one)[:9] for one in listing.slice_file_id.to_pylist()} == {"00000000-", "00000001-"}
