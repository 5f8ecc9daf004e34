"""Rounds of random cases. The seed determines each round's rows, files and predicates."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.truth import values
from tests.truth.files import SortedRows
from tests.truth.served import Service, running_service
from tests.truth.soundness import Tally
from tests.truth.templates import HIVE
from tests.truth.witnesses import Oracle, running_oracles

_ROWS, _RANDOM_FILES = 300, 15
_SERVED_FILES = 60


def run_cases(seed: str, cases: int, dialects: Sequence[str]) -> Tally:
    """Runs at least this many cases, with a service of several workers where it is asked."""
    total = Tally()
    with (
        running_oracles(dialects) as engines,
        TemporaryDirectory() as directory,
        running_service(Path(directory)) as service,
    ):
        for tally in rounds(seed, engines, service):
            total.merge(tally)
            if total.cases >= cases:
                return total
    raise AssertionError("rounds do not end")


def rounds(
    seed: str, engines: Mapping[str, Oracle], service: Service | None = None
) -> Iterator[Tally]:
    """Yields the results of each round, endlessly. The engines take turns.

    What Hive evaluates is asked of a service as well: its questions have Hive's meaning.
    """
    for number in count():
        for dialect, oracle in engines.items():
            tally = Tally()
            rng = random.Random(f"{seed}/{number}/{dialect}")
            rows = values.rows(_ROWS, rng.getrandbits(32))
            session_options = oracle.session_options(rng, rng.choice(values.ZONES))
            sorted_rows = SortedRows(rows)
            predicates = list(oracle.evaluate_random(rows, session_options, rng))
            for evaluated in predicates:
                names = evaluated.columns(rows.schema.names)
                around = [evaluated.rows(truth) for truth in (True, False, None)]
                tally.add(
                    evaluated, sorted_rows.files(names, around, _RANDOM_FILES, rng.getrandbits(32))
                )
            if service is not None and dialect == HIVE:
                names = rows.schema.names
                files = sorted_rows.files(names, [], _SERVED_FILES, rng.getrandbits(32))
                service.check(tally, predicates, files)
            yield tally
