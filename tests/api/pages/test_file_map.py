"""The map: a rectangle for each file, cells for many, and the region of the query."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.api.pages.axes import Ranges
from pyhudi_expr.api.pages.file_map import FileMap, FileSet, axes_of, draw_files
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.terms import Scope

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("s", pa.string())])


def column(name: str) -> BoundColumn:
    type_ = SCHEMA.field(name).type
    return BoundColumn(name, type_, domain_of(type_))


def numbers(name: str, lower: Sequence[int], upper: Sequence[int]) -> Ranges:
    return Ranges(column(name), np.asarray(lower, np.int64), np.asarray(upper, np.int64))


def texts(name: str, lower: Sequence[bytes], upper: Sequence[bytes]) -> Ranges:
    ends = (pa.array(each, pa.large_binary()) for each in (lower, upper))
    return Ranges(column(name), *ends)


def drawn(predicate: str, keep: Sequence[bool], *ranges: Ranges) -> FileMap:
    bound = bind(parse_predicate(predicate), Scope(SCHEMA))
    files = FileSet(
        ranges,
        np.asarray(keep, np.bool_),
        lambda files: [(f"file {number}", ()) for number in files.tolist()],
    )
    return draw_files(files, axes_of([files], bound), bound)


def box(mark) -> tuple[float, ...]:
    return tuple(round(each, 2) for each in (mark.left, mark.top, mark.width, mark.height))


def test_a_file_spans_its_ranges():
    found = drawn(
        "a < 500",
        [True, False],
        numbers("a", [0, 500], [499, 999]),
        numbers("b", [100, 0], [199, 99]),
    )
    assert {mark.name: box(mark) for mark in found.marks} == {
        "file 0": (0, 0, 50, 50),
        "file 1": (50, 50, 50, 50),
    }
    assert {mark.name: mark.kind for mark in found.marks} == {"file 0": "kept", "file 1": "dropped"}
    assert (found.files, found.kept, found.omitted) == (2, 1, 0)


def test_read_files_lie_above_others_and_small_ones_above_large_ones():
    found = drawn(
        "a < 5",
        [True, False, False],
        numbers("a", [0, 0, 500], [999, 999, 599]),
        numbers("b", [0, 0, 100], [999, 999, 199]),
    )
    layers = {mark.name: mark.layer for mark in found.marks}
    assert layers["file 1"] < layers["file 2"] < layers["file 0"]


def test_files_without_a_known_range_are_counted_and_not_drawn():
    unknown = np.iinfo(np.int64)
    found = drawn("a < 5", [True, True], numbers("a", [0, unknown.min], [9, unknown.max]))
    assert [mark.name for mark in found.marks] == ["file 0"]
    assert (found.files, found.omitted) == (1, 1)


def test_files_of_one_value_share_its_band_side_by_side():
    found = drawn(
        "a < 500",
        [True] * 3,
        texts("s", [b"x", b"x", b"y"], [b"x", b"x", b"y"]),
        numbers("a", [0, 0, 0], [999, 999, 999]),
    )
    assert sorted(box(mark) for mark in found.marks) == [
        (0, 0, 25, 100),
        (25, 0, 25, 100),
        (50, 0, 50, 100),
    ]


def test_of_one_column_the_files_lie_in_order():
    found = drawn("a < 5", [False] * 3, numbers("a", [600, 0, 300], [899, 299, 599]))
    assert [mark.name for mark in found.marks] == ["file 1", "file 2", "file 0"]
    assert [round(mark.top) for mark in found.marks] == [67, 33, 0]
    assert found.vertical.name == "files"


COUNT = 300_000


@pytest.fixture(scope="module")
def many():
    """300,000 small files at random places, of which every 50th is read."""
    random = np.random.default_rng(1)
    a, b = random.integers(0, 10**6, (2, COUNT))
    keep = np.arange(COUNT) % 50 == 0
    found = drawn("a < 500000", keep, numbers("a", a, a + 9), numbers("b", b, b + 9))
    return a, b, keep, found


def test_many_files_are_counted_in_cells(many):
    a, b, _, found = many
    assert len(found.marks) <= 32 * 20
    counts = np.histogram2d(a, b, bins=(32, 20), range=((0, 10**6 + 9), (0, 10**6 + 9)))[0]
    shown = np.array([int(mark.name.split()[0].replace(",", "")) for mark in found.marks])
    # A file at the border of two cells is in both.
    assert 0 <= shown.sum() - COUNT < 0.01 * COUNT
    assert abs(np.median(shown) - np.median(counts)) < 10
    assert (found.files, found.kept) == (COUNT, COUNT // 50)


def test_cells_with_files_that_are_read_say_how_many(many):
    _, _, keep, found = many
    kept = [mark for mark in found.marks if "kept" in mark.kind]
    read = sum(int(mark.facts[0][1].split()[0].replace(",", "")) for mark in kept)
    assert 0 <= read - keep.sum() < 0.02 * keep.sum()
    assert found.legend.kept[0] >= 1


def test_the_few_files_that_are_read_of_many_have_marks_of_their_own():
    a = np.arange(10_000) * 10
    found = drawn("a < 30", a < 30, numbers("a", a, a + 9), numbers("b", a, a + 9))
    assert [mark.name for mark in found.marks if mark.kind == "kept"] == [
        "file 0",
        "file 1",
        "file 2",
    ]
    assert found.legend.kept is None
    assert all(mark.layer == 0 for mark in found.marks if "cell" in mark.kind)


def test_a_large_file_counts_in_each_cell_that_it_meets():
    lower, upper = np.arange(1_000), np.arange(1_000)
    lower[0], upper[0] = 0, 999
    found = drawn("a < 5", [False] * 1_000, numbers("a", lower, upper), numbers("b", lower, upper))
    assert len(found.marks) == 32 * 20  # the diagonal, and the file that spans everything


def boxes(found: FileMap) -> list[list[float]]:
    return found.region.boxes.round(3).tolist()


AB = (numbers("a", [0, 500], [499, 999]), numbers("b", [0, 500], [499, 999]))


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("a >= 250 AND b < 500", [[0.25, 1, 0, 0.5]]),
        ("a < 250 OR b >= 750", [[0, 0.25, 0, 0.75], [0, 1, 0.75, 1]]),
        ("NOT (a >= 250)", [[0, 0.25, 0, 1]]),
        ("a BETWEEN 100 AND 199 AND s = 'x'", [[0.1, 0.2, 0, 1]]),
        ("a IN (100, 900) AND b < 500", [[0.1, 0.101, 0, 0.5], [0.9, 0.901, 0, 0.5]]),
        ("a > 5000", []),
        ("s = 'x'", [[0, 1, 0, 1]]),
        ("a IS NULL", []),
    ],
)
def test_the_region_is_where_the_query_can_match(predicate, expected):
    assert boxes(drawn(predicate, [True, True], *AB)) == expected


def test_the_outline_of_a_region_has_whole_lines():
    found = drawn("a >= 250 AND b < 500", [True, True], *AB)
    assert sorted(found.region.outline.round(3).tolist()) == [
        [0.25, 0.0, 0.25, 0.5],
        [0.25, 0.0, 1.0, 0.0],
        [0.25, 0.5, 1.0, 0.5],
        [1.0, 0.0, 1.0, 0.5],
    ]


def test_a_region_over_texts_covers_the_bands_of_its_values():
    cities = texts(
        "s", [b"Lima", b"Oslo", b"Rome", b"Zagreb"], [b"Lima", b"Oslo", b"Rome", b"Zagreb"]
    )
    keep = [False, True, True, False]
    assert boxes(drawn("s IN ('Oslo', 'Rome')", keep, cities)) == [[0.25, 0.75, 0, 1]]
    assert boxes(drawn("s LIKE 'Z%'", keep, cities)) == [[0.75, 1, 0, 1]]
