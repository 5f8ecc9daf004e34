"""Spark as a judge: a local session evaluates hundreds of predicates in one pass over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.spark.jobs.java_calls import jvm
from pyhudi_expr.spark.query import predicates as front
from tests.truth.engine import Answer, Circumstances, Judgement, Refusal


class _NowError(ValueError):
    """What `pyhudi_expr.spark.query.predicates` leaves unjudged, too."""


_ERRORS = (PySparkException, Py4JError, _NowError)
_SETTINGS = {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
}


class SparkEngine:
    """A session's own evaluation (`tests.truth.engine.Engine`)."""

    def __init__(self, spark: SparkSession, scratch: Path) -> None:
        self._spark = spark
        self._file = scratch / "rows.parquet"

    def judge(
        self, rows: pa.Table, predicates: Sequence[str], circumstances: Circumstances
    ) -> list[Judgement]:
        """See `tests.truth.engine.Engine`."""
        found = self.values(rows, [f"({one}) = true" for one in predicates], circumstances)
        return [one if isinstance(one, Refusal) else Answer(one) for one in found]

    def values(
        self, rows: pa.Table, terms: Sequence[str], circumstances: Circumstances
    ) -> list[pa.Array | Refusal]:
        """What each term gives for the rows."""
        pq.write_table(rows, self._file)
        with session_settings(self._spark, self._settings(circumstances)):
            return _of_each(terms, self._select)

    def analysed(
        self, rows: pa.Table, predicates: Sequence[str], circumstances: Circumstances
    ) -> list[HudiExpression | Refusal]:
        """Each predicate as `pyhudi_expr.spark.query.dataframes` reads it: Spark's analysed
        expression."""
        with session_settings(self._spark, self._settings(circumstances)):
            return _of_each(predicates, self._analyse)

    @staticmethod
    def _settings(circumstances: Circumstances) -> dict[str, str]:
        zone = {"spark.sql.session.timeZone": circumstances.zone}
        return {**_SETTINGS, **zone, **circumstances.settings}

    def _frame(self, terms: Sequence[str]) -> DataFrame:
        shown = [f"{term} AS c{number}" for number, term in enumerate(terms)]
        return self._spark.read.parquet(str(self._file)).selectExpr(*shown)

    def _select(self, terms: Sequence[str]) -> list[pa.Array]:
        batches = self._frame(terms)._collect_as_arrow()
        return [column.combine_chunks() for column in pa.Table.from_batches(batches).columns]

    def _analyse(self, predicates: Sequence[str]) -> list[HudiExpression]:
        rules = jvm(self._spark).org.apache.spark.sql.catalyst.optimizer
        plan = self._frame(predicates)._jdf.queryExecution().analyzed()
        replaced = rules.ReplaceExpressions.apply(plan)
        if not rules.SpecialDatetimeValues.apply(replaced).fastEquals(replaced):
            raise _NowError("a text such as 'today' as a time")
        folded: Any = rules.ConstantFolding.apply(replaced)
        columns = folded.projectList()
        return [
            front._expression(columns.apply(number).child()) for number in range(columns.size())
        ]


def _of_each(texts: Sequence[str], judge: Callable[[Sequence[str]], list[Any]]) -> list[Any]:
    """What all texts give at once; where they fail together, what each half gives."""
    if not texts:
        return []
    try:
        return judge(texts)
    except _ERRORS as error:
        if len(texts) == 1:
            return [Refusal(str(error).partition("\n")[0][:200])]
    middle = len(texts) // 2
    return _of_each(texts[:middle], judge) + _of_each(texts[middle:], judge)
