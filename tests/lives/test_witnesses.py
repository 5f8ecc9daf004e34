"""What harms a table is seen."""

from __future__ import annotations

from random import Random

import pytest

from tests.lives import living
from tests.lives.life import Life
from tests.lives.living import Place, replayed
from tests.lives.operations.operation import Operation, Owner
from tests.lives.shapes import Shape, Step

pytestmark = [pytest.mark.spark, pytest.mark.long]


def lose_a_row(life: Life, _random: Random) -> None:
    life.write(life.model.rows("id = 3"), "delete", life.sessions.plain)


def delete_an_index(life: Life, _random: Random) -> None:
    more = {"hoodie__metadata__index__column__stats__enable": "false"}
    rows = life.model.drawn(Random(1), [3])
    life.write(rows, "upsert", life.sessions.plain, **more)
    life.model.put(rows)


@pytest.mark.timeout(0)
def test_what_harms_a_table_is_seen(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation does something that the model of the rows does not know of."""
    harmful = {"spark": lose_a_row, "index": delete_an_index}
    operations = {witness: Operation(witness, Owner.OURS, run) for witness, run in harmful.items()}
    monkeypatch.setattr(living, "OPERATIONS", operations)
    for witness in harmful:
        lived = place.live(Shape(is_partitioned=False), replayed([Step(witness, 1)]))
        assert lived.ending == witness, lived
