"""Reads of one state in every way that the package offers, each compared with Spark's rows."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

import pyhudi_expr as ph
from pyhudi_expr.errors import FilterNotApplicable, PyHudiWarning, UnsupportedTable
from tests.rows.columns import Column, condition
from tests.rows.states import State, write_state
from tests.rows.witness import Witness, ask_spark, counted, shown_type

REFUSALS = (UnsupportedTable, FilterNotApplicable)
"""The errors that say why a state, or a condition, is not read here (docs/python.md)."""
_CONDITIONS = 8
_META = 5


@dataclass(frozen=True)
class Question:
    """What is read: a condition, columns, an instant.

    Attributes:
        witness: Spark's rows of that instant.
    """

    table: ph.Table
    witness: Witness
    condition: str | None
    columns: tuple[str, ...] | None
    as_of: str | None

    def __str__(self) -> str:
        return f"{self.condition}, {self.columns}, at {self.as_of}"

    def scan(self, **further: Any) -> Any:
        """Return the scan that asks it."""
        asked = {"columns": self.columns, "as_of": self.as_of, **further}
        meta = asked["columns"] is None
        return self.table.scan(self.condition, dialect="spark", zone="UTC", meta=meta, **asked)

    def expected(self) -> pa.Table:
        """Return Spark's answer."""
        rows = self.witness.matching(self.condition)
        return rows if self.columns is None else rows.select(list(self.columns))


class DifferentError(AssertionError):
    """An answer is not Spark's."""


def _same(found: pa.Table, expected: pa.Table) -> None:
    types = [
        {field.name: shown_type(field.type) for field in table.schema}
        for table in (found, expected)
    ]
    if types[0] != types[1]:
        raise DifferentError(f"types {types[0]}, of Spark {types[1]}")
    here, there = counted(found), counted(expected)
    if here != there:
        missing, more = list((there - here).elements()), list((here - there).elements())
        raise DifferentError(
            f"{len(missing)} rows missing, {len(more)} too many, "
            f"such as {missing[:1]} and {more[:1]} of {sorted(found.column_names)}"
        )


def _arrow(question: Question) -> None:
    _same(question.scan().to_arrow(), question.expected())


def _batches(question: Question) -> None:
    scan = question.scan()
    batches = list(scan.batches())
    found = pa.Table.from_batches(batches) if batches else scan.to_arrow()
    _same(found, question.expected())


def _count(question: Question) -> None:
    found, expected = question.scan().count(), question.expected().num_rows
    if found != expected:
        raise DifferentError(f"{found} rows counted, by Spark {expected}")


def _pandas(question: Question) -> None:
    frame = question.scan().to_pandas()
    if len(frame) != question.expected().num_rows:
        raise DifferentError(f"{len(frame)} rows in pandas")


def _dataset(question: Question) -> None:
    dataset = question.table.to_pyarrow_dataset(
        question.condition, as_of=question.as_of, dialect="spark", zone="UTC", meta=True
    )
    columns = None if question.columns is None else list(question.columns)
    _same(dataset.to_table(columns=columns), question.expected())


def _limit(question: Question) -> None:
    expected = question.expected()
    most = max(1, expected.num_rows // 2)
    found = question.scan(limit=most).to_arrow()
    if found.num_rows != min(most, expected.num_rows) or counted(found) - counted(expected):
        raise DifferentError(f"{found.num_rows} rows for LIMIT {most}, or others than Spark's")


def _order(question: Question) -> None:
    expected = question.witness.matching(question.condition)
    found = question.scan(columns=None, order_by="ordering DESC, id", limit=5).to_arrow()
    order = [("ordering", "descending"), ("id", "ascending")]
    first = expected.take(pc.sort_indices(expected, sort_keys=order)[:5])
    _same(found, first)


WAYS: dict[str, Callable[[Question], None]] = {
    "to_arrow": _arrow,
    "batches": _batches,
    "count": _count,
    "to_pandas": _pandas,
    "to_pyarrow_dataset": _dataset,
    "limit": _limit,
    "order_by": _order,
}


@dataclass
class Tally:
    """Attributes:
    reads: All reads. refused: Those that a documented error answered.
    different: What was wrong, by the first words of what happened.
    """

    reads: int
    refused: Counter[str]
    different: list[str]

    @staticmethod
    def empty() -> Tally:
        """Return the tally of no reads."""
        return Tally(0, Counter(), [])

    def count(self, asked: str, compare: Callable[[], None], described: str) -> None:
        """Read and compare.

        Args:
            asked: What is read, for messages.
            compare: Does it.
            described: What is special about the state.
        """
        self.reads += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PyHudiWarning)
                compare()
        except REFUSALS as error:
            self.refused[f"{type(error).__name__}: {error!s:.70}"] += 1
        except Exception as error:
            self.different.append(
                f"{type(error).__name__}: {error!s:.400}\n  {asked}\n  {described}"
            )


def read_state(
    spark: SparkSession, directory: Path, seed: object, number: int, tally: Tally
) -> tuple[State, list[Question]]:
    """Write one of a seed's states, and read it and an earlier instant of it in all ways.

    Returns:
        The state, and what was asked of it.
    """
    rng = random.Random(f"{seed}/{number}")
    state = write_state(spark, directory, number, rng)
    questions = list(_questions(spark, state, rng))
    for question in questions:
        for way, compare in WAYS.items():
            tally.count(f"{way} of {question}", partial(compare, question), state.described)
    return state, questions


def _questions(spark: SparkSession, state: State, rng: random.Random) -> Iterator[Question]:
    conditions = [condition(state.columns, rng) for _ in range(_CONDITIONS)]
    table = ph.table(str(state.path), progress=False)
    instants = table.history()["instant"].to_pylist()
    for as_of in (None, *rng.sample(instants, min(1, len(instants)))):
        witness = ask_spark(spark, str(state.path), conditions, as_of)
        for one in (None, *witness.truths):
            columns = _chosen(state.columns, witness, rng)
            yield Question(table, witness, one, columns, as_of)


def _chosen(
    columns: Sequence[Column], witness: Witness, rng: random.Random
) -> tuple[str, ...] | None:
    there = [one.name for one in columns if one.name in witness.rows.column_names]
    return None if rng.random() < 0.4 else tuple(rng.sample(there, rng.randrange(1, len(there))))
