"""Which sources are asked, about which leaves, and when a look-up is worth its reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import columns
from pyhudi_expr.expr.evaluate import Evidence
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.expr.text import render
from pyhudi_expr.frontend.sql import parse_predicate
from pyhudi_expr.index.leaf_answers import LeafAnswers
from pyhudi_expr.index.merging import Merging
from pyhudi_expr.index.planner import Question, StillReadingError, gather, is_worth
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable


@pytest.fixture(scope="module")
def table(golden: Mapping[str, Path]) -> HudiTable:
    """Five slices of one file each, in three partitions."""
    return HudiTable.open(str(golden["cow_v9_txns_simple_meta"]))


def question(table: HudiTable, text: str) -> Question:
    predicate = bind(parse_predicate(text), Scope(table.schema(), "UTC"))
    listing = table.listing()
    return Question(
        predicate=predicate,
        columns=list(columns(predicate).values()),
        listing=listing,
        merging=Merging.WHOLE_RECORDS,
        partitions=np.ones(len(listing.partitions), np.bool_),
        footer_wait=0,
    )


@dataclass
class OfFirstLeaf:
    """A source that knows which slices the first leaf may be TRUE in."""

    slices: list[bool]
    name: str = "first"
    asked: Question | None = None

    def answer(self, question: Question) -> Evidence | None:
        self.asked = question
        answers = LeafAnswers(question.listing)
        answers.add(question.positive_leaves[0], np.array(self.slices))
        return answers


@dataclass
class Failing:
    """A source that cannot answer."""

    error: Exception
    name: str = "failing"

    def answer(self, question: Question) -> Evidence | None:
        raise self.error


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("txn_id = 'a'", ["txn_id = 'a'"]),
        ("NOT (txn_id = 'a')", []),
        ("NOT (txn_id = 'a' OR NOT (region = 'b'))", ["region = 'b'"]),
        ("txn_id = 'a' OR (region = 'b' AND amount > 1)", ["txn_id = 'a'", "region = 'b'", None]),
    ],
)
def test_leaves_that_are_asked_for_true(
    table: HudiTable, text: str, leaves: list[str | None]
) -> None:
    found = [render(leaf) for leaf in question(table, text).positive_leaves]
    assert len(found) == len(leaves)
    for one, expected in zip(found, leaves, strict=True):
        assert expected is None or one == expected


def test_a_source_sees_what_those_before_it_left(table: HudiTable) -> None:
    first = OfFirstLeaf([True, False, True, False, False])
    second = OfFirstLeaf([True] * 5, "second")
    notes: list[str] = []
    evidence = gather([first, second], question(table, "txn_id = 'a'"), notes)
    assert [source.name for source in evidence] == ["first", "second"]
    assert first.asked is not None
    assert first.asked.slices.all()
    assert second.asked is not None
    assert second.asked.slices.tolist() == [True, False, True, False, False]
    assert notes == []


def test_excluded_partitions_are_left_out(table: HudiTable) -> None:
    asked = question(table, "txn_id = 'a'")
    asked.partitions[0] = False
    assert asked.slices.tolist() == (asked.listing.slice_partition != 0).tolist()


def test_sources_that_cannot_answer_are_noted(table: HudiTable) -> None:
    notes: list[str] = []
    sources = [
        Failing(HudiError("t/x: it is damaged")),
        Failing(StillReadingError(), "slow"),
        OfFirstLeaf([True] * 5),
    ]
    evidence = gather(sources, question(table, "txn_id = 'a'"), notes)
    assert [source.name for source in evidence] == ["first"]
    assert notes == ["failing cannot be read: t/x: it is damaged", "slow is still being read"]


def test_what_is_worth_a_look_up(table: HudiTable) -> None:
    asked = question(table, "txn_id = 'a'")
    everything = int(asked.listing.file_size.sum())
    assert is_worth(asked, 0)
    assert is_worth(asked, everything)
    assert not is_worth(asked, everything + 1)


def test_one_slice_is_read_rather_than_looked_up(table: HudiTable) -> None:
    source = OfFirstLeaf([False, True, False, False, False])
    evidence = gather([source], question(table, "txn_id = 'a'"), [])
    assert source.asked is not None
    left = replace(source.asked, answers=tuple(evidence))
    assert not is_worth(left, 1)
    assert is_worth(left, 0)
