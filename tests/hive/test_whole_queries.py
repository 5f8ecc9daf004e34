"""For a random condition p, Hive's rows for p, NOT p and p IS NULL are together all rows of the
table.

No expected answer is needed: a row that pruning loses is missing from all three. If the three are
incomplete without pruning as well, that is Hive's own behaviour; pruning must not lose more.
"""

from __future__ import annotations

import os
import random
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.manage.hive.session import QueryError
from tests.example_counts import examples
from tests.hive.query_results import FETCH, TEZ, Hive
from tests.truth import values
from tests.truth.engine import SessionOptions
from tests.truth.engines.spark import SparkEngine
from tests.truth.predicates import Grammar
from tests.truth.templates import HIVE
from tests.truth.witnesses import predicates

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.timeout(7200, func_only=True)]

#: Repeats a run. By default each run has a new one, which is printed.
SEED = os.environ.get("PYHUDI_SEED", "") or secrets.token_hex(4)
FILES, ROWS_OF_A_FILE = 24, 5
INDEXES = (
    "INDEX of_s ON {0} (s)",
    "INDEX years ON {0} USING column_stats(ts) OPTIONS(expr='year')",
)
MDT = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    # Without it Hudi fails to update the ranges of functions.
    "hoodie.embed.timeline.server": "true",
}
#: For such a range Hive's planner lists all integers until its heap is full
#: (`StatsRulesProcFactory.rewriteBetweenToIn` subtracts the ends, and overflows).
_ENDLESS_RANGE = re.compile(r"BETWEEN.*\d{17,}", re.DOTALL)
#: Types that Hudi's writer supports.
AS_HUDI = {"i1": "int", "i2": "int", "tn": "timestamp", "tm": "timestamp"}
#: Values are written unchanged: in the proleptic calendar only.
AS_THEY_ARE = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.session.timeZone": "UTC",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}


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
    """Evaluates random conditions on a table."""

    def __init__(self, hive: Hive, spark: SparkSession, scratch: Path, name: str) -> None:
        self._hive = hive
        self._values = SparkEngine(spark, scratch)
        self._name = name
        self.all_rows = self._rows("true", FETCH, pruning=False)[0]

    def evaluate(self, count: int, seed: str) -> Iterator[ConditionResult]:
        """Evaluates this many conditions that Hive accepts."""
        while count > 0:
            rng = random.Random(seed)
            rows = values.rows(FILES * ROWS_OF_A_FILE, rng.getrandbits(32))
            grammar = Grammar(HIVE, rng)
            found = [
                one
                for one in predicates(grammar, self._values, rows, SessionOptions("UTC"), rng)
                if not _ENDLESS_RANGE.search(one.text)
            ]
            for predicate in rng.sample(found, min(count, 30)):
                result = self._evaluate_or_none(predicate.text, rng.choice((FETCH, FETCH, TEZ)))
                if result is not None:
                    yield result
                    count -= 1
            seed += "+"
            self._hive.close_sessions()

    def _evaluate_or_none(self, text: str, engine: str) -> ConditionResult | None:
        """Returns None if Hive refuses the condition, or fails for a row."""
        with suppress(QueryError):
            return self._answers(text, engine)
        return None

    def _answers(self, text: str, engine: str) -> ConditionResult:
        questions = [f"({text})", f"NOT ({text})", f"({text}) IS NULL"]
        answers = [self._rows(one, engine, pruning=True) for one in questions]
        skipped = sum(files for _, files in answers)
        if sum((rows for rows, _ in answers), Counter()) == self.all_rows:
            return ConditionResult(text, {}, False, skipped)
        without_pruning = [self._rows(one, engine, pruning=False)[0] for one in questions]
        lost = {
            question: sorted((without - rows).elements())
            for question, without, (rows, _) in zip(
                questions, without_pruning, answers, strict=True
            )
            if without != rows
        }
        incomplete = sum(without_pruning, Counter()) != self.all_rows
        return ConditionResult(f"{text} ({engine})", lost, incomplete, skipped)

    def _rows(self, condition: str, engine: str, *, pruning: bool) -> tuple[Counter[int], int]:
        query = f"SELECT id FROM {self._name} WHERE {condition}"
        answer = self._hive.query(query, engine, pruning=pruning)
        considered, kept = answer.files
        return Counter(row[0] for row in answer.rows), considered - kept


