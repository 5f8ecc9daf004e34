"""Rounds of random cases: each has other rows, files and predicates, by its seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from tests.truth import values
from tests.truth.files import SortedRows
from tests.truth.soundness import Tally
from tests.truth.witnesses import Witness, witnesses

_ROWS, _DRAWN = 300, 15


def heard(seed: str, cases: int, dialects: Sequence[str]) -> Tally:
    """What so many cases come to."""
    total = Tally()
    with witnesses(dialects) as engines:
        for tally in rounds(seed, engines):
            total.merge(tally)
            if total.cases >= cases:
                return total
    raise AssertionError("rounds do not end")


def rounds(seed: str, engines: Mapping[str, Witness]) -> Iterator[Tally]:
    """What each round comes to, without end; the engines take turns."""
    for number in count():
        for dialect, witness in engines.items():
            tally = Tally()
            chance = random.Random(f"{seed}/{number}/{dialect}")
            rows = values.rows(_ROWS, chance.getrandbits(32))
            circumstances = witness.circumstances(chance, chance.choice(values.ZONES))
            shelf = SortedRows(rows)
            for hearing in witness.hear(rows, circumstances, chance):
                names = hearing.columns(rows.schema.names)
                around = [hearing.rows(truth) for truth in (True, False, None)]
                tally.add(hearing, shelf.files(names, around, _DRAWN, chance.getrandbits(32)))
            yield tally
