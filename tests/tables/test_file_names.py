"""Names of data files: a whole column of them, and one by one."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from pyhudi_expr.tables.hudi_names import base_files, is_parsed, log_files

_PARTS = ("", "a", "files-0000-0", "_", "-", ".", "1", "20240601000000000", ".log.", "1-2-3")
_ENDS = ("", ".hfile", ".parquet", ".cdc", ".crc", "\n")
_USUAL = (
    "files-0000-0_0-0-0_20240601000000000.hfile",
    ".files-0000-0_20240601000000000.log.1_0-1-2",
    ".files-0000-0_20240601000000000.log.2",
    ".files-0000-0_20240601000000000.log.2_0-1-2.cdc",
    "files-0000-0__1_x.hfile",
)


@pytest.mark.parametrize("base_format", ["hfile", "parquet"])
def test_one_name_is_parsed_as_a_column_of_names_is(base_format: str) -> None:
    chosen = random.Random(31)
    names = [
        "".join(chosen.choices(_PARTS, k=chosen.randrange(7))) + chosen.choice(_ENDS)
        for _ in range(20_000)
    ]
    names += [*_USUAL, *(name + "\n" for name in _USUAL)]
    column = pa.array(names, pa.string())
    rows = {*base_files(column, base_format).row.tolist(), *log_files(column).row.tolist()}
    assert {names[row] for row in rows} >= set(_USUAL[1:4])
    assert rows == {row for row, name in enumerate(names) if is_parsed(name, base_format)}
