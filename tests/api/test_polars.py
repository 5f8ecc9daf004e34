"""Lazy frames of Polars over tables: the rows, and what is read for them.

`tests/packaging/test_polars_versions.py` runs this file with the oldest Polars, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import polars as pl
import pytest

import pyhudi_expr as ph
from pyhudi_expr.api.scan import ScanRequest
from pyhudi_expr.rows.scan import RowStream
from tests.example_counts import examples
from tests.rows.nasty_tables import COLUMNS, write_nasty_table

pytestmark = pytest.mark.filterwarnings("ignore::pyhudi_expr.PyHudiWarning")

Query: TypeAlias = Callable[[pl.LazyFrame], pl.LazyFrame]

c = pl.col
_NOON = datetime(2024, 1, 5, 12, tzinfo=timezone.utc)
_VERSION = tuple(map(int, pl.__version__.split(".")[:2]))
_SHOWS_ALL = _VERSION >= (2, 0)
"""Older versions show a source some of the conditions in other forms, or not at all."""
_ENGINES: Sequence[Mapping[str, Any]] = (
    ({"engine": "in-memory"}, {"engine": "streaming"}) if _VERSION >= (1, 31) else ({},)
)
"""Older versions have no streaming engine that asks sources."""


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of files that scans keep from now on."""
    found: list[int] = []
    asked = ScanRequest.rows

    def rows(self: ScanRequest, *conditions: Any) -> RowStream:
        stream = asked(self, *conditions)
        found.append(stream.result.files_kept)
        return stream

    monkeypatch.setattr(ScanRequest, "rows", rows)
    return found


def same_rows(found: pl.DataFrame, expected: pl.DataFrame) -> bool:
    assert found.schema == expected.schema
    return found.sort(found.columns).equals(expected.sort(expected.columns))


@pytest.mark.parametrize("engine", _ENGINES, ids=str)
@pytest.mark.parametrize(
    ("query", "files"),
    [
        (lambda t: t.filter(c("id") == 5), 1),
        (lambda t: t.filter(c("id") >= 70_000, c("id") < 70_005).select("city"), 1),
        (lambda t: t.filter((c("city") == "Oslo") & (c("day") == "2024-01-03")), 1),
        (lambda t: t.filter(c("rider") == "R-27182"), 1),
        (lambda t: t.filter((c("id") == 5) | (c("id") == 159_000)), 2),
        (lambda t: t.filter(c("city").is_null()), 0),
        (lambda t: t.filter(c("city").is_not_null(), c("id") < 0), 0),
        (lambda t: t.group_by("city").agg(c("fare").max()), 80),
        (lambda t: t.filter(c("ts").dt.year() == 2023), 80),
        *(
            (
                (lambda t: t.filter(~(c("city") != "Oslo")), 10),
                (lambda t: t.filter(pl.lit(False)), 0),
                (lambda t: t.filter(c("fare") > Decimal("165.50")), 10),
                (lambda t: t.filter(c("fare") > 165.5), 10),
                (lambda t: t.filter(c("id") > 159_990.5), 1),
                (lambda t: t.filter(c("id").is_in([1, 70_000])), 2),
                (lambda t: t.filter(~c("city").is_in(["Oslo"])), 70),
                (lambda t: t.filter(c("id").is_in([1, None])), 80),
                (lambda t: t.filter(c("id").is_between(1_999, 2_000, closed="left")), 1),
                (lambda t: t.filter(c("id").is_between(1_999, 2_000)), 2),
                (lambda t: t.filter(c("city").str.starts_with("Os")), 10),
                (lambda t: t.filter(c("ts") < _NOON, c("day") == "2024-01-05"), 8),
            )
            if _SHOWS_ALL
            else ()
        ),
    ],
)
def test_a_query_reads_the_files_that_can_match(
    indexed_trips: Path, kept: list[int], query: Query, files: int, engine: Mapping[str, Any]
) -> None:
    table = ph.table(indexed_trips)
    expected = query(table.scan().to_polars().lazy()).collect()
    frame = table.to_polars()
    kept.clear()
    assert same_rows(query(frame).collect(**engine), expected)
    assert kept == [files]


