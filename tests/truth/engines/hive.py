"""Hive's own expression evaluators, in one JVM without a HiveServer2.

    with hive_jvm() as jvm:
        HiveEngine(jvm).evaluate(rows, ["pmod(i, 7) < 0"], SessionOptions("Europe/Berlin"))

The rows are what Hive's Parquet reader returns: for `timestamp("us", "UTC")` the wall clock in the
zone, for `timestamp("us")` the wall clock as it is. `Answer.filter` is what the storage handler
sends; `sent_filter` decodes it.
"""

from __future__ import annotations

import enum
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport.TTransport import TMemoryBuffer

from devtools.process import ServerError, tail
from devtools.runtime import ADD_OPENS, COLLECTOR, HANDLER_JAR, HIVE_LIB, RuntimeMissingError, java
from pyhudi_expr.expr.frontend.common.constants import type_name
from pyhudi_expr.protocol.generated.ttypes import PruneRequest
from tests.truth.engine import Answer, EvaluationResult, Refusal, SessionOptions
from tests.truth.engines.java_classes import compiled

_SOURCES = Path(__file__).parent / "hive"
_MAIN = "io.pyhudi.truth.HiveJudge"
_OPTIONS = (
    "-Dorg.apache.logging.log4j.level=OFF",
    # Hive casts a text that is not a number with an exception for each row.
    "-XX:-StackTraceInThrowable",
)
_TRUTH, _NULL, _FAILED = 1, 2, 3


class EvaluationMode(enum.IntEnum):
    """How Hive evaluates. The numbers are the ordinals of Evaluation.Way in Java.

    A filter (vectorised) marks the rows that are TRUE, and is FALSE for all others. Batches of one
    row run the code for repeated values.
    """

    ROWS = 0
    VECTORS = 1
    VECTOR_FILTER = 2
    VECTORS_OF_ONE = 3
    VECTOR_FILTER_OF_ONE = 4


class HiveJvm:
    """The running JVM. Not thread-safe."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._questions = cast(BinaryIO, process.stdin)
        self._answers = cast(BinaryIO, process.stdout)
        self._log = log

    def evaluate(
        self,
        modes: Sequence[EvaluationMode],
        rows: pa.Table,
        predicates: Sequence[str],
        session_options: SessionOptions,
    ) -> list[list[EvaluationResult]]:
        """Evaluates each predicate over the rows, and returns its result in each mode.

        Raises:
            ServerError: the JVM has died, for example because it does not know a column's type.
        """
        try:
            self._questions.write(_question(modes, rows, predicates, session_options))
            self._questions.flush()
            return [self._parse_results(rows.num_rows, len(modes)) for _ in predicates]
        except (OSError, EOFError) as error:
            raise ServerError(f"the JVM of Hive has died\n{tail(self._log)}") from error

    def close(self) -> None:
        """Stop the JVM."""
        self._process.kill()
        with suppress(OSError):  # Unread input may remain.
            self._questions.close()

    def _parse_results(self, size: int, modes: int) -> list[EvaluationResult]:
        if self._read(1) == b"\0":
            return [self._refusal()] * modes
        length = self._length()
        request = None if length < 0 else self._read(length)
        return [self._parse_result(size, request) for _ in range(modes)]

    def _parse_result(self, size: int, request: bytes | None) -> EvaluationResult:
        if self._read(1) == b"\0":
            return self._refusal()
        truths = np.frombuffer(self._read(size), np.uint8)
        failed = np.flatnonzero(truths == _FAILED).tolist()
        if size and len(failed) == size:
            return Refusal("it fails for each row")
        return Answer(pa.array(truths == _TRUTH, mask=truths >= _NULL), request, failed)

    def _refusal(self) -> Refusal:
        return Refusal(self._read(self._length()).decode())

    def _length(self) -> int:
        (length,) = struct.unpack(">i", self._read(4))
        return int(length)

    def _read(self, size: int) -> bytes:
        found = self._answers.read(size)
        if len(found) < size:
            raise EOFError
        return found


@dataclass(frozen=True)
class HiveEngine:
    """Hive 4, in one of its evaluation modes."""

    jvm: HiveJvm
    mode: EvaluationMode = EvaluationMode.ROWS

    def evaluate(
        self, rows: pa.Table, predicates: Sequence[str], session_options: SessionOptions
    ) -> list[EvaluationResult]:
        """Evaluates the predicates in order. One that fails does not affect the others."""
        found = self.jvm.evaluate([self.mode], rows, predicates, session_options)
        return [result for (result,) in found]


@contextmanager
def hive_jvm(heap: str = "1g") -> Iterator[HiveJvm]:
    """Starts a JVM with Hive's evaluators, and stops it on exit.

    Raises:
        RuntimeMissingError: Hive, the handler or a JDK is missing.
    """
    classes = hive_classes()
    scratch = Path(tempfile.mkdtemp(prefix="truth-hive"))
    log = scratch / "jvm.log"
    command = [str(java()), f"-Xmx{heap}", *COLLECTOR, *ADD_OPENS, *_OPTIONS]
    command += [f"-Djava.io.tmpdir={scratch}", "-cp", _class_path(classes), _MAIN]
    try:
        with (
            log.open("wb") as errors,
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=scratch,
                start_new_session=True,
            ) as process,
        ):
            jvm = HiveJvm(process, log)
            try:
                yield jvm
            finally:
                jvm.close()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def sent_filter(request: bytes) -> PruneRequest:
    """Decodes an Answer's `filter`. `conversion.decoder.decode` takes its nodes."""
    sent = PruneRequest()
    sent.read(TCompactProtocol(TMemoryBuffer(request)))
    return sent


