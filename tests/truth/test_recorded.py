"""What Trino and Presto said of random predicates: no rule contradicts it."""

from __future__ import annotations

import random

import pytest

from pyhudi_expr.expr.nodes import Call, walk
from tests.truth.files import SortedRows
from tests.truth.recorded import FILES, recorded, recorded_rows
from tests.truth.soundness import Tally
from tests.truth.templates import PRESTO, TRINO
from tests.truth.test_rules import VOCABULARIES, called

#: Files of any rows for each predicate, beside those around the rows that it finds.
DRAWN = 5


@pytest.mark.parametrize("dialect", [TRINO, PRESTO])
def test_no_file_is_dropped_that_has_a_row(dialect: str) -> None:
    rows, tally, chance = recorded_rows(), Tally(), random.Random(dialect)
    shelf = SortedRows(rows)
    names: set[str] = set()
    for hearing in recorded(dialect):
        columns = hearing.columns(rows.schema.names)
        around = [hearing.rows(truth) for truth in (True, False, None)]
        tally.add(hearing, shelf.files(columns, around, DRAWN, chance.getrandbits(32)))
        nodes = walk(hearing.readings["sql"])
        names |= called(hearing.text) | {node.name for node in nodes if isinstance(node, Call)}
    assert tally.lost == 0, "\n".join(map(str, tally.losses.values()))
    assert tally.cases > 50_000
    assert VOCABULARIES[dialect] - names == {"current_date"}  # of the day of the record


def test_the_records_are_small() -> None:
    assert sum(file.stat().st_size for file in FILES.iterdir()) < 300_000
