"""What Trino and Presto said of random predicates, on file, so that tests need neither of them.

    make truth-records      # asks the engines anew, and writes tests/data/truths

`tests/truth/test_recorded.py` replays it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.expr.nodes import Unknown
from tests.truth import values
from tests.truth.engine import Circumstances
from tests.truth.engines.java_judge import answer_of
from tests.truth.predicates import Predicate
from tests.truth.soundness import Hearing
from tests.truth.trino_witness import ENGINES, JavaWitness, hearing, java_witness

FILES = Path(__file__).parents[1] / "data" / "truths"
_ROWS, _PER_ROUND = 150, 150
_LETTERS = {True: "t", False: "f", None: "n"}


def recorded_rows() -> pa.Table:
    """The rows that the predicates are of."""
    return pq.read_table(FILES / "rows.parquet")


def recorded(dialect: str) -> Iterator[Hearing]:
    """What the engine said, and what our rules are now."""
    for one in pq.read_table(_file(dialect)).to_pylist():
        circumstances = Circumstances(one["zone"], json.loads(one["settings"]))
        predicate = Predicate(one["text"], one["source"])
        yield hearing(dialect, predicate, circumstances, answer_of(one["truths"]))


def record(dialects: Sequence[str], predicates: int, seed: str) -> None:
    """Ask the engines, of so many predicates each, and write down what they say."""
    rows = values.rows(_ROWS, random.Random(seed).getrandbits(32))
    pq.write_table(rows, FILES / "rows.parquet", compression="zstd")
    for dialect in dialects:
        with java_witness(ENGINES[dialect]) as witness:
            heard = list(_heard(witness, rows, predicates, f"{seed}/{dialect}"))
        _write(heard, dialect)
        print(f"{dialect}: {len(heard)} predicates, {_file(dialect).stat().st_size} bytes")


def _heard(witness: JavaWitness, rows: pa.Table, wanted: int, seed: str) -> Iterator[Hearing]:
    """Predicates that our rules judge, some of each round."""
    found = 0
    for number in count():
        chance = random.Random(f"{seed}/{number}")
        zone = values.ZONES[number % len(values.ZONES)]
        heard = list(witness.hear(rows, witness.circumstances(chance, zone), chance))
        judged = [one for one in heard if not isinstance(one.readings["sql"], Unknown)]
        judged = [one for one in judged if "current_date" not in one.text]  # true of one day alone
        for one in chance.sample(judged, min(_PER_ROUND, len(judged), wanted - found)):
            found += 1
            yield one
        if found == wanted:
            return


def _write(heard: Sequence[Hearing], dialect: str) -> None:
    columns = {
        "text": [one.text for one in heard],
        "source": [one.source for one in heard],
        "zone": [one.circumstances.zone for one in heard],
        "settings": [json.dumps(one.circumstances.settings) for one in heard],
        "truths": [_letters(one) for one in heard],
    }
    order = np.lexsort([columns["text"], columns["source"]])  # alike beside alike: fewer bytes
    table = pa.table(columns).take(order)
    pq.write_table(table, _file(dialect), compression="zstd", compression_level=19)


def _letters(one: Hearing) -> str:
    (truths,) = one.truths.values()
    letters = [_LETTERS[truth] for truth in truths.to_pylist()]
    for row in one.failed:
        letters[row] = "!"
    return "".join(letters)


def _file(dialect: str) -> Path:
    return FILES / f"{dialect}.parquet"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--predicates", type=int, default=1500)
    parser.add_argument("--seed", default="1")
    given = parser.parse_args()
    record(list(ENGINES), given.predicates, given.seed)
