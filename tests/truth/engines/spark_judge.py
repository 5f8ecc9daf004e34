"""Spark's reader, optimizer and expressions, asked row by row in the session's JVM.

What is analysed under one session is run under another one. `SparkResult.request` is what the
extension asks the pruning service; its classes have to be on the session's class path, together
with those of the judge (`spark_classes`).
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame, SparkSession

from devtools.runtime import SPARK_JAR, RuntimeMissingError
from devtools.spark import SHORT_QUERIES, session_settings, spark_session
from pyhudi_expr.spark.jobs.job_errors import jvm
from tests.truth.engine import Refusal, SessionOptions
from tests.truth.engines.java_classes import compiled

_SOURCES = Path(__file__).parent / "spark"
_SETTINGS = {
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
}
_TRUE, _NULL, _FAILED = 1, 2, 3


@dataclass(frozen=True)
class SparkResult:
    """A predicate's results.

    truths: the truth value of each row. selected: TRUE for the rows that a filter selects, else
        NULL.
    failed: the rows for which either fails.
    rows, frame: all rows, and those that it selects.
    request: the extension's, in Thrift's compact protocol; None if it asks nothing.
    """

    truths: pa.BooleanArray
    selected: pa.BooleanArray
    failed: Sequence[int]
    rows: DataFrame
    frame: DataFrame
    request: bytes | None


class SparkJudge:
    """Evaluates in a Spark session's JVM."""

    def __init__(self, spark: SparkSession, scratch: Path) -> None:
        self.spark = spark
        self._scratch = scratch
        self._files = 0

    def values(
        self, rows: pa.Table, terms: Sequence[str], session_options: SessionOptions
    ) -> list[pa.Array | Refusal]:
        """Evaluates each term over the rows. Rows for which it fails are NULL."""
        path = self._write(rows)
        with session_settings(self.spark, _settings(session_options.zone, session_options)):
            found = self._java().values(self.spark._jsparkSession, path, list(terms))
        return [_array(one) for one in json.loads(found)]

    @contextmanager
    def evaluated(
        self, rows: pa.Table, predicates: Sequence[str], session_options: SessionOptions
    ) -> Iterator[list[SparkResult | Refusal]]:
        """Evaluates each predicate over the rows. Within the context the options are set."""
        path, analysis = self._write(rows), session_options.analysis
        running = _settings(session_options.zone, session_options)
        analysing = running if analysis is None else _settings(analysis.zone, analysis)
        analyse = "ofViews" if analysis is not None and analysis.as_view else "ofFrames"
        with session_settings(self.spark, analysing):
            java = getattr(self._java(), analyse)(self.spark._jsparkSession, path, list(predicates))
        with session_settings(self.spark, running):
            answers, read = BytesIO(java.answers()), self.spark.read.parquet(path)
            yield [
                self._parse(answers, rows.num_rows, read, partial(java.filtered, number))
                for number in range(len(predicates))
            ]

    def _parse(
        self, answers: BytesIO, size: int, rows: DataFrame, filtered: Callable[[], Any]
    ) -> SparkResult | Refusal:
        if answers.read(1) == b"\0":
            return Refusal(_sized(answers).decode())
        truths = np.frombuffer(answers.read(size), np.uint8)
        selected = np.frombuffer(answers.read(size), np.uint8)
        failed = np.flatnonzero((truths == _FAILED) | (selected == _FAILED)).tolist()
        return SparkResult(
            pa.array(truths == _TRUE, mask=truths >= _NULL),
            pa.array(selected == _TRUE, mask=selected >= _NULL),
            failed,
            rows,
            DataFrame(filtered(), self.spark),
            _sized(answers) or None,
        )

    def _write(self, rows: pa.Table) -> str:
        """Writes the rows to a new file: Spark keeps what it has read of an old one."""
        (self._scratch / f"{self._files}.parquet").unlink(missing_ok=True)
        self._files += 1
        path = self._scratch / f"{self._files}.parquet"
        pq.write_table(rows, path)
        return str(path)

    def _java(self) -> Any:
        return jvm(self.spark).io.pyhudi.spark.read.SparkJudge


@contextmanager
def running_spark_judge(scratch: Path) -> Iterator[SparkJudge]:
    """Starts Spark with the judge's classes, and stops it on exit."""
    jars = [SPARK_JAR, spark_classes()]
    with spark_session("truth", cores=1, heap="1g", jars=jars, settings=SHORT_QUERIES) as session:
        session.sparkContext.setLogLevel("OFF")
        yield SparkJudge(session, scratch)


def spark_classes() -> Path:
    """The directory of the judge's classes.

    Raises:
        RuntimeMissingError: the extension or a compiler is missing.
    """
    if not SPARK_JAR.is_file():
        raise RuntimeMissingError("no extension of Spark: run `make spark-jar`")
    own = Path(pyspark.__file__).parent / "jars" / "*"
    return compiled(_SOURCES, os.pathsep.join(map(str, (SPARK_JAR, own))), [SPARK_JAR])


def _settings(zone: str, options: Any) -> Mapping[str, str]:
    return {**_SETTINGS, "spark.sql.session.timeZone": zone, **options.settings}


def _sized(answers: BytesIO) -> bytes:
    (length,) = struct.unpack(">i", answers.read(4))
    return answers.read(length)


def _array(found: Mapping[str, Any]) -> pa.Array | Refusal:
    if "failure" in found:
        return Refusal(found["failure"][:200])
    type_, values = found["type"], found["values"]
    if type_.startswith("decimal"):
        precision, scale = map(int, type_[8:-1].split(","))
        decimals = [None if one is None else Decimal(one) for one in values]
        return pa.array(decimals, pa.decimal128(precision, scale))
    if type_ in ("float", "double"):
        floats = [None if one is None else float(one) for one in values]
        return pa.array(floats, _TYPES[type_])
    if type_ not in _TYPES:
        return Refusal(f"a value of type {type_}")
    if type_ == "date":
        return pa.array(values, pa.int32()).cast(pa.date32())
    if type_.startswith("timestamp"):
        return pa.array(values, pa.int64()).cast(_TYPES[type_])
    return pa.array(values, _TYPES[type_])


_TYPES = {
    **{"boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32()},
    **{"bigint": pa.int64(), "float": pa.float32(), "double": pa.float64()},
    **{"string": pa.string(), "date": pa.date32()},
    **{"timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us")},
}
