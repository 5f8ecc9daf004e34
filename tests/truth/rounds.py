"""Rounds of random cases: each has other rows, files and predicates, by its seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count

from tests.truth import values
from tests.truth.files import files_of
from tests.truth.soundness import Tally
from tests.truth.templates import HIVE, SPARK
from tests.truth.witnesses import witnesses

DIALECTS = (SPARK, HIVE)
_ROWS, _FILES = 300, 50


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
                files = files_of(rows, _FILES, chance.getrandbits(32))
                zone = chance.choice(values.ZONES)
                circumstances = witness.circumstances(chance, zone)
                for hearing in witness.hear(rows, circumstances, chance):
                    tally.add(hearing, files)
    return tally
