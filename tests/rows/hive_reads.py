"""Reads of one state by HiveServer2 through the storage handler, each compared with Spark's rows.

What Hive shows and means otherwise, by its nature:

- A timestamp is a wall clock: an instant is shown in the zone of HiveServer2.
- Nested values are texts in JSON.
- Functions, casts and arithmetic, and comparisons that need a cast, mean what Hive makes of them
  (`make soundness` judges these). Of such a condition the rows are those of Hive without pruning,
  and each of them is one of Spark's rows.
- Where a condition says that a column equals a constant, Hive shows the constant: of the two zeros
  it may be the other one.
- What Hive does not compile is counted as refused: functions that it lacks, comparisons that it
  calls unsafe.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.errors import FilterNotApplicable
from pyhudi_expr.manage.hive.metastore_table import hive_columns
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.query_results import Hive, Rows
from tests.rows.reads import DifferentError, Question, Tally
from tests.rows.states import State

_ZONE = "UTC"
_BINARY = re.compile(r"X'([0-9a-f]*)'")
_NOT_COMPILED = re.compile(
    "Error while compiling statement: FAILED: (ParseException|SemanticException)"
)
_JOINED = re.compile(" (?:AND|OR) ")
_VALUE = r"(-?[0-9.]+|true|false|(DATE |TIMESTAMP(_NTZ)? |X)?'([^'\\]|\\.)*')"
_COMMON = re.compile(
    rf"\w+ (IS (NOT )?NULL|(=|<>|<|<=|>|>=|LIKE) {_VALUE}|IN \({_VALUE}, {_VALUE}\))"
)
"""Comparisons that mean the same in Spark and Hive."""


@contextmanager
def started_hive(directory: Path) -> Iterator[Hive]:
    """Start a HiveServer2 whose clock is UTC, and its pruning service."""
    directory.mkdir()
    service = ServiceProcess(directory)
    server = HiveServer(directory / "hive", zone=_ZONE)
    with service, server, Hive(server, service, directory / "scans") as hive:
        yield hive


@dataclass(frozen=True)
class HiveTable:
    """A state that is registered in Hive."""

    hive: Hive
    name: str

    def check_types(self, rows: pa.Table) -> None:
        """Compare the declared types with those of Spark's rows."""
        described = self.hive.query(f"DESCRIBE {self.name}").rows
        found = {name: type_ for name, type_, _ in described}
        expected = {one.name: one.type for one in hive_columns(rows.schema)}
        if found != expected:
            raise DifferentError(f"types {found}, of Spark {expected}")

    def check_rows(self, question: Question) -> None:
        """Compare the rows of a question with Spark's, with and without pruning."""
        all_rows = question.witness.rows
        columns = list(question.columns or all_rows.column_names)
        asked, schema = self._query(question, columns), all_rows.select(columns).schema
        try:
            answers = [self.hive.query(asked, pruning=on).rows for on in (True, False)]
        except QueryError as error:
            if _NOT_COMPILED.match(error.reason):
                raise FilterNotApplicable(error.reason) from error
            raise
        pruned, unpruned = (_counted(rows, schema) for rows in answers)
        if pruned != unpruned:
            raise _difference("by pruning", pruned, unpruned)
        if _means_the_same(question.condition):
            expected = _shown(question.witness.matching(question.condition).select(columns))
            if pruned != expected:
                raise _difference("of Spark", pruned, expected)
        elif further := _one_zero(pruned) - _one_zero(_shown(all_rows.select(columns))):
            raise _difference("of Spark", further, Counter())

    def _query(self, question: Question, columns: Sequence[str]) -> str:
        names = ", ".join(f"`{name}`" for name in columns)
        state = f" FOR SYSTEM_VERSION AS OF {question.as_of}" if question.as_of else ""
        where = f" WHERE {_in_hive(question.condition)}" if question.condition else ""
        return f"SELECT {names} FROM {self.name}{state}{where}"


def read_in_hive(hive: Hive, state: State, questions: Sequence[Question], tally: Tally) -> None:
    """Ask Hive what `scan` was asked of a state."""
    table = HiveTable(hive, f"rows_{state.path.name}")
    newest = next(one.witness for one in questions if one.as_of is None)
    hive.run(create_with_handler(table.name, state.path))
    tally.count("types", partial(table.check_types, newest.rows), state.described)
    for question in questions:
        tally.count(str(question), partial(table.check_rows, question), state.described)
    hive.run(f"DROP TABLE {table.name}")


def _in_hive(condition: str) -> str:
    """Write literals as Hive does."""
    return _BINARY.sub(r"unhex('\1')", condition).replace("TIMESTAMP_NTZ '", "TIMESTAMP '")


def _means_the_same(condition: str | None) -> bool:
    return condition is None or all(map(_COMMON.fullmatch, _JOINED.split(condition)))


def _difference(of_whom: str, found: Counter[Any], expected: Counter[Any]) -> DifferentError:
    missing, more = list((expected - found).elements()), list((found - expected).elements())
    return DifferentError(
        f"Hive's rows differ {of_whom}: {len(missing)} missing, {len(more)} too many, "
        f"such as {missing[:1]} and {more[:1]}"
    )


def _counted(rows: Rows, schema: pa.Schema) -> Counter[Any]:
    """Return Hive's rows as values that are equal if the values are."""
    nested = [pa.types.is_nested(type_) for type_ in schema.types]
    return Counter(
        tuple(
            _cell(_sorted_json(json.loads(value)) if is_text and value is not None else value)
            for is_text, value in zip(nested, row, strict=True)
        )
        for row in rows
    )


def _shown(rows: pa.Table) -> Counter[Any]:
    """Return rows of Spark as Hive shows them, see `_counted`."""
    columns = [map(_cell, _as_hive_shows(column.combine_chunks())) for column in rows.columns]
    return Counter(zip(*columns, strict=True))


def _one_zero(rows: Counter[Any]) -> Counter[Any]:
    """Return rows in which the two zeros are one."""
    found: Counter[Any] = Counter()
    for row, times in rows.items():
        found[tuple("0.0" if cell == "-0.0" else cell for cell in row)] += times
    return found


def _as_hive_shows(values: pa.Array) -> list[Any]:
    """Return the values as PyHive has them; nested ones as `_sorted_json`."""
    type_ = values.type
    if pa.types.is_nested(type_):
        plain = values.to_pylist(maps_as_pydicts="strict")
        return [None if value is None else _sorted_json(value) for value in plain]
    if pa.types.is_float32(type_):  # by its digits
        return values.cast(pa.string()).cast(pa.float64()).to_pylist()
    if pa.types.is_timestamp(type_):
        return (values if type_.tz is None else pc.local_timestamp(values)).to_pylist()
    if pa.types.is_date(type_):
        return values.cast(pa.string()).to_pylist()
    return values.to_pylist()


def _sorted_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _cell(value: Any) -> Any:
    """Return a value that equals itself even if it is NaN, and differs for the two zeros."""
    return repr(value) if isinstance(value, float) else value