@pytest.mark.parametrize("engine", _ENGINES, ids=str)
def test_first_rows_are_taken_before_conditions(
    indexed_trips: Path, kept: list[int], engine: Mapping[str, Any]
) -> None:
    frame = ph.table(indexed_trips).to_polars()
    kept.clear()
    found = frame.head(5).filter(c("id") > 1).collect(**engine)
    assert found["id"].to_list() == [2, 3, 4]
    assert frame.filter(c("fare") > 165).head(5).collect(**engine).height == 5
    assert frame.sort("id", descending=True).head(2).collect(**engine)["id"].to_list() == [
        159_999,
        159_998,
    ]
    of_oslo = frame.filter(c("city") == "Oslo").sort("id").head(2).select("city", "day")
    assert of_oslo.collect(**engine).rows() == [("Oslo", "2024-01-01")] * 2
    assert kept[0] == 1


def test_merged_rows_and_hudis_columns(golden: Mapping[str, Path]) -> None:
    table = ph.table(golden["mor_v9_txns_simple_meta"])
    every = table.scan(meta=True).to_polars()
    assert same_rows(table.to_polars(meta=True).collect(), every)
    key = every["_hoodie_record_key"][0]
    found = table.to_polars(meta=True).filter(c("_hoodie_record_key") == key).collect()
    assert found.equals(every.filter(c("_hoodie_record_key") == key))


def test_a_frame_stays_at_its_state_of_the_table(golden: Mapping[str, Path]) -> None:
    table = ph.table(golden["cow_v9_txns_simple_meta"])
    first = table.history()["instant"][0].as_py()
    then = table.to_polars(as_of=first).collect()
    assert same_rows(then, table.scan(as_of=first).to_polars())
    assert then.height != table.count()


@pytest.mark.skipif(_VERSION < (1, 31), reason="Polars shows no condition to the source")
def test_what_no_file_is_pruned_by_is_reported(indexed_trips: Path) -> None:
    frame = ph.table(indexed_trips).to_polars()
    with pytest.warns(ph.PyHudiWarning, match=r"dt\.year\(\).*\(the rows are right\)"):
        frame.filter((c("ts").dt.year() == 2023) | (c("id") == 5)).collect()


def test_rows_are_those_that_polars_finds_in_all(tmp_path: Path, kept: list[int]) -> None:
    """Random conditions over values for which statistics and conversions often go wrong."""
    random = Random(64)
    skipped = 0
    for number in range(3):
        path = tmp_path / str(number)
        path.mkdir()
        write_nasty_table(path, random, files=8, groups=1)
        table = ph.table(path)
        every, frame = table.scan().to_polars(), table.to_polars()
        for _ in range(examples(150)):
            condition = _condition(random, 2)
            kept.clear()
            with _named(condition):
                found = frame.filter(condition).select("id").collect()["id"].sort()
                assert found.to_list() == every.filter(condition)["id"].sort().to_list()
            skipped += 8 - kept[0]
    assert skipped > 0


@contextmanager
def _named(condition: pl.Expr) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        raise AssertionError(f"{condition}: {error}") from error


_OTHERS: Mapping[str, Sequence[Any]] = {
    "i": [0.5, -1.0, 1e10],
    "l": [float(2**53), 2.0**63, -0.5],
    "f": [0.1, 2**24 + 1],
    "d": [0, 1],
    "m": [0.0, -0.01, 1, Decimal("0.001")],
    "day": [datetime(1970, 1, 1), datetime(1969, 12, 31, 23)],
}
"""Values of other types than the column's."""


def _condition(random: Random, depth: int) -> pl.Expr:
    if depth and random.random() < 0.5:
        one, two = (_condition(random, depth - 1) for _ in range(2))
        return random.choice((one & two, one | two, ~one))
    # Older versions fail for decimals of other scales.
    name = random.choice([one for one in COLUMNS if _SHOWS_ALL or one not in ("m", "w")])
    own = COLUMNS[name].values
    first, second = (pl.lit(random.choice([*own, *_OTHERS.get(name, ())])) for _ in range(2))
    column = c(name)
    made = [
        *(column == first, column != first, column < first, column <= first),
        *(column > first, column >= first, first > column),
        *(column.is_null(), column.is_not_null()),
        column.is_in(random.choices([*own, None], k=2)),
    ]
    if name != "b":
        made.append(
            column.is_between(first, second, random.choice(("both", "left", "right", "none")))
        )
    return random.choice(made)
