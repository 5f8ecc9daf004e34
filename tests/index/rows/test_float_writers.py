"""What is trusted of the bounds of floats, by files of their writers: what NaN matches is kept."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import domain_of, float_ordinal
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.index.statistics.parquet_footers import RowGroupStatistics
from pyhudi_expr.index.statistics.stored_bounds import FLOAT_WRITERS, FloatBounds
from tests.data.float_writers import values
from tests.index.rows.ranges_of_files import evaluated, rows_of

FILES = Path(values.__file__).parent
NOTHING, NUMBERS, VALUES = FloatBounds.NOTHING, FloatBounds.NUMBERS, FloatBounds.VALUES
TRUSTED = {
    # Its bounds of a file with NaN may be those of a part of the numbers, as those of Polars.
    "parquet-mr-1.8.3": NOTHING,
    **dict.fromkeys(("parquet-mr-1.10.1", "parquet-mr-1.13.1", "parquet-mr-1.17.1"), VALUES),
    "parquet-mr-1.18.0": NUMBERS,
    **dict.fromkeys(("duckdb-1.1.3", "duckdb-2.0.1", "polars-2.0.0"), VALUES),
    **dict.fromkeys(("polars-0.20.31", "polars-1.9.0"), NOTHING),
    **dict.fromkeys(("pyarrow-10.0.1", "arro3-0.3.0", "arro3-0.9.1"), NUMBERS),
    **dict.fromkeys(("datafusion-20.0.0", "datafusion-43.1.0", "datafusion-55.0.0"), NUMBERS),
    **dict.fromkeys(("deltalake-1.6.6", "fastparquet-2023.10.1"), NUMBERS),
}
#: Its bounds are in IEEE 754's total order, which pyarrow does not read.
UNREAD = "parquet-mr-1.18.0"
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<>": operator.ne,
}


@pytest.fixture(scope="module", params=[*TRUSTED, "pyarrow", "polars", "duckdb"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of each writer; those that are installed write one."""
    if request.param in TRUSTED:
        return FILES / f"{request.param}.parquet"
    path = tmp_path_factory.mktemp(request.param) / f"{request.param}.parquet"
    values.WRITERS[request.param](path)
    return path


def test_writers_are_trusted_as_far_as_their_files_show() -> None:
    assert {path.stem for path in FILES.glob("*.parquet")} == TRUSTED.keys()
    for name, trusted in TRUSTED.items():
        assert FloatBounds.of(pq.read_metadata(FILES / f"{name}.parquet")) is trusted, name


def test_no_bound_excludes_a_value(file: Path) -> None:
    footer, rows = pq.read_metadata(file), pq.read_table(file)
    known = 0
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        domain = domain_of(column.type)
        assert domain is not None
        bounds = RowGroupStatistics([footer]).bounds(BoundColumn(name, column.type, domain))
        assert bounds is not None
        (lower,), (upper,) = bounds.lower, bounds.upper
        for value in column.drop_null().to_pylist():
            assert lower <= float_ordinal(value) <= upper, name
        known += lower == float_ordinal(5.0)
    assert bool(known) == (FloatBounds.of(footer) is not NOTHING and file.stem != UNREAD)


@pytest.mark.parametrize("text", [*(f"{op} 5" for op in OPERATORS), "<= 0", "> 7"])
def test_rows_that_match_are_kept_wherever_nan_is(file: Path, text: str) -> None:
    """By row groups and pages."""
    rows = pq.read_table(file)
    op, value = text.split()
    for name in ["f_middle", *(name for name in rows.column_names if name.startswith("d"))]:
        for begin in ("", "NOT "):
            predicate = parse_predicate(f"{begin}({name} {text}D)", SPARK)
            [found] = evaluated([file], predicate, rows.schema).files
            matching = {
                row
                for row, stored in enumerate(rows[name].to_pylist())
                if stored is not None
                if (not begin) in _truths(OPERATORS[op], stored, float(value))
            }
            assert matching <= rows_of(found), (name, begin)


def _truths(compare: Callable[[Any, Any], bool], stored: float, value: float) -> Iterator[bool]:
    """As IEEE 754 says, and with NaN above all numbers."""
    yield compare(stored, value)
    yield compare((math.isnan(stored), stored), (False, value))


@pytest.mark.parametrize(
    "name", [name for name in TRUSTED if TRUSTED[name] is not NOTHING and name != UNREAD]
)
def test_what_no_nan_can_match_is_skipped(name: str) -> None:
    path = FILES / f"{name}.parquet"
    schema = pq.read_schema(path)

    def is_kept(text: str) -> bool:
        [found] = evaluated([path], parse_predicate(text, SPARK), schema).files
        return bool(rows_of(found))

    assert not is_kept("d_none < 5D")
    assert not is_kept("d_none = 3D")
    assert is_kept("d_none > 7D") == (TRUSTED[name] is NUMBERS)
    # Some writers give no bounds at all of a file with NaN.
    is_lower_known = not name.startswith(("duckdb", "polars"))
    for text in ("d_middle < 5D", "f_first <= 4.5D", "d_last IN (1D, 2D)"):
        assert is_kept(text) != is_lower_known, text
    for text in ("d_middle > 7D", "NOT (d_middle >= 5D)", "NOT (d_middle < 9D)", "d_middle <> 5D"):
        assert is_kept(text), text


def test_the_documented_writers_are_the_trusted_ones() -> None:
    document = (Path(__file__).parents[3] / "docs/reliability.md").read_text()
    for writer, (of_numbers, without_nan) in FLOAT_WRITERS.items():
        first, last = (".".join(map(str, one)) for one in (of_numbers, without_nan))
        assert f"| `{writer}` | {first} | {last} |" in document, writer
