"""Columns widened by a later write, without a schema history: old values keep their digits."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr import scan
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.rows.file_columns import ByName, pyarrow_casts_as_hudi

COW, MOR = "cow_v8_complexkeygen_hivestyle", "mor_v6_simplekeygen_nonhivestyle"
COLUMN = "doubleField"
SHOWN = ["id", COLUMN, "structField"]
Narrow = Callable[[str], Path]


@pytest.fixture
def narrow(golden: Mapping[str, Path], tmp_path: Path) -> Narrow:
    """A copy of a golden table whose base files have floats for the table's doubles.

    The doubles have so few digits that each is the double nearest to its float's digits.
    """

    def narrow(name: str) -> Path:
        copy = Path(shutil.copytree(golden[name], tmp_path / name))
        for file in copy.rglob("*.parquet"):
            if ".hoodie" not in file.parts:
                rows = pq.read_table(file)
                at = rows.schema.get_field_index(COLUMN)
                floats = rows[COLUMN].cast(pa.float32(), safe=False)
                assert rows[COLUMN].to_pylist() != floats.to_pylist()  # not by their bits
                pq.write_table(rows.set_column(at, COLUMN, floats), file)
        return copy

    return narrow


def rows(table: Path, filter: str | None = None) -> list[str]:
    return sorted(map(repr, scan(str(table), filter, SHOWN).to_table().to_pylist()))


@pytest.mark.parametrize("name", [COW, MOR])
def test_floats_become_the_doubles_of_their_digits(
    golden: Mapping[str, Path], narrow: Narrow, name: str
) -> None:
    """In the second table, merged with log files whose values are doubles."""
    table, expected = narrow(name), rows(golden[name])
    assert rows(table) == expected
    values = scan(str(golden[name]), columns=[COLUMN]).to_table()[COLUMN].to_pylist()
    for value in values:
        one = f"{COLUMN} = {value!r}"
        assert rows(table, one) == rows(golden[name], one) != []


def test_a_column_that_only_log_files_have_is_null_in_older_rows(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """hudi-rs does not merge such a slice."""
    table = Path(shutil.copytree(golden[MOR], tmp_path / MOR))
    for file in table.rglob("*.parquet"):
        pq.write_table(pq.read_table(file).drop_columns([COLUMN]), file)
    whole = values_of(golden[MOR])
    (logged,) = [
        one["id"] for one in scan(str(table)).to_table().to_pylist() if one[COLUMN] is not None
    ]
    assert values_of(table) == {key: whole[key] if key == logged else None for key in whole}


def values_of(table: Path) -> dict[int, float | None]:
    return {one["id"]: one[COLUMN] for one in scan(str(table)).to_table().to_pylist()}


def test_narrow_files_cannot_become_a_dataset(narrow: Narrow) -> None:
    with pytest.raises(UnsupportedTable, match="read batches"):
        scan(str(narrow(COW))).to_dataset()


STRUCT = pa.struct([("f", pa.float32()), ("i", pa.int32())])
WIDE = pa.struct([("f", pa.float64()), ("i", pa.int64()), ("new", pa.string())])


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        *((pa.float32(), pa.float64(), False), (pa.int32(), pa.int64(), True)),
        *((pa.float32(), pa.string(), False), (pa.int32(), pa.float64(), True)),
        *((pa.int64(), pa.string(), True), (pa.timestamp("us"), pa.string(), False)),
        *((STRUCT, STRUCT, True), (STRUCT, WIDE, False)),
        *((pa.list_(pa.float32()), pa.list_(pa.float64()), False),),
        *((pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64()), True),),
    ],
)
def test_widenings_that_all_readers_read_alike(
    old: pa.DataType, new: pa.DataType, alike: bool
) -> None:
    assert pyarrow_casts_as_hudi(old, new) == alike


def widened(values: Any, old: pa.DataType, new: pa.DataType) -> list[Any]:
    batch = pa.record_batch([pa.array(values, old)], ["c"])
    found = ByName().columns("", "x.parquet").rows(batch, pa.schema([("c", new)]))
    return found.column(0).to_pylist()


def test_fields_of_structs() -> None:
    assert widened([{"f": 0.1, "i": 1}, None], STRUCT, WIDE) == [
        {"f": 0.1, "i": 1, "new": None},
        None,
    ]
    special = [0.0, float("inf"), float("-inf"), None, 1e-45, 3.4028234663852886e38]
    digits = [0.0, float("inf"), float("-inf"), None, 1e-45, 3.4028235e38]
    assert widened(special, pa.float32(), pa.float64()) == digits
    (nan,) = widened([float("nan")], pa.float32(), pa.float64())
    assert nan != nan


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pa.list_(pa.float32()), pa.list_(pa.float64())),
        (pa.map_(pa.string(), pa.float32()), pa.map_(pa.string(), pa.float64())),
        (pa.float32(), pa.string()),
    ],
)
def test_ambiguous_widenings_are_refused(old: pa.DataType, new: pa.DataType) -> None:
    with pytest.raises(UnsupportedTable, match=r"x\.parquet: column 'c'"):
        widened([None], old, new)