@pytest.fixture(scope="module")
def tables(spark: SparkSession, table_root: Path) -> Mapping[TableType, HudiTable]:
    """A table of each type, with every index. The seed determines the rows."""
    rng = random.Random(f"{SEED}/rows")
    with session_settings(spark, AS_THEY_ARE):
        return {type_: written(spark, type_, table_root, rng) for type_ in TableType}


def written(spark: SparkSession, type_: TableType, parent: Path, rng: random.Random) -> HudiTable:
    """A fifth of the rows is written again with other values, and some rows are deleted."""
    name = f"whole_{type_.name.lower()}"
    rows = values.rows(FILES * ROWS_OF_A_FILE, rng.getrandbits(32))
    table = create(
        frame(spark, rows, parent / f"{name}.parquet", rng),
        TableSpec(name, type_, partitions=("p",), extra=MDT),
        parent,
    )
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{table.path}'")
    for index in INDEXES:
        spark.sql(f"CREATE {index.format(name)}")
    newer = values.rows(FILES * ROWS_OF_A_FILE, rng.getrandbits(32))
    again = frame(spark, newer, parent / f"{name}_newer.parquet", rng)
    old = spark.read.format("hudi").load(str(table.path)).select("id", "p")
    upsert(table, again.drop("p").where("id % 5 = 0").join(old, "id").select(*table.schema.names))
    delete(table, again.drop("p").where("id % 17 = 3").join(old, "id").select(*table.schema.names))
    return table


def frame(spark: SparkSession, rows: pa.Table, path: Path, rng: random.Random) -> DataFrame:
    """The rows in `FILES` partitions, each with neighbours in the order of some column."""
    left, number_of = list(range(len(rows))), {}
    for number in range(FILES):
        name = rng.choice(rows.schema.names)
        cells = rows[name].to_pylist() if name not in ("ts", "tu", "tn", "tm") else None
        order = sorted(left, key=lambda row: repr(cells[row]) if cells else row)
        begin = rng.randrange(max(1, len(order) - ROWS_OF_A_FILE))
        for row in order[begin : begin + ROWS_OF_A_FILE]:
            number_of[row] = number
            left.remove(row)
    numbered = rows.append_column("id", pa.array(range(len(rows)), pa.int32()))
    files = pa.array([number_of[row] for row in range(len(rows))], pa.int32())
    pq.write_table(numbered.append_column("file", files), path)
    written_rows = spark.read.parquet(str(path))
    written_rows = written_rows.withColumns(
        {name: written_rows[name].cast(type_) for name, type_ in AS_HUDI.items()}
    )
    written_rows = written_rows.selectExpr("*", "concat('p', file % 3) AS p")
    pieces = written_rows.repartitionByRange(FILES, "file").drop("file")
    return pieces.select("id", *[name for name in pieces.columns if name != "id"])


@pytest.mark.long
@pytest.mark.parametrize("type_", TableType, ids=lambda type_: type_.name.lower())
def test_a_condition_its_negation_and_its_nulls_cover_all_rows(
    hive: Hive,
    spark: SparkSession,
    tables: Mapping[TableType, HudiTable],
    tmp_path: Path,
    type_: TableType,
) -> None:
    print("PYHUDI_SEED", SEED)
    count = examples(1500)
    conditions = Conditions(hive, spark, tmp_path, hive.register(tables[type_]))
    results = []
    for one in conditions.evaluate(count, f"{SEED}/{type_.name}"):
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
