"""The harness finds what is lost, and says the shortest of it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from pyhudi_expr.expr.nodes import NEVER, Column, Comparison, HudiExpression, Literal, Op
from tests.truth import values
from tests.truth.engine import Circumstances
from tests.truth.files import Files, SortedRows, Told
from tests.truth.soundness import Hearing, Tally

IS_ONE = Comparison(Op.EQ, Column(("i4",)), Literal(1, pa.int32()))


@pytest.fixture(scope="module")
def files() -> Files:
    return SortedRows(values.rows(200, 1)).files(["i4", "i8", "s"], [range(9)], 88, 2)


def heard(text: str, files: Files, reading: HudiExpression, *rows: int) -> Hearing:
    """An engine that finds just these rows, and does not say what the others are."""
    truths = pa.array([True if row in rows else None for row in range(len(files.rows))], pa.bool_())
    about = ("spark", text, "i4", Circumstances(), {"spark": truths}, {"sql": reading})
    return Hearing(*about, true_only=frozenset({"spark"}))


def test_a_file_with_a_row_that_is_dropped_is_lost(files: Files) -> None:
    tally = Tally()
    row = files.members[0][0]
    tally.add(heard("long text", files, NEVER, row), files)
    tally.add(heard("text", files, NEVER, row), files)
    holding = sum(row in members for members in files.members)
    assert (tally.cases, tally.lost) == (200, 2 * holding)
    (loss,) = tally.losses.values()
    assert loss.hearing.text == "text"
    assert "LOST spark by sql (spark): text\n  is TRUE for" in str(loss)


def test_a_row_that_gives_null_is_lost_by_a_rule_that_excludes_it(files: Files) -> None:
    tally = Tally()
    hearing = heard("nothing", files, NEVER)
    tally.add(hearing, files)
    assert tally.lost == 0
    tally.add(replace(hearing, true_only=frozenset()), files)
    assert tally.lost == len(files.members)
    assert "is NULL for" in str(*tally.losses.values())


def test_files_hold_the_rows_they_are_made_around() -> None:
    rows = SortedRows(values.rows(200, 1))
    files = rows.files(["i4"], [[7], [], [9]], drawn=3, seed=2)
    around_seven, around_nine = files.members[3:15], files.members[15:]
    assert len(around_seven) == len(around_nine) == 12
    assert all(7 in members for members in around_seven)
    assert all(9 in members for members in around_nine)


def test_what_the_rules_keep_is_not_lost(files: Files) -> None:
    tally = Tally()
    ones = [row for row, value in enumerate(files.rows["i4"].to_pylist()) if value == 1]
    tally.add(heard("i4 = 1", files, IS_ONE, *ones), files)
    assert tally.lost == 0
    assert next(iter(tally.looseness())).endswith("i4")


def test_bounds_hold_the_values_of_their_files(files: Files) -> None:
    assert {told for column in files.told.values() for told in column} == set(Told)
    bounds = files.known["i8"]
    for members, low, high in zip(files.members, bounds.lower, bounds.upper, strict=True):  # type: ignore[arg-type]
        for value in files.rows["i8"].take(list(members)).drop_null().to_pylist():
            assert low <= value <= high
