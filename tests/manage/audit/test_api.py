"""`Table.audit`: findings as rows, and warnings of what cannot be checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import pyhudi_expr as ph
from tests.manage.audit.faults import seed
from tests.manage.audit.living_table import LivingTable


def test_a_right_table_has_no_row(without_fault: LivingTable) -> None:
    found = ph.table(str(without_fault.path)).audit()
    assert found.num_rows == 0
    assert found.schema.names == [
        *("store", "partition", "fault", "severity", "file", "subject", "expected", "found"),
        *("queries", "remedy", "readers"),
    ]


def test_a_finding_is_a_row(table: LivingTable) -> None:
    expected = seed("a_key_is_missing", table)
    (row,) = ph.table(str(table.path)).audit().to_pylist()
    assert (row["store"], row["partition"], row["fault"]) == ("hudi", "record_index", "key_missing")
    assert (row["severity"], row["readers"]) == ("rows lost", ["hudi"])
    assert expected.file in row["file"]


def test_a_sample_is_drawn_by_its_seed(table: LivingTable) -> None:
    for name in ("a_minimum_is_too_low", "a_maximum_of_texts_is_too_high"):
        seed(name, table)
    opened = ph.table(str(table.path))
    drawn = [opened.audit(1, seed=number)["file"].to_pylist() for number in range(12)]
    assert {len(files) for files in drawn} == {0, 1}
    assert [opened.audit(1, seed=number)["file"].to_pylist() for number in range(12)] == drawn


def test_what_cannot_be_checked_is_a_warning(golden: Mapping[str, Path]) -> None:
    table = ph.table(str(golden["mor_v6_metadata_pending_compaction"]))
    with pytest.warns(ph.PyHudiWarning, match="not checked: column_stats: log files"):
        assert table.audit().num_rows == 0
