"""Random conditions on a table: Hive's rows for each, its negation and its NULLs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableType
from pyhudi_expr.manage.hive.session import QueryError
from tests.example_counts import SEED, examples
from tests.hive.query_results import FETCH, NOTHING, Hive
from tests.hive.random_queries import APART, conditions, session_of, written
from tests.truth.engines.spark import SparkEngine
from tests.truth.zones import Zones

#: Zones of sessions. Tables have rows around changes of their clocks.
ZONES_ASKED = ("Europe/Stockholm", "America/Mexico_City", "Asia/Tokyo", "Australia/Lord_Howe")


@dataclass(frozen=True)
class ConditionResult:
    """The result for one condition.

    lost: rows that are found only without pruning. incomplete: whether Hive's own three answers are
    not all rows of the table.
    """

    text: str
    lost: Mapping[str, Sequence[int]]
    incomplete: bool
    files_skipped: int


class Conditions:
    """Evaluates random conditions on a table, some by the fetch task, others by tasks."""

    def __init__(
        self,
        hive: Hive,
        spark: SparkSession,
        scratch: Path,
        name: str,
        zones: Zones,
        tasks: str,
    ) -> None:
        """`tasks`: the engine that runs tasks, MR or TEZ."""
        self._hive = hive
        self._tasks = tasks
        self._zones = zones
        self._values = SparkEngine(spark, scratch)
        self._name = name
        self.all_rows = self._rows("true", FETCH, NOTHING, pruning=False)[0]

    def evaluate(self, count: int, seed: str) -> Iterator[ConditionResult]:
        """Evaluates this many conditions that Hive accepts, thirty in each session."""
        while count > 0:
            rng = random.Random(seed)
            zone = rng.choice(ZONES_ASKED) if rng.random() < 0.5 else "LOCAL"
            settings = session_of(zone, rng)
            shown_in = "UTC" if zone == "LOCAL" else zone
            found = conditions(self._values, self._zones, shown_in, rng)
            for text in rng.sample(found, min(count, 30)):
                result = self._evaluate_or_none(
                    text, rng.choice((FETCH, FETCH, self._tasks)), settings
                )
                if result is not None:
                    yield result
                    count -= 1
            seed += "+"
            self._hive.close_sessions()

    def _evaluate_or_none(
        self, text: str, engine: str, settings: Mapping[str, str]
    ) -> ConditionResult | None:
        """Returns None if Hive refuses the condition, or fails for a row."""
        with suppress(QueryError):
            return self._answers(text, engine, settings)
        return None

    def _answers(self, text: str, engine: str, settings: Mapping[str, str]) -> ConditionResult:
        questions = [f"({text})", f"NOT ({text})", f"({text}) IS NULL"]
        pruned, skipped = self._all_rows_of(questions, engine, settings)
        if pruned == self.all_rows:
            return ConditionResult(text, {}, False, skipped)
        answers = [self._rows(one, engine, settings, pruning=True) for one in questions]
        without_pruning = [self._rows(one, engine, settings, pruning=False)[0] for one in questions]
        lost = {
            question: sorted((without - rows).elements())
            for question, without, (rows, _) in zip(
                questions, without_pruning, answers, strict=True
            )
            if without != rows
        }
        incomplete = sum(without_pruning, Counter()) != self.all_rows
        return ConditionResult(f"{text} ({engine}, {settings})", lost, incomplete, skipped)

    def _all_rows_of(
        self, questions: Sequence[str], engine: str, settings: Mapping[str, str]
    ) -> tuple[Counter[int], int]:
        """The rows of all questions. Tasks, which start slowly, read them in one query."""
        if engine == FETCH:
            answers = [self._rows(one, engine, settings, pruning=True) for one in questions]
        else:
            united = f" UNION ALL SELECT id FROM {self._name} WHERE ".join(questions)
            answers = [self._rows(united, engine, {**settings, **APART}, pruning=True)]
        return sum((rows for rows, _ in answers), Counter()), sum(files for _, files in answers)

    def _rows(
        self, condition: str, engine: str, settings: Mapping[str, str], *, pruning: bool
    ) -> tuple[Counter[int], int]:
        query = f"SELECT id FROM {self._name} WHERE {condition}"
        answer = self._hive.query(query, engine, pruning=pruning, settings=settings)
        considered, kept = answer.files
        return Counter(row[0] for row in answer.rows), considered - kept


def written_tables(
    spark: SparkSession, parent: Path, zones: Zones
) -> Mapping[TableType, HudiTable]:
    """Writes a table of each type, with every index. The seed determines the rows."""
    rng = random.Random(f"{SEED}/rows")
    moments = [second for zone in ZONES_ASKED for second in zones.moments(zone, rng, 20)]
    return {
        type_: written(spark, f"whole_{type_.name.lower()}", type_, parent, rng, moments)
        for type_ in TableType
    }


def assert_covered(asked: Conditions, times: int, seed: str) -> None:
    """Checks that no condition loses a row, and that many skip files. Prints the counts."""
    print("PYHUDI_SEED", SEED)
    count, results = examples(times), []
    for one in asked.evaluate(count, f"{SEED}/{seed}"):
        results.append(one)
        assert one.lost == {}, f"{one.text}, condition {len(results)}"
    skipping = sum(one.files_skipped > 0 for one in results)
    incomplete = [one.text for one in results if one.incomplete]
    print(
        f"{len(results)} conditions, {skipping} skip files; {len(incomplete)} incomplete in Hive:",
        incomplete,
    )
    assert skipping > count / 4
    assert len(incomplete) < count / 4
