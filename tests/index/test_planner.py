"""Which sources are used, for which leaves, and when a look-up is worth its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import columns
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.render import render
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.lookups import LookupEvidence
from pyhudi_expr.index.planner import (
    Answer,
    CostedSource,
    LookupCost,
    Question,
    StillReadingError,
    gather,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.properties import SliceMerging


@pytest.fixture(scope="module")
def table(golden: Mapping[str, Path]) -> HudiTable:
    """Five slices of one file each, in three partitions."""
    return HudiTable.open(str(golden["cow_v9_txns_simple_meta"]))


def question(table: HudiTable, text: str) -> Question:
    predicate = bind(parse_predicate(text), Scope(table.schema(), here("UTC")))
    listing = table.listing()
    return Question(
        predicate=predicate,
        columns=list(columns(predicate).values()),
        listing=listing,
        merging=SliceMerging.WHOLE_RECORDS,
        partitions=np.ones(len(listing.partitions), np.bool_),
        footer_wait=0,
        footers=np.zeros(listing.num_files, np.bool_),
    )


@dataclass
class FirstLeafSource:
    """A source that knows in which slices the first leaf may be TRUE."""

    slices: list[bool]
    name: str = "first"
    received: Question | None = None

    def answer(self, question: Question) -> Answer | None:
        self.received = question
        answers = LookupEvidence(question.listing)
        answers.add(question.positive_leaves[0], np.array(self.slices))
        return Answer(answers)


@dataclass
class FailingSource:
    """A source that fails."""

    error: Exception
    name: str = "failing"

    def answer(self, question: Question) -> Answer | None:
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
def test_positive_leaves_of_a_predicate(
    table: HudiTable, text: str, leaves: list[str | None]
) -> None:
    found = [render(leaf) for leaf in question(table, text).positive_leaves]
    assert len(found) == len(leaves)
    for one, expected in zip(found, leaves, strict=True):
        assert expected is None or one == expected


def test_a_source_sees_only_the_slices_that_earlier_ones_kept(table: HudiTable) -> None:
    first = FirstLeafSource([True, False, True, False, False])
    second = FirstLeafSource([True] * 5, "second")
    found = gather([first, second], question(table, "txn_id = 'a'"))
    assert [answer.name for answer in found.answers] == ["first", "second"]
    assert first.received is not None
    assert first.received.slices.all()
    assert second.received is not None
    assert second.received.slices.tolist() == [True, False, True, False, False]
    assert found.notes == ()


def test_slices_of_excluded_partitions_are_left_out(table: HudiTable) -> None:
    restricted = question(table, "txn_id = 'a'")
    restricted.partitions[0] = False
    assert restricted.slices.tolist() == (restricted.listing.slice_partition != 0).tolist()


def test_sources_that_cannot_answer_are_noted(table: HudiTable) -> None:
    sources = [
        FailingSource(HudiError("t/x: it is damaged")),
        FailingSource(StillReadingError(), "slow"),
        FirstLeafSource([True] * 5),
    ]
    found = gather(sources, question(table, "txn_id = 'a'"))
    assert [answer.name for answer in found.answers] == ["first"]
    damaged, uncounted = found.notes
    assert damaged == "failing cannot be read: t/x: it is damaged"
    assert uncounted.startswith("slow is not used yet: it has no certificate")


@dataclass
class PricedSource(FirstLeafSource, CostedSource):
    """A source with a cost: it reads this many bytes."""

    read_bytes: int = 0
    rows: float = 1.0

    def estimate_cost(self, question: Question) -> LookupCost | None:
        return LookupCost(self.read_bytes, self.rows)


def used_sources(table: HudiTable, *sources: FirstLeafSource | FailingSource) -> list[str]:
    """The names of the sources that are used, in their order."""
    return [one.name for one in gather(sources, question(table, "txn_id = 'a'")).answers]


ONE, TWO = [False, True, False, False, False], [False, True, True, False, False]


def test_a_look_up_runs_if_it_saves_more_than_it_costs(table: HudiTable) -> None:
    everything = int(question(table, "txn_id = 'a'").listing.file_size.sum())
    # One row in five slices: four fifths need not be read.
    assert used_sources(table, PricedSource(ONE, "keys", read_bytes=everything * 4 // 5 - 1)) == [
        "keys"
    ]
    assert used_sources(table, PricedSource(ONE, "keys", read_bytes=everything * 4 // 5 + 1)) == []
    # Many rows lie in every slice; a source in memory is used all the same.
    assert used_sources(table, PricedSource(ONE, "keys", read_bytes=1000, rows=100)) == []
    assert used_sources(table, PricedSource(ONE, "keys", read_bytes=0, rows=100)) == ["keys"]


def test_a_look_up_that_does_not_pay_off_is_named(table: HudiTable) -> None:
    dear = PricedSource(ONE, "dear", read_bytes=9_000_000)
    found = gather([dear], question(table, "txn_id = 'a'"))
    assert [one.name for one in found.unasked] == ["dear"]
    assert found.unasked[0].reason.startswith("it would read 9.00 MB, more than it would save of")
    nothing = FirstLeafSource([False] * 5, "bounds")
    found = gather([nothing, dear], question(table, "txn_id = 'a'"))
    assert found.unasked[0].reason == "no file is left that it could skip"
    cheap = PricedSource(ONE, "cheap", read_bytes=100)
    assert gather([cheap], question(table, "txn_id = 'a'")).unasked == ()


def test_an_index_that_cannot_judge_its_column_is_named(table: HudiTable) -> None:
    class OfValues(PricedSource):
        def estimate_cost(self, question: Question) -> LookupCost | None:
            return None

        def is_about(self, question: Question) -> bool:
            return any(column.name == "txn_id" for column in question.columns)

    index = OfValues(ONE, "values")
    found = gather([index], question(table, "txn_id > 'a'"))
    assert [(one.name, one.cost) for one in found.unasked] == [("values", None)]
    assert "only finds values" in found.unasked[0].reason
    assert gather([index], question(table, "region > 'a'")).unasked == ()


def test_the_cheapest_look_up_runs_first_and_may_make_others_unnecessary(table: HudiTable) -> None:
    dear, cheap = (
        PricedSource(ONE, "dear", read_bytes=9_000),
        PricedSource(TWO, "cheap", read_bytes=100),
    )
    assert used_sources(table, dear, cheap) == ["cheap", "dear"]
    cheap = PricedSource(ONE, "cheap", read_bytes=100)
    assert used_sources(table, dear, cheap) == ["cheap"]
    # A source that finds one row is used before one that finds fifty, though it reads more.
    many = PricedSource(TWO, "many", read_bytes=50, rows=50)
    assert used_sources(table, many, cheap) == ["cheap"]


def test_bounds_in_memory_are_used_before_look_ups(table: HudiTable) -> None:
    keys, bounds = PricedSource(ONE, "keys", read_bytes=1), FirstLeafSource(ONE, "bounds")
    assert used_sources(table, keys, bounds) == ["bounds"]
    assert keys.received is None


def test_an_index_read_by_one_source_lowers_the_cost_of_another(table: HudiTable) -> None:
    class AfterKeys(PricedSource):
        def estimate_cost(self, question: Question) -> LookupCost | None:
            return LookupCost(0 if keys.received else 10**9, 1)

    keys, values = PricedSource(TWO, "keys", read_bytes=100), AfterKeys(ONE, "values")
    assert used_sources(table, values, keys) == ["keys", "values"]


def test_an_index_whose_cost_cannot_be_read_is_noted(table: HudiTable) -> None:
    class Damaged(FailingSource, CostedSource):
        def estimate_cost(self, question: Question) -> LookupCost | None:
            raise self.error

    sources = [Damaged(HudiError("t/x: it is damaged")), PricedSource(ONE, "keys", read_bytes=1)]
    found = gather(sources, question(table, "txn_id = 'a'"))
    assert [one.name for one in found.answers] == ["keys"]
    assert found.notes == ("failing cannot be read: t/x: it is damaged",)
