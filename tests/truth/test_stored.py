"""Files of each writer with NaN, both zeros and infinities keep what matches in Spark and Hive."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from tests.truth import values
from tests.truth.files import SortedRows
from tests.truth.stored import Footers, StoredFiles, in_avro, write_table

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "> 3.0": lambda value, nan: nan or value > 3.0,
    "> 1e15": lambda value, nan: nan or value > 1e15,
    "< -1.0": lambda value, nan: not nan and value < -1.0,
    "<= 0.5": lambda value, nan: not nan and value <= 0.5,
}


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("footers", Footers)
def test_footers_exclude_no_file_with_a_match(tmp_path: Path, footers: Footers, seed: int) -> None:
    rows = in_avro(values.rows(240, seed))
    files = SortedRows(rows).files(rows.column_names, [], 60, seed)
    write_table(tmp_path / "table", rows, files.members, footers, random.Random(seed))
    found, skipped = StoredFiles.by_footers(tmp_path / "table"), 0
    for name in ("f4", "g4", "f8", "g8"):
        stored = rows[name].to_pylist()
        for text, compare in COMPARISONS.items():
            predicate = parse_predicate(f"{name} {text}D", SPARK)
            kept = found.kept(bind(predicate, Scope(found.schema, here("UTC"))), 60)
            for file, members in enumerate(files.members):
                present = [stored[row] for row in members if stored[row] is not None]
                matches = any(compare(value, math.isnan(value)) for value in present)
                assert kept[file] or not matches, (name, text, present)
            skipped += (~kept).sum()
    assert skipped
