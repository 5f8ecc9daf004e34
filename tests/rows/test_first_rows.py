"""The first rows of an order are those of all rows sorted, and few files are opened for them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

from bench.tables.plain_files import WITHOUT_META_FIELDS, file_name, write_metadata
from pyhudi_expr import scan
from pyhudi_expr.errors import HudiError, InvalidType, InvalidValue, UnknownColumn
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.rows.scan import Progress
from pyhudi_expr.rows.sorting import SortKey, sort_keys
from tests.example_counts import examples
from tests.rows.nasty_tables import COLUMNS, arrow_filters, write_nasty_table

SEED = 11 if settings().derandomize else None
CASES = examples(150)
PRUNER = Pruner(PruneOptions(footers=True, footer_wait=20))


def compared(one: Any, other: Any) -> int:
    """The order of two values: texts by bytes, then NaN, then NULL."""
    ranks = [2 if v is None else 1 if v != v else 0 for v in (one, other)]
    if ranks != [0, 0]:
        return ranks[0] - ranks[1]
    if isinstance(one, str):
        one, other = one.encode(), other.encode()
    return int(one > other) - int(one < other)


def sorted_by(rows: list[dict[str, Any]], keys: Sequence[SortKey]) -> list[dict[str, Any]]:
    def order(one: dict[str, Any], other: dict[str, Any]) -> int:
        for key in keys:
            a, b = one[key.column], other[key.column]
            has_no_value = [v is None or v != v for v in (a, b)]
            found = compared(a, b)
            if any(has_no_value):
                found = -found if key.nulls_first else found
            else:
                found = -found if key.descending else found
            if found:
                return found
        return 0

    return sorted(rows, key=functools.cmp_to_key(order))


def random_keys(random: Random) -> list[SortKey]:
    names = random.sample(sorted(COLUMNS), random.choice([1, 1, 2, 3]))
    return [SortKey(n, random.random() < 0.5, random.random() < 0.5) for n in names]


def same(found: Any, expected: Any) -> bool:
    return found == expected or (found != found and expected != expected)


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, pa.Table]:
    path = tmp_path_factory.mktemp("nasty") / "table"
    return str(path), write_nasty_table(path, Random(SEED), files=12, groups=2)


def test_random_orders_of_nasty_values(nasty: tuple[str, pa.Table]) -> None:
    path, rows = nasty
    random = Random(SEED)
    filters = applicable(rows, random)
    for _ in range(CASES):
        keys, limit = random_keys(random), random.choice([0, 1, 2, 5, 20, 1000, None])
        filter_ = next(filters) if random.random() < 0.5 else None
        matching = rows if filter_ is None else rows.filter(filter_)
        expected = sorted_by(matching.to_pylist(), keys)[:limit]
        read = scan(path, filter_, limit=limit, order_by=keys, pruner=PRUNER, zone="UTC")
        found = read.to_table().to_pylist()
        # Which of several equal rows come is open.
        assert len(found) == len(expected), (keys, limit, filter_)
        for key in keys:
            for one, other in zip(found, expected, strict=True):
                assert same(one[key.column], other[key.column]), (keys, limit, filter_)
        ids = [row["id"] for row in found]
        assert len(set(ids)) == len(ids)
        assert set(ids) <= set(matching["id"].to_pylist())


def applicable(rows: pa.Table, random: Random) -> Iterator[Any]:
    for filter_ in arrow_filters(random):
        try:
            rows.filter(filter_)
        except (pa.ArrowException, ValueError):
            continue
        yield filter_


FILES, ROWS = 60, 50


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, pa.Table]:
    """Files with disjoint ranges of `ts`; `city` has ties, and NULL in every tenth file."""
    path = tmp_path_factory.mktemp("events") / "table"
    avro = {
        "type": "record",
        "name": "events",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "ts", "type": "long"},
            {"name": "city", "type": ["null", "string"], "default": None},
            {"name": "x", "type": ["null", "double"], "default": None},
        ],
    }
    instant = "20260101000000000"
    write_metadata(path, instant, avro, "events", WITHOUT_META_FIELDS)
    random, written = np.random.default_rng(5), []
    for number in range(FILES):
        ts = random.permutation(np.arange(number * ROWS, (number + 1) * ROWS))
        city = pa.array([f"city {number // 20}"] * ROWS)
        if number % 10 == 0:
            city = pa.array([None] * ROWS, pa.string())
        rows = pa.table({"id": ts, "ts": ts, "city": city, "x": random.normal(size=ROWS)})
        pq.write_table(rows, path / file_name(number, instant))
        written.append(rows)
    return str(path), pa.concat_tables(written)


ORDERS = [
    ("ts DESC", [SortKey("ts", descending=True)]),
    ("ts", [SortKey("ts")]),
    ("city DESC NULLS LAST", [SortKey("city", descending=True)]),
    ("city NULLS FIRST", [SortKey("city", nulls_first=True)]),
    ("city, ts DESC", [SortKey("city"), SortKey("ts", descending=True)]),
    ("city NULLS FIRST, x", [SortKey("city", nulls_first=True), SortKey("x")]),
    ("x DESC", [SortKey("x", descending=True)]),
]


@pytest.mark.parametrize("where", ["ts >= 0", "ts % 7 = 3", "ts BETWEEN 310 AND 2222"])
@pytest.mark.parametrize(("text", "keys"), ORDERS, ids=[text for text, _ in ORDERS])
def test_rows_are_those_of_duckdb(
    events: tuple[str, pa.Table], where: str, text: str, keys: list[SortKey]
) -> None:
    path, rows = events
    connection = duckdb.connect()
    connection.register("events", rows)
    sql = ", ".join(k if "NULLS" in k else f"{k} NULLS LAST" for k in text.split(", "))
    expected = connection.execute(
        f"SELECT * FROM events WHERE {where} ORDER BY {sql} LIMIT 10"
    ).fetchall()
    names = rows.column_names
    read = scan(path, where, names, limit=10, order_by=keys, pruner=PRUNER)
    found = [tuple(row.values()) for row in read.to_table().to_pylist()]
    places = [rows.schema.get_field_index(key.column) for key in keys]
    assert [[row[n] for n in places] for row in found] == [
        [row[n] for n in places] for row in expected
    ]
    assert set(found) <= set(connection.execute(f"SELECT * FROM events WHERE {where}").fetchall())


@pytest.mark.parametrize(
    ("where", "key", "files"),
    [
        (None, SortKey("ts", descending=True), 8),
        (None, SortKey("id"), 1),
        (None, SortKey("fare", descending=True, nulls_first=True), 10),
        ("city = 'Oslo'", SortKey("ts"), 1),
        ("id > 100000 AND id % 7 = 3", SortKey("id"), 1),
    ],
)
def test_few_files_are_read(
    indexed_trips: Path, where: str | None, key: SortKey, files: int
) -> None:
    trips, heard = str(indexed_trips), list[Progress]()
    read = scan(trips, where, limit=20, order_by=[key], progress=heard.append)
    every = scan(trips, where, [key.column]).to_table()[key.column].to_pylist()
    assert read.to_table()[key.column].to_pylist() == sorted(every, reverse=key.descending)[:20]
    # Portions double, so that some are read for nothing.
    assert heard[-1].slices <= 2 * files
    assert read.result.files_total > 2 * files


def test_without_a_limit_all_rows_are_sorted(events: tuple[str, pa.Table]) -> None:
    path, rows = events
    read = scan(path, order_by=[SortKey("x", descending=True)], columns=["ts"])
    assert read.schema.names == ["ts"]
    expected = rows.sort_by([("x", "descending")])["ts"].to_pylist()
    assert read.to_table()["ts"].to_pylist() == expected
    assert read.count() == FILES * ROWS


def test_nan_stands_before_null(tmp_path: Path, nasty: tuple[str, pa.Table]) -> None:
    path, _ = nasty
    for keys in ([SortKey("d")], [SortKey("d", descending=True)]):
        values = scan(path, order_by=keys).to_table()["d"].to_pylist()
        tail = [v for v in values if v is None or math.isnan(v)]
        assert values[-len(tail) :] == tail or math.isnan(tail[0])
        assert tail == sorted(tail, key=lambda v: v is None)


def test_what_has_no_order_is_refused(nasty: tuple[str, pa.Table]) -> None:
    with pytest.raises(InvalidType, match="cannot be sorted by st"):
        scan(nasty[0], order_by=[SortKey("st")])
    with pytest.raises(UnknownColumn, match="nothing"):
        scan(nasty[0], order_by=[SortKey("nothing")])
    assert issubclass(InvalidType, HudiError)


@pytest.mark.parametrize(
    ("order_by", "keys"),
    [
        ("fare DESC NULLS FIRST, id", [SortKey("fare", True, True), SortKey("id")]),
        ("ORDER BY `id`desc", [SortKey("id", descending=True)]),
        ('"fare" asc nulls last', [SortKey("fare")]),
        (["id desc", ("fare", "ascending")], [SortKey("id", True), SortKey("fare")]),
        (("ts", SortKey("id")), [SortKey("ts"), SortKey("id")]),
        (None, []),
    ],
)
def test_orders_are_understood(order_by: Any, keys: list[SortKey]) -> None:
    assert list(sort_keys(order_by)) == keys
    assert [*sort_keys(", ".join(map(str, keys)) if keys else None)] == keys


@pytest.mark.parametrize(
    ("order_by", "error"),
    [
        ({"fare": "descending"}, InvalidType),
        ({"fare"}, InvalidType),
        (5, InvalidType),
        (["fare", 5], InvalidType),
        ([("fare", "down")], InvalidValue),
        ([], InvalidValue),
        ("", InvalidValue),
        ("lower(city)", InvalidValue),
        ("fare * -1", InvalidValue),
        ("fare DESC id", InvalidValue),
    ],
)
def test_other_orders_are_refused(order_by: Any, error: type[HudiError]) -> None:
    with pytest.raises(error, match="order_by: "):
        sort_keys(order_by)
