"""Rounds of random cases. The seed determines each round's rows, files and predicates."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from tests.truth import values
from tests.truth.files import SortedRows
from tests.truth.soundness import Tally
from tests.truth.witnesses import Oracle, running_oracles

_ROWS, _RANDOM_FILES = 300, 15


def run_cases(seed: str, cases: int, dialects: Sequence[str]) -> Tally:
    """Runs at least this many cases."""
    total = Tally()
    with running_oracles(dialects) as engines:
        for tally in rounds(seed, engines):
            total.merge(tally)
            if total.cases >= cases:
                return total
    raise AssertionError("rounds do not end")


def rounds(seed: str, engines: Mapping[str, Oracle]) -> Iterator[Tally]:
    """Yields the results of each round, endlessly. The engines take turns."""
    for number in count():
        for dialect, oracle in engines.items():
            tally = Tally()
            rng = random.Random(f"{seed}/{number}/{dialect}")
            rows = values.rows(_ROWS, rng.getrandbits(32))
            session_options = oracle.session_options(rng, rng.choice(values.ZONES))
            sorted_rows = SortedRows(rows)
            for evaluated in oracle.evaluate_random(rows, session_options, rng):
                names = evaluated.columns(rows.schema.names)
                around = [evaluated.rows(truth) for truth in (True, False, None)]
                tally.add(
                    evaluated, sorted_rows.files(names, around, _RANDOM_FILES, rng.getrandbits(32))
                )
            yield tally
