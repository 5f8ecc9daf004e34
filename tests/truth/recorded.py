"""Recorded results of Trino and Presto for random predicates, so that tests need neither engine.

    make truth-records      # runs the engines, and writes tests/data/truths

`tests/truth/test_recorded.py` replays them.
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
from tests.truth.engine import SessionOptions
from tests.truth.engines.java_judge import answer_of
from tests.truth.predicates import Predicate
from tests.truth.soundness import EvaluatedPredicate
from tests.truth.trino_witness import ENGINES, JavaOracle, evaluated_predicate, running_java_oracle

FILES = Path(__file__).parents[1] / "data" / "truths"
_ROWS, _PER_ROUND = 150, 150
_LETTERS = {True: "t", False: "f", None: "n"}


def recorded_rows() -> pa.Table:
    """The rows that the predicates are evaluated over."""
    return pq.read_table(FILES / "rows.parquet")


def recorded(dialect: str) -> Iterator[EvaluatedPredicate]:
    """Reads the engine's results. The predicates are parsed anew, by the current front end."""
    for one in pq.read_table(_file(dialect)).to_pylist():
        session_options = SessionOptions(one["zone"], json.loads(one["settings"]))
        predicate = Predicate(one["text"], one["source"])
        yield evaluated_predicate(dialect, predicate, session_options, answer_of(one["truths"]))


def record(dialects: Sequence[str], predicates: int, seed: str) -> None:
    """Runs the engines with this many predicates each, and writes their results."""
    rows = values.rows(_ROWS, random.Random(seed).getrandbits(32))
    pq.write_table(rows, FILES / "rows.parquet", compression="zstd")
    for dialect in dialects:
        with running_java_oracle(ENGINES[dialect]) as oracle:
            evaluated = list(_evaluate_supported(oracle, rows, predicates, f"{seed}/{dialect}"))
        _write(evaluated, dialect)
        print(f"{dialect}: {len(evaluated)} predicates, {_file(dialect).stat().st_size} bytes")


def _evaluate_supported(
    oracle: JavaOracle, rows: pa.Table, count_wanted: int, seed: str
) -> Iterator[EvaluatedPredicate]:
    """Predicates that our rules support, some from each round."""
    found = 0
    for number in count():
        rng = random.Random(f"{seed}/{number}")
        zone = values.ZONES[number % len(values.ZONES)]
        evaluated = list(oracle.evaluate_random(rows, oracle.session_in(rng, zone), rng))
        supported = [
            one for one in evaluated if not isinstance(one.questions["sql"].expression, Unknown)
        ]
        supported = [
            one for one in supported if "current_date" not in one.text
        ]  # true on one day only
        for one in rng.sample(supported, min(_PER_ROUND, len(supported), count_wanted - found)):
            found += 1
            yield one
        if found == count_wanted:
            return


def _write(evaluated: Sequence[EvaluatedPredicate], dialect: str) -> None:
    columns = {
        "text": [one.text for one in evaluated],
        "source": [one.source for one in evaluated],
        "zone": [one.session_options.zone for one in evaluated],
        "settings": [json.dumps(one.session_options.settings) for one in evaluated],
        "truths": [_letters(one) for one in evaluated],
    }
    order = np.lexsort([columns["text"], columns["source"]])
    table = pa.table(columns).take(order)
    pq.write_table(table, _file(dialect), compression="zstd", compression_level=19)


def _letters(one: EvaluatedPredicate) -> str:
    (truths,) = one.truths.values()
    letters = [_LETTERS[truth] for truth in truths.to_pylist()]
    for row in one.failed:
        letters[row] = "!"
    return "".join(letters)


def _file(dialect: str) -> Path:
    return FILES / f"{dialect}.parquet"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--predicates", type=int, default=2500)
    parser.add_argument("--seed", default="1")
    given = parser.parse_args()
    record(list(ENGINES), given.predicates, given.seed)
