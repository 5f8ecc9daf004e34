"""No rule contradicts the recorded results of Trino and Presto for random predicates."""

from __future__ import annotations

import random

import pytest

from pyhudi_expr.expr.nodes import Call, walk
from tests.truth.files import SortedRows
from tests.truth.recorded import FILES, recorded, recorded_rows
from tests.truth.soundness import Tally
from tests.truth.templates import PRESTO, TRINO
from tests.truth.test_rules import VOCABULARIES, called

#: The number of random files for each predicate, besides those around the rows that it finds.
DRAWN = 5


@pytest.mark.parametrize("dialect", [TRINO, PRESTO])
def test_no_file_with_a_matching_row_is_dropped(dialect: str) -> None:
    rows, tally, rng = recorded_rows(), Tally(), random.Random(dialect)
    sorted_rows = SortedRows(rows)
    names: set[str] = set()
    for evaluated in recorded(dialect):
        columns = evaluated.columns(rows.schema.names)
        around = [evaluated.rows(truth) for truth in (True, False, None)]
        tally.add(evaluated, sorted_rows.files(columns, around, DRAWN, rng.getrandbits(32)))
        nodes = walk(evaluated.questions["sql"].expression)
        names |= called(evaluated.text) | {node.name for node in nodes if isinstance(node, Call)}
    assert tally.lost == 0, "\n".join(map(str, tally.losses.values()))
    assert tally.cases > 50_000
    assert VOCABULARIES[dialect] - names == {"current_date"}  # the day of recording


def test_the_records_are_small() -> None:
    assert sum(file.stat().st_size for file in FILES.iterdir()) < 300_000
