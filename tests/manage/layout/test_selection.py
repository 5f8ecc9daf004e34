"""The slices that a layout rewrites: chosen ones, without those that have the layout already."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pyhudi_expr.manage.layout import InvalidLayout, Layout
from pyhudi_expr.manage.layout.selection import LAYOUT, Choice, Selection, Size, groups_of, select
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.tables.tables import TinyTable

_LAYOUT = Layout(("a", "b"))
_FIRST, _SECOND, _THIRD = "20240101000000000", "20240102000000000", "20240103000000000"


@pytest.fixture
def table(tmp_path: Path) -> TinyTable:
    """Partition a with files 1 and 2, partition b with file 3."""
    created = TinyTable.create(tmp_path / "t")
    created.complete(_FIRST, "20240101000001000", "commit")
    for file_id, partition in (("1-0", "a"), ("2-0", "a"), ("3-0", "b")):
        created.base(file_id, _FIRST, partition)
    return created


def choice(
    partitions: frozenset[str] | None = None,
    file_groups: frozenset[str] | None = None,
    size: Size | None = None,
) -> Choice:
    return Choice(_LAYOUT, partitions, file_groups, size or Size())


def selected(
    table: TinyTable, chosen: Choice, busy: frozenset[tuple[str, str]] = frozenset()
) -> Selection:
    return select(HudiTable.open(str(table.path)), chosen, busy)


def replaced_by_layout(table: TinyTable, requested: str, completed: str, chosen: Choice) -> None:
    """Partition a has the layout: its files are 4 and 5 now."""
    for file_id in ("4-0", "5-0"):
        table.base(file_id, requested, "a")
    content = {
        "partitionToReplaceFileIds": {"a": ["1-0", "2-0"]},
        "extraMetadata": {LAYOUT: chosen.description},
    }
    (table.timeline / f"{requested}_{completed}.replacecommit").write_text(json.dumps(content))


def test_everything_is_selected_by_default(table: TinyTable) -> None:
    found = selected(table, choice())
    assert groups_of(found.listing) == [("a", "1-0"), ("a", "2-0"), ("b", "3-0")]
    assert found.files == (2, 1)
    assert found.notes == ()


def test_partitions_and_file_groups_are_chosen(table: TinyTable) -> None:
    one = selected(table, choice(frozenset({"a"})))
    assert groups_of(one.listing) == [("a", "1-0"), ("a", "2-0")]
    other = selected(table, choice(file_groups=frozenset({"2-0", "3-0"})))
    assert groups_of(other.listing) == [("a", "2-0"), ("b", "3-0")]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (choice(frozenset({"a", "c"})), "there is no partition with files c"),
        (choice(file_groups=frozenset({"9-0"})), "there is no file group 9-0"),
    ],
)
def test_unknown_names_are_refused(table: TinyTable, chosen: Choice, message: str) -> None:
    with pytest.raises(InvalidLayout, match=message):
        selected(table, chosen)


def test_slices_with_pending_table_services_are_left_out(table: TinyTable) -> None:
    found = selected(table, choice(), frozenset({("a", "1-0")}))
    assert groups_of(found.listing) == [("a", "2-0"), ("b", "3-0")]
    assert found.notes == ("left out 1 file groups with pending table services",)


def test_a_partition_that_has_the_layout_is_skipped(table: TinyTable) -> None:
    replaced_by_layout(table, _SECOND, "20240102000001000", choice())
    found = selected(table, choice())
    assert groups_of(found.listing) == [("b", "3-0")]
    assert found.notes == ("1 partitions are laid out so already",)
    otherwise = selected(table, choice(size=Size(files=9)))
    assert groups_of(otherwise.listing) == [("a", "4-0"), ("a", "5-0"), ("b", "3-0")]


def test_a_partition_written_to_since_is_laid_out_again(table: TinyTable) -> None:
    replaced_by_layout(table, _SECOND, "20240102000001000", choice())
    table.complete(_THIRD, "20240103000001000", "deltacommit")
    table.log("4-0", _THIRD, partition="a")
    found = selected(table, choice(frozenset({"a"})))
    assert groups_of(found.listing) == [("a", "4-0"), ("a", "5-0")]


def test_changes_of_chosen_slices_are_seen(table: TinyTable) -> None:
    found = selected(table, choice(frozenset({"a"})))
    table.complete(_SECOND, "20240102000001000", "deltacommit")
    table.log("3-0", _SECOND, partition="b")
    assert found.is_unchanged(table.open().listing())
    table.complete(_THIRD, "20240103000001000", "deltacommit")
    table.log("1-0", _THIRD, partition="a")
    assert not found.is_unchanged(table.open().listing())


@pytest.mark.parametrize(
    ("size", "counts"),
    [
        (Size(), [4, 1, 1]),
        (Size(files=10), [9, 1, 1]),
        (Size(files=1), [1, 1, 1]),
        (Size(file_bytes=100), [9, 1, 1]),
        (Size(file_bytes=10**9), [1, 1, 1]),
    ],
    ids=str,
)
def test_every_partition_gets_its_share_of_the_files(size: Size, counts: list[int]) -> None:
    assert size.counts(np.array([900, 100, 0]), np.array([4, 1, 1])) == counts


@pytest.mark.parametrize(
    "size", [{"files": 0}, {"file_bytes": 0}, {"files": 1, "file_bytes": 1}], ids=str
)
def test_invalid_sizes_are_refused(size: dict[str, int]) -> None:
    with pytest.raises(InvalidLayout, match="files"):
        Size(**size)
