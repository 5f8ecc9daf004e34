"""The predictions of `analyze` come true, and the best layout is ranked first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.manage.layout import Curve, InvalidLayout, Layout, Mapping
from pyhudi_expr.manage.layout.analysis import Analysis, analyze
from pyhudi_expr.manage.layout.plots import draw
from pyhudi_expr.manage.layout.row_order import Pieces, row_order
from pyhudi_expr.manage.layout.tiling import quantile_boxes
from tests.manage.layout.tables import rows, split, written

_FILES = 16
_COUNT = 16_000
_PREDICATES = (
    "a BETWEEN 900000 AND 1200000",
    "b BETWEEN 'https://www.example.com/5' AND 'https://www.example.com/6'",
    "a < 100000 AND b >= 'https://www.example.com/8'",
)


def analysis(table: str, predicates: Sequence[str] = _PREDICATES, **options: object) -> Analysis:
    return analyze(table, [parse_predicate(text) for text in predicates], **options)


def read_share(table: str, predicate: str) -> float:
    """The share of the files that are actually read."""
    options = PruneOptions(footers=True, footer_wait=60)
    result = Pruner(options).prune(table, PruneRequest(parse_predicate(predicate)))
    return result.files_kept / result.files_total


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two partitions with files in random order."""
    both = split(rows(_COUNT), _FILES)
    path = tmp_path_factory.mktemp("analysis") / "t"
    return written(path, {"p": both[:8], "q": both[8:]})


def test_columns_without_statistics_are_named(table: str, indexed_trips: Path) -> None:
    assert any("no column_stats of a, b, by which" in note for note in analysis(table).notes)
    found = analysis(str(indexed_trips), ["fare > 100"])
    assert not any("column_stats" in note for note in found.notes)


def test_a_table_in_no_order_is_read_whole_today(table: str) -> None:
    found = analysis(table)
    assert found.today.files == (1.0, 1.0, 1.0)
    assert found.today.bytes == (1.0, 1.0, 1.0)
    assert found.files == _FILES


def test_the_first_candidate_orders_by_quantiles_of_both_columns(table: str) -> None:
    """Given enough files; with few files, one column alone is better."""
    best = analysis(table, files=64).candidates[0]
    assert best.layout is not None
    assert set(best.layout.columns) == {"a", "b"}
    assert best.layout.mapping is Mapping.SAMPLED
    assert best.layout.curve is not Curve.LINEAR
    assert best.mean_files < 0.3


def test_predicates_on_one_column_are_served_best_by_its_order(table: str) -> None:
    best = analysis(table, _PREDICATES[:1]).candidates
    assert [one.layout for one in best] == [Layout(("a",), Curve.LINEAR)]
    assert best[0].files[0] <= 4 / _FILES


@pytest.mark.parametrize(
    "layout",
    [
        Layout(("a", "b"), Curve.LINEAR),
        Layout(("a", "b"), Curve.Z_ORDER),
        Layout(("b", "a"), Curve.HILBERT),
        Layout(("a", "b"), Curve.HILBERT, Mapping.DIRECT),
    ],
    ids=str,
)
def test_predictions_come_true(table: str, layout: Layout, tmp_path: Path) -> None:
    """Predicted from a quarter of the rows, then measured after the layout."""
    expected = analysis(table, candidates=[layout], sample_rows=_COUNT // 4).candidates[0]
    whole = rows(_COUNT)
    partitions = {}
    for name, own in (("p", whole.slice(0, _COUNT // 2)), ("q", whole.slice(_COUNT // 2))):
        columns = [own.column(column).combine_chunks() for column in layout.columns]
        places = row_order(layout, own, 8).places(columns)
        piece = Pieces.of(places, 8).numbers(places)
        partitions[name] = [own.filter(pa.array(piece == number)) for number in range(8)]
    laid_out = written(tmp_path / "t", partitions)
    actual = [read_share(laid_out, text) for text in _PREDICATES]
    np.testing.assert_allclose(expected.files, actual, atol=2.1 / _FILES)


def test_bounding_boxes_cover_the_rows_of_their_files(table: str) -> None:
    found = analysis(table)
    layout = found.candidates[0].layout
    before = quantile_boxes(found.sample.rows, found.tiling(None), ("a", "b"))
    after = quantile_boxes(found.sample.rows, found.tiling(layout), ("a", "b"))
    assert len(before) == len(after) == _FILES
    area = [float(((b[:, 1] - b[:, 0]) * (b[:, 3] - b[:, 2])).mean()) for b in (before, after)]
    assert area[0] > 0.9
    assert area[1] < 0.2


@pytest.mark.slow
def test_a_picture_is_drawn(table: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = analysis(table)
    assert found.candidates[0].layout is not None
    target = tmp_path / "files.svg"
    draw(found, found.candidates[0].layout, ("a", "b"), target)
    assert target.read_text().count("<path") > 2 * _FILES
    with pytest.raises(InvalidLayout, match="no layout uses c"):
        draw(found, found.candidates[0].layout, ("a", "c"), target)
    with pytest.raises(HudiError, match="cannot be written"):
        draw(found, found.candidates[0].layout, ("a", "b"), tmp_path / "nowhere" / "x.png")


def test_nulls_constants_and_more_files_than_rows(tmp_path: Path) -> None:
    table = written(tmp_path / "t", {"p": [rows(3)], "q": [rows(1, seed=2)]})
    found = analysis(table, ("c = 7 AND n IS NULL", "n > 1", "c > 7"), files=50)
    assert {one.files for one in found.candidates} == {(1.0, 0.0, 0.0)}


@pytest.mark.parametrize(
    ("predicates", "options", "message"),
    [
        ((), {}, "at least one predicate"),
        (("nowhere = 1",), {}, "use no column that rows can be laid out by"),
        (("a > 1",), {"candidates": [Layout(("nowhere",))]}, "there is no column 'nowhere'"),
    ],
)
def test_unsupported_predicates_are_refused(
    table: str, predicates: tuple[str, ...], options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidLayout, match=message):
        analysis(table, predicates, **options)


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    table = written(tmp_path / "t", {"p": [rows(0)]})
    with pytest.raises(InvalidLayout, match="its base files have no row"):
        analysis(table)
