"""Spark: a local session evaluates hundreds of predicates in one pass over the rows."""

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
from tests.truth.engine import Answer, EvaluationResult, Refusal, SessionOptions

_ERRORS = (PySparkException, Py4JError)
_SETTINGS = {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
}


class SparkEngine:
    """Evaluates in a Spark session (`tests.truth.engine.Engine`)."""

    def __init__(self, spark: SparkSession, scratch: Path) -> None:
        self._spark = spark
        self._file = scratch / "rows.parquet"

    def evaluate(
        self, rows: pa.Table, predicates: Sequence[str], session_options: SessionOptions
    ) -> list[EvaluationResult]:
        """See `tests.truth.engine.Engine`."""
        found = self.values(rows, [f"({one}) = true" for one in predicates], session_options)
        return [one if isinstance(one, Refusal) else Answer(one) for one in found]

    def values(
        self, rows: pa.Table, terms: Sequence[str], session_options: SessionOptions
    ) -> list[pa.Array | Refusal]:
        """Evaluates each term over the rows."""
        pq.write_table(rows, self._file)
        with session_settings(self._spark, self._settings(session_options)):
            return _bisect(terms, self._select)

    @staticmethod
    def _settings(session_options: SessionOptions) -> dict[str, str]:
        zone = {"spark.sql.session.timeZone": session_options.zone}
        return {**_SETTINGS, **zone, **session_options.settings}

    def _frame(self, terms: Sequence[str]) -> DataFrame:
        selected = [f"{term} AS c{number}" for number, term in enumerate(terms)]
        return self._spark.read.parquet(str(self._file)).selectExpr(*selected)

    def _select(self, terms: Sequence[str]) -> list[pa.Array]:
        batches = self._frame(terms)._collect_as_arrow()
        return [column.combine_chunks() for column in pa.Table.from_batches(batches).columns]


def _bisect(texts: Sequence[str], evaluate: Callable[[Sequence[str]], list[Any]]) -> list[Any]:
    """Evaluates all texts at once. If that fails, evaluates each half."""
    if not texts:
        return []
    try:
        return evaluate(texts)
    except _ERRORS as error:
        if len(texts) == 1:
            return [Refusal(str(error).partition("\n")[0][:200])]
    middle = len(texts) // 2
    return _bisect(texts[:middle], evaluate) + _bisect(texts[middle:], evaluate)
