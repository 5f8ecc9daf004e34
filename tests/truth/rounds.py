"""Rounds of random cases: each has other rows, files and predicates, by its seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count

from tests.truth import values
from tests.truth.files import SortedRows
from tests.truth.soundness import Tally
from tests.truth.witnesses import witnesses

_ROWS, _DRAWN = 300, 20


def heard(seed: str, cases: int, dialects: Sequence[str]) -> Tally:
    """What so many cases come to."""
    tally = Tally()
    with witnesses(dialects) as engines:
        for number in count():
            for dialect, witness in engines.items():
                if tally.cases >= cases:
                    return tally
                chance = random.Random(f"{seed}/{number}/{dialect}")
                rows = values.rows(_ROWS, chance.getrandbits(32))
                shelf = SortedRows(rows)
                zone = chance.choice(values.ZONES)
                circumstances = witness.circumstances(chance, zone)
                for hearing in witness.hear(rows, circumstances, chance):
                    names = hearing.columns(rows.schema.names)
                    around = [hearing.rows(True), hearing.rows(False)]
                    tally.add(hearing, shelf.files(names, around, _DRAWN, chance.getrandbits(32)))
    return tally
