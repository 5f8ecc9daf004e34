"""Hive's rows for a random condition p, for NOT p and for p IS NULL are together the table's rows.

No expected answer is written down: a row that pruning loses is missing from all three. Where the
three do not add up without pruning either, that is Hive's own affair; with pruning they must not
lose more.
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
from pyhudi_expr.hive.session import QueryError
from tests.example_counts import examples
from tests.hive.query_results import FETCH, TEZ, Hive
from tests.truth import values
from tests.truth.engine import Circumstances
from tests.truth.engines.spark import SparkEngine
from tests.truth.predicates import Grammar
from tests.truth.templates import HIVE
from tests.truth.witnesses import predicates

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.timeout(7200, func_only=True)]

#: Repeats a run; otherwise each has a new one, and prints it.
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
    # Without it Hudi fails to bring the ranges of functions up to date.
    "hoodie.embed.timeline.server": "true",
}
#: Hive's planner lists all integers of such a range, until its heap is full
#: (`StatsRulesProcFactory.rewriteBetweenToIn` subtracts the ends, and overflows).
_ENDLESS_RANGE = re.compile(r"BETWEEN.*\d{17,}", re.DOTALL)
#: Types that Hudi's writer takes.
AS_HUDI = {"i1": "int", "i2": "int", "tn": "timestamp", "tm": "timestamp"}
#: Values are written as they are: no calendar but the proleptic one.
AS_THEY_ARE = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.session.timeZone": "UTC",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}


@dataclass(frozen=True)
class Asked:
    """One condition's answers. lost: rows that are found without pruning alone. odd: whether
    Hive's own three answers are not the table's rows."""

    text: str
    lost: Mapping[str, Sequence[int]]
    odd: bool
    files_skipped: int


class Conditions:
    """Asks a table about random conditions."""

    def __init__(self, hive: Hive, spark: SparkSession, scratch: Path, name: str) -> None:
        self._hive = hive
        self._values = SparkEngine(spark, scratch)
        self._name = name
        self.all_rows = self._rows("true", FETCH, pruning=False)[0]

    def ask(self, count: int, seed: str) -> Iterator[Asked]:
        """So many conditions that Hive takes."""
        while count > 0:
            chance = random.Random(seed)
            rows = values.rows(FILES * ROWS_OF_A_FILE, chance.getrandbits(32))
            grammar = Grammar(HIVE, chance)
            found = [
                one
                for one in predicates(grammar, self._values, rows, Circumstances("UTC"), chance)
                if not _ENDLESS_RANGE.search(one.text)
            ]
            for predicate in chance.sample(found, min(count, 30)):
                about = self._about(predicate.text, chance.choice((FETCH, FETCH, TEZ)))
                if about is not None:
                    yield about
                    count -= 1
            seed += "+"
            self._hive.close_sessions()

    def _about(self, text: str, engine: str) -> Asked | None:
        """None: Hive refuses it, or fails at a row."""
        with suppress(QueryError):
            return self._answers(text, engine)
        return None

    def _answers(self, text: str, engine: str) -> Asked:
        questions = [f"({text})", f"NOT ({text})", f"({text}) IS NULL"]
        answers = [self._rows(one, engine, pruning=True) for one in questions]
        skipped = sum(files for _, files in answers)
        if sum((rows for rows, _ in answers), Counter()) == self.all_rows:
            return Asked(text, {}, False, skipped)
        whole = [self._rows(one, engine, pruning=False)[0] for one in questions]
        lost = {
            question: sorted((without - rows).elements())
            for question, without, (rows, _) in zip(questions, whole, answers, strict=True)
            if without != rows
        }
        odd = sum(whole, Counter()) != self.all_rows
        return Asked(f"{text} ({engine})", lost, odd, skipped)

    def _rows(self, condition: str, engine: str, *, pruning: bool) -> tuple[Counter[int], int]:
        query = f"SELECT id FROM {self._name} WHERE {condition}"
        answer = self._hive.ask(query, engine, pruning=pruning)
        considered, kept = answer.files
        return Counter(row[0] for row in answer.rows), considered - kept


@pytest.fixture(scope="module")
def tables(spark: SparkSession, table_root: Path) -> Mapping[TableType, HudiTable]:
    """A table of each type, with every index; their rows by the seed."""
    chance = random.Random(f"{SEED}/rows")
    with session_settings(spark, AS_THEY_ARE):
        return {type_: written(spark, type_, table_root, chance) for type_ in TableType}


def written(
    spark: SparkSession, type_: TableType, parent: Path, chance: random.Random
) -> HudiTable:
    """A fifth of the rows is written again with other values, and some are deleted."""
    name = f"whole_{type_.name.lower()}"
    rows = values.rows(FILES * ROWS_OF_A_FILE, chance.getrandbits(32))
    table = create(
        frame(spark, rows, parent / f"{name}.parquet", chance),
        TableSpec(name, type_, partitions=("p",), extra=MDT),
        parent,
    )
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{table.path}'")
    for index in INDEXES:
        spark.sql(f"CREATE {index.format(name)}")
    newer = values.rows(FILES * ROWS_OF_A_FILE, chance.getrandbits(32))
    again = frame(spark, newer, parent / f"{name}_newer.parquet", chance)
    old = spark.read.format("hudi").load(str(table.path)).select("id", "p")
    upsert(table, again.drop("p").where("id % 5 = 0").join(old, "id").select(*table.schema.names))
    delete(table, again.drop("p").where("id % 17 = 3").join(old, "id").select(*table.schema.names))
    return table


def frame(spark: SparkSession, rows: pa.Table, path: Path, chance: random.Random) -> DataFrame:
    """The rows in `FILES` partitions, neighbours in the order of some column in each."""
    left, number_of = list(range(len(rows))), {}
    for number in range(FILES):
        name = chance.choice(rows.schema.names)
        cells = rows[name].to_pylist() if name not in ("ts", "tu", "tn", "tm") else None
        order = sorted(left, key=lambda row: repr(cells[row]) if cells else row)
        begin = chance.randrange(max(1, len(order) - ROWS_OF_A_FILE))
        for row in order[begin : begin + ROWS_OF_A_FILE]:
            number_of[row] = number
            left.remove(row)
    numbered = rows.append_column("id", pa.array(range(len(rows)), pa.int32()))
    files = pa.array([number_of[row] for row in range(len(rows))], pa.int32())
    pq.write_table(numbered.append_column("file", files), path)
    shown = spark.read.parquet(str(path))
    shown = shown.withColumns({name: shown[name].cast(type_) for name, type_ in AS_HUDI.items()})
    shown = shown.selectExpr("*", "concat('p', file % 3) AS p")
    pieces = shown.repartitionByRange(FILES, "file").drop("file")
    return pieces.select("id", *[name for name in pieces.columns if name != "id"])


@pytest.mark.parametrize(
    "count", [examples(30), pytest.param(examples(1500), marks=pytest.mark.long)]
)
@pytest.mark.parametrize("type_", TableType, ids=lambda type_: type_.name.lower())
def test_a_condition_its_negation_and_its_nulls_are_all_rows(
    hive: Hive,
    spark: SparkSession,
    tables: Mapping[TableType, HudiTable],
    tmp_path: Path,
    type_: TableType,
    count: int,
) -> None:
    print("PYHUDI_SEED", SEED)
    conditions = Conditions(hive, spark, tmp_path, hive.register(tables[type_]))
    asked = []
    for one in conditions.ask(count, f"{SEED}/{type_.name}"):
        asked.append(one)
        assert one.lost == {}, f"{one.text}, condition {len(asked)}"
    skipping = sum(one.files_skipped > 0 for one in asked)
    odd = [one.text for one in asked if one.odd]
    print(
        f"{len(asked)} conditions, {skipping} skip files; of Hive's own, {len(odd)} are odd:", odd
    )
    assert skipping > count / 4
    assert len(odd) < count / 4