def _question(
    modes: Sequence[EvaluationMode],
    rows: pa.Table,
    predicates: Sequence[str],
    session_options: SessionOptions,
) -> bytes:
    """Serializes a question, as Question.java reads it."""
    zone, settings = session_options.zone, session_options.settings
    zones = (zone, session_options.server_zone or zone, session_options.task_zone or zone)
    parts = [_sized(bytes(modes)), *(_sized(one.encode()) for one in zones)]
    parts += [_sized(session_options.place.name.encode()), struct.pack(">i", len(settings))]
    for name, value in settings.items():
        parts += [_sized(name.encode()), _sized(value.encode())]
    parts += [_sized(_encoded(rows)), struct.pack(">i", len(predicates))]
    parts += [_sized(predicate.encode()) for predicate in predicates]
    return b"".join(parts)


def _encoded(rows: pa.Table) -> bytes:
    """Serializes rows, as Rows.java reads them."""
    parts = [struct.pack(">ii", rows.num_rows, rows.num_columns)]
    for field, column in zip(rows.schema, rows.columns, strict=True):
        is_instant = pa.types.is_timestamp(field.type) and field.type.tz is not None
        parts += [_sized(field.name.encode()), _sized(_type_in_hive(field.type).encode())]
        parts.append(struct.pack(">?", is_instant))
        parts += [b"\0" if one is None else b"\1" + one for one in _cells(column)]
    return b"".join(parts)


def _type_in_hive(type_: pa.DataType) -> str:
    """The type of a column of Hive: its reader shows instants as wall clocks."""
    return "timestamp" if pa.types.is_timestamp(type_) else type_name(type_)


def _cells(column: pa.ChunkedArray) -> list[bytes | None]:
    type_ = column.type
    if pa.types.is_floating(type_):
        kind, values = ">d", column
    elif pa.types.is_date32(type_):
        kind, values = ">q", column.cast(pa.int32())
    elif pa.types.is_decimal(type_):
        texts = (None if one is None else f"{one:f}".encode() for one in column.to_pylist())
        return [None if one is None else _sized(one) for one in texts]
    elif pa.types.is_string(type_) or pa.types.is_binary(type_):
        found = column.cast(pa.binary()).to_pylist()
        return [None if one is None else _sized(one) for one in found]
    else:
        kind, values = ">q", column.cast(pa.int64())
    return [None if one is None else struct.pack(kind, one) for one in values.to_pylist()]


def _sized(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def hive_classes() -> Path:
    """Returns the directory of the judge's classes.

    Raises:
        RuntimeMissingError: Hive, the handler or a compiler is missing.
    """
    if not HANDLER_JAR.is_file() or not any(HIVE_LIB.glob("hive-exec-*.jar")):
        raise RuntimeMissingError("no Hive, or no storage handler: run `make runtime handler`")
    return compiled(_SOURCES, _class_path(), [HANDLER_JAR])


def _class_path(*first: Path) -> str:
    return os.pathsep.join(map(str, (*first, HANDLER_JAR, HIVE_LIB / "*")))
