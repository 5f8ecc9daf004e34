"""Row orders preserve the columns' order, spread it well, and are cut into equal files."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.manage.layout import Curve, InvalidLayout, Layout, Mapping
from pyhudi_expr.manage.layout.curves import MAX_BYTES
from pyhudi_expr.manage.layout.mappings import Boundaries
from pyhudi_expr.manage.layout.row_order import Pieces, comparable, row_order
from tests.example_counts import examples
from tests.manage.layout.ordered_values import TYPES, Ordered, array

_FILES = 64
_LAYOUTS = [
    Layout(("a", "b"), curve, mapping)
    for curve, mapping in itertools.product(Curve, Mapping)
    if curve is not Curve.LINEAR or mapping is Mapping.SAMPLED
]


@pytest.mark.parametrize("ordered", TYPES.values(), ids=TYPES.keys())
@settings(max_examples=examples(40))
@given(data=st.data())
def test_quantiles_keep_the_order_and_put_nulls_last(ordered: Ordered, data: st.DataObject) -> None:
    sample = data.draw(st.lists(st.one_of(st.none(), ordered.values), max_size=12))
    values = sorted(data.draw(st.lists(ordered.values, max_size=8)), key=ordered.key)
    own = Boundaries.of(array(ordered, sample), depth=3)
    numbers = own.numbers(array(ordered, [*values, None]))
    assert (numbers[1:] >= numbers[:-1]).all()
    assert numbers[-1] == len(own.values) + 1
    assert len(own.values) == (7 if any(value is not None for value in sample) else 0)


def test_quantiles_split_a_skewed_column_into_equal_shares() -> None:
    rng = np.random.default_rng(1)
    values = pa.array(rng.lognormal(0, 4, 40_000))
    numbers = Boundaries.of(values.slice(0, 20_000), depth=4).numbers(values)
    shares = np.bincount(numbers, minlength=16) / len(values)
    assert len(shares) == 16
    assert (np.abs(shares - 1 / 16) < 0.01).all()


def test_strings_with_a_common_prefix_are_distinguished() -> None:
    texts = pa.array([f"https://www.example.com/items/{i:06d}" for i in range(10_000)])
    numbers = Boundaries.of(texts, depth=8).numbers(texts)
    assert len(np.unique(numbers)) == 256


def test_few_distinct_values_are_spread_over_the_whole_range() -> None:
    """A column with three values gets a third of the numbers for each."""
    sample = pa.array(["x", "y", "z"] * 1000)
    numbers = Boundaries.of(sample, depth=8).numbers(pa.array(["x", "y", "z"]))
    np.testing.assert_allclose(numbers, [0, 256 / 3, 512 / 3], atol=2)


@pytest.mark.parametrize("layout", _LAYOUTS, ids=str)
def test_pieces_are_of_equal_size(layout: Layout) -> None:
    rng = np.random.default_rng(2)
    rows = pa.table({"a": rng.normal(0, 1e6, 50_000).astype(np.int64), "b": rng.random(50_000)})
    order = row_order(layout, rows.slice(0, 25_000), _FILES)
    columns = [rows.column(name).combine_chunks() for name in layout.columns]
    places = order.places(columns)
    pieces = Pieces.of(places[:25_000], _FILES)
    assert pieces.count == _FILES
    sizes = np.bincount(pieces.numbers(places), minlength=_FILES)
    assert sizes.sum() == 50_000
    assert sizes.min() > 50_000 / _FILES / 1.5
    assert sizes.max() < 50_000 / _FILES * 1.5


def touched(layout: Layout, rows: pa.Table, column: str) -> float:
    """The share of the files whose range of a column overlaps a tenth of the column's values."""
    columns = [rows.column(name).combine_chunks() for name in layout.columns]
    places = row_order(layout, rows, _FILES).places(columns)
    piece = pa.array(Pieces.of(places, _FILES).numbers(places))
    ranges = pa.table({"piece": piece, "value": rows.column(column)})
    found = ranges.group_by("piece").aggregate([("value", "min"), ("value", "max")])
    ordered = rows.column(column).sort()
    low, high = ordered[len(ordered) // 2], ordered[len(ordered) * 6 // 10]
    met = pc.and_(
        pc.less_equal(found["value_min"], high), pc.greater_equal(found["value_max"], low)
    )
    return float(pc.mean(met).as_py())


def test_a_curve_serves_both_columns_where_the_linear_order_serves_one() -> None:
    """Skewed numbers, and strings with a common prefix longer than the direct mapping's."""
    rng = np.random.default_rng(3)
    urls = [f"https://www.example.com/{n:06d}" for n in rng.integers(0, 10**6, 40_000)]
    rows = pa.table({"a": rng.lognormal(0, 3, 40_000), "b": urls})
    linear = Layout(("a", "b"), Curve.LINEAR)
    assert touched(linear, rows, "a") < 0.15
    assert touched(linear, rows, "b") > 0.95
    for curve in (Curve.Z_ORDER, Curve.HILBERT):
        sampled, direct = Layout(("a", "b"), curve), Layout(("a", "b"), curve, Mapping.DIRECT)
        assert touched(sampled, rows, "a") < 0.3
        assert touched(sampled, rows, "b") < 0.3
        assert touched(direct, rows, "b") > 0.95


@settings(max_examples=examples(40))
@given(data=st.data())
def test_the_linear_order_is_lexicographic(data: st.DataObject) -> None:
    row = st.tuples(st.text("ab", max_size=20), st.one_of(st.none(), st.integers(-3, 3)))
    rows = data.draw(st.lists(row, min_size=1, max_size=12))
    table = pa.table(
        {"s": pa.array([r[0] for r in rows]), "i": pa.array([r[1] for r in rows], pa.int64())}
    )
    order = row_order(Layout(("s", "i"), Curve.LINEAR), table, _FILES)
    places = order.places([table.column("s").combine_chunks(), table.column("i").combine_chunks()])
    found = np.argsort(comparable(places), kind="stable")
    expected = sorted(
        range(len(rows)), key=lambda n: (rows[n][0], rows[n][1] is None, rows[n][1] or 0)
    )
    assert [rows[n] for n in found] == [rows[n] for n in expected]


def test_positions_stay_within_the_limit_for_long_strings() -> None:
    texts = pa.array([f"{'x' * 3000}{n}" for n in range(50)])
    names = [f"s{n}" for n in range(16)]
    rows = pa.table(dict.fromkeys(names, texts))
    for curve in Curve:
        places = row_order(Layout(tuple(names), curve), rows, 4).places([texts] * 16)
        assert places.shape[1] <= MAX_BYTES


@pytest.mark.parametrize("layout", _LAYOUTS, ids=str)
@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"a": pa.array([], pa.int32()), "b": pa.array([], pa.string())}),
        pa.table({"a": pa.array([1], pa.int32()), "b": pa.array(["x"])}),
        pa.table({"a": pa.array([None, None], pa.int32()), "b": pa.array([None, "x"])}),
        pa.table({"a": pa.array([7] * 9, pa.int32()), "b": pa.array(["x"] * 9)}),
    ],
    ids=["no row", "one row", "all nulls", "one distinct value"],
)
def test_a_poor_sample_still_assigns_every_row_to_a_piece(layout: Layout, rows: pa.Table) -> None:
    order = row_order(layout, rows, _FILES)
    pieces = Pieces.of(order.places([rows["a"].combine_chunks(), rows["b"].combine_chunks()]), 9)
    others = [pa.array([None, 5], pa.int32()), pa.array(["y", None])]
    numbers = pieces.numbers(order.places(others))
    assert len(numbers) == 2
    assert numbers.min() >= 0
    assert numbers.max() < pieces.count


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((), "1 to 16 columns"),
        (tuple(f"c{n}" for n in range(17)), "1 to 16 columns"),
        (("a", "nowhere"), "there is no column 'nowhere' to lay out by; there are a, l"),
        (("a", "a"), "names the column 'a' twice"),
        (("l",), "column 'l': values of type list<item: int32> have no order"),
    ],
)
def test_invalid_layouts_are_refused(columns: tuple[str, ...], message: str) -> None:
    rows = pa.table({"a": pa.array([1]), "l": pa.array([[1]], pa.list_(pa.int32()))})
    with pytest.raises(InvalidLayout, match=message):
        row_order(Layout(columns), rows, _FILES)
