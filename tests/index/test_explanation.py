"""Explanations show what each index excluded for each node, and why it did not exclude more."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.explanation import Explanation, explain
from pyhudi_expr.index.planner import NamedEvidence
from pyhudi_expr.tables.listing import FileListing, ListingPart, TableView
from tests.expr.statistics import NOTHING, RowStatistics

SCHEMA = pa.schema(
    [
        ("x", pa.int64()),
        ("s", pa.string()),
        ("p", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
ROWS = [
    [
        {"x": 10 * n, "s": f"name_{n}", "p": "a", "at": n},
        {"x": 10 * n + 9, "s": None, "p": "a", "at": n},
    ]
    for n in range(4)
]
_PART = ListingPart(
    partitions=pa.array([""]),
    slice_partition=np.zeros(4, np.int32),
    slice_file_id=pa.array(list("abcd")),
    slice_base_instant=pa.array(["1"] * 4),
    file_slice=np.arange(4, dtype=np.int32),
    file_name=pa.array(list("abcd")),
    file_size=np.array([1, 10, 100, 1000], np.int64),
    file_is_log=np.zeros(4, np.bool_),
)
LISTING = FileListing.of("1", TableView.SNAPSHOT, _PART)
SLICE_ROWS = np.array([2, 20, 200, -1], np.int64)


def explained(
    predicate: str, *sources: tuple[str, RowStatistics], zone: str | None = None
) -> Explanation:
    bound = bind(parse_predicate(predicate), Scope(SCHEMA, here(zone)))
    named = [NamedEvidence(name, StatisticsEvidence(source)) for name, source in sources]
    return explain(bound, named, LISTING, SLICE_ROWS)


STATS = ("column_stats", RowStatistics(ROWS, absent=frozenset({"p"})))
VALUES = ("partition values", RowStatistics(ROWS, absent=frozenset({"x", "s", "at"})))


def test_each_node_and_index_has_its_files_and_bytes() -> None:
    found = explained("x = 15 AND p = 'b'", STATS, VALUES)
    assert (found.excluded, found.excluded_bytes) == (4, 1111)
    by_x, by_p = found.children
    assert (by_x.excluded, by_x.excluded_bytes) == (3, 1101)
    assert [(a.index, a.files, a.bytes) for a in by_x.answers] == [
        ("column_stats", 3, 1101),
        ("partition values", 0, 0),
    ]
    assert [(a.index, a.files) for a in by_p.answers] == [
        ("column_stats", 0),
        ("partition values", 4),
    ]
    assert by_p.answers[0].reason == "has no column p"
    assert by_x.seconds > 0


def test_parts_of_and_are_reached_by_what_the_ones_before_leave() -> None:
    found = explained("x >= 10 AND x < 25 AND s <> 'name_9'", STATS)
    assert found.connective == "AND"
    assert [(each.reached, each.left) for each in found.children] == [(4, 3), (3, 2), (2, 2)]
    assert (found.reached, found.left) == (4, 2)


def test_each_part_of_or_is_reached_by_all() -> None:
    found = explained("x >= 10 AND (x = 15 OR x = 35 OR x = 99)", STATS)
    either = found.children[1]
    assert either.connective == "OR"
    assert [(each.reached, each.left) for each in either.children] == [(3, 1), (3, 1), (3, 0)]
    assert (either.reached, either.left) == (3, 2)


def test_below_not_an_or_becomes_an_and() -> None:
    found = explained("NOT (x < 10 OR x >= 30)", STATS)
    assert (found.connective, found.negated) == ("AND", True)
    assert [(each.reached, each.left) for each in found.children] == [(4, 3), (3, 2)]


def test_rows_are_counted_if_known() -> None:
    assert explained("x > 1000", STATS).excluded_rows is None
    found = explained("x >= 30", STATS)
    assert found.excluded_rows == 222
    assert "222 rows" in found.text()


def test_below_not_the_opposite_truth_is_explained() -> None:
    found = explained("NOT (x >= 10)", STATS)
    assert found.negated
    assert found.excluded == 3
    assert found.text().startswith("NOT x >= 10: excludes 3 of 4 files")


def test_reasons_name_unsupported_parts() -> None:
    assert "RLIKE" in (explained("s RLIKE '(?i)x'", STATS).reason or "")
    assert explained("s RLIKE 'x'", STATS).text().startswith("s RLIKE 'x': excludes 4 of 4 files")
    assert "unknown zone" in (explained("hour(at) = 5", STATS).reason or "")
    assert explained("hour(at) = 5", STATS, zone="UTC").excluded == 4
    assert explained("length(s) = 7", STATS).excluded == 4
    assert "initcap" in (explained("initcap(s) = 'X'", STATS).reason or "")
    admitted = "no index that was asked excludes a file"
    assert explained("x > -1", STATS).reason == admitted
    assert explained("x = 1").reason == "there is no index"
    assert explained("p = 'a'", STATS).reason == "no index has its columns"
    assert "no column" in (explained("y = 1", STATS).reason or "")
    assert "against" in (explained("x = DATE '2020-01-01'", STATS).reason or "")
    doubted = RowStatistics(ROWS, given={("x", 1): NOTHING, ("x", 2): NOTHING})
    found = explained("x = 1", ("column_stats", doubted))
    assert found.answers[0].reason == "no bounds of x were read for 2 files"
    assert found.excluded == 1


def test_a_contradiction_is_no_merit_of_an_index() -> None:
    found = explained("x = 1 AND x = 2", STATS)
    assert (found.excluded, found.answers, found.reason) == (4, (), "no row can match it")
    assert [part.predicate for part in found.children] == ["x = 1", "x = 2"]
    assert {part.reason for part in found.children} == {"no index was asked"}
    within = explained("x >= 30 OR (x = 1 AND x = 2)", STATS)
    assert [part.reason for part in within.children] == [None, "no row can match it"]
    assert within.children[1].children[0].answers[0].files == 3
    assert explained("x = NULL", STATS).reason == "no row can match it"
    assert explained("NOT (x = x OR true)", STATS).excluded == 4


def test_text_and_json_hold_the_whole_tree() -> None:
    found = explained("x = 15 AND (s = 'name_1' OR length(s) = 4) AND p = 'a'", STATS)
    lines = found.text().splitlines()
    assert lines[0].startswith("x = 15 AND (s = 'name_1' OR length(s) = 4) AND p = 'a'")
    assert "    column_stats: has no column p" in [line[2:] for line in lines]
    tree = json.loads(json.dumps(found.as_dict()))
    assert tree["children"][1]["children"][0]["predicate"] == "s = 'name_1'"
    assert tree["children"][0]["answers"][0]["files"] == 3
