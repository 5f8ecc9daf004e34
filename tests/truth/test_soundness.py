"""The harness finds a loss, and reports its shortest reproducer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.expr.nodes import NEVER, Column, Comparison, HudiExpression, Literal, Op
from pyhudi_expr.expr.semantics import here
from tests.truth import values
from tests.truth.engine import SessionOptions
from tests.truth.files import BoundKind, Files, SortedRows
from tests.truth.soundness import EvaluatedPredicate, Question, Tally

IS_ONE = Comparison(Op.EQ, Column(("i4",)), Literal(1, pa.int32()))


@pytest.fixture(scope="module")
def files() -> Files:
    return SortedRows(values.rows(200, 1)).files(["i4", "i8", "s"], [range(9)], 88, 2)


def evaluated_as_true(
    text: str, files: Files, expression: HudiExpression, *rows: int
) -> EvaluatedPredicate:
    """The results of an engine that reports these rows as TRUE, and nothing about the others."""
    truths = pa.array([True if row in rows else None for row in range(len(files.rows))], pa.bool_())
    parts = ("spark", text, "i4", SessionOptions(), {"spark": truths})
    questions = {"sql": Question(expression, here("UTC"))}
    return EvaluatedPredicate(*parts, questions, true_only=frozenset({"spark"}))


def test_a_dropped_file_with_a_matching_row_counts_as_lost(files: Files) -> None:
    tally = Tally()
    row = files.members[0][0]
    tally.add(evaluated_as_true("long text", files, NEVER, row), files)
    tally.add(evaluated_as_true("text", files, NEVER, row), files)
    holding = sum(row in members for members in files.members)
    assert (tally.cases, tally.lost) == (200, 2 * (holding + 1))  # and the row alone
    (loss,) = tally.losses.values()
    assert loss.evaluated.text == "text"
    assert "LOST spark by sql (spark): text\n  is TRUE for" in str(loss)


def test_a_file_that_a_service_drops_counts_as_lost_if_it_has_a_matching_row(files: Files) -> None:
    evaluated = evaluated_as_true("text", files, IS_ONE, files.members[0][0])
    one = replace(files, members=files.members[:1])
    kept, dropped = Tally(), Tally()
    kept.add_kept(evaluated, one, "sql", "by others", np.array([True]))
    dropped.add_kept(evaluated, one, "sql", "by others", np.array([False]))
    assert [(tally.cases, tally.lost) for tally in (kept, dropped)] == [(1, 0), (1, 1)]


def test_a_null_row_is_lost_if_a_rule_excludes_null(files: Files) -> None:
    tally = Tally()
    evaluated = evaluated_as_true("nothing", files, NEVER)
    tally.add(evaluated, files)
    assert tally.lost == 0
    tally.add(replace(evaluated, true_only=frozenset()), files)
    assert tally.lost == len(files.members) + len(files.rows)
    assert "is NULL for" in str(*tally.losses.values())


def test_files_contain_the_rows_they_are_built_around() -> None:
    rows = SortedRows(values.rows(200, 1))
    files = rows.files(["i4"], [[7], [], [9]], random_files=3, seed=2)
    around_seven, around_nine = files.members[3:15], files.members[15:]
    assert len(around_seven) == len(around_nine) == 12
    assert all(7 in members for members in around_seven)
    assert all(9 in members for members in around_nine)


def test_kept_files_are_not_lost(files: Files) -> None:
    tally = Tally()
    ones = [row for row, value in enumerate(files.rows["i4"].to_pylist()) if value == 1]
    tally.add(evaluated_as_true("i4 = 1", files, IS_ONE, *ones), files)
    assert tally.lost == 0
    assert next(iter(tally.looseness())).endswith("i4")


def test_bounds_contain_the_values_of_their_files(files: Files) -> None:
    assert {kind for column in files.bound_kinds.values() for kind in column} == set(BoundKind)
    bounds = files.known["i8"]
    for members, low, high in zip(files.members, bounds.lower, bounds.upper, strict=True):
        for value in files.rows["i8"].take(list(members)).drop_null().to_pylist():
            assert low <= value <= high
