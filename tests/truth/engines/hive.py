"""Hive's own expression evaluators, in one JVM without a HiveServer2.

    with hive_jvm() as jvm:
        HiveEngine(jvm).evaluate(rows, ["pmod(i, 7) < 0"], SessionOptions("Europe/Berlin"))

The rows are what Hive's Parquet reader returns: for `timestamp("us", "UTC")` the wall clock in the
zone, for `timestamp("us")` the wall clock as it is. `Answer.filter` is what the storage handler
sends; `sent_filter` decodes it.
"""

from __future__ import annotations

import enum
import hashlib
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
from devtools.runtime import (
    ADD_OPENS,
    COLLECTOR,
    HANDLER_JAR,
    HIVE_LIB,
    WORK,
    RuntimeMissingError,
    java,
)
from pyhudi_expr.protocol.generated.ttypes import PruneRequest
from tests.truth.engine import Answer, EvaluationResult, Refusal, SessionOptions

_SOURCES = Path(__file__).parent / "hive"
_BUILT = WORK / "truth"
_MAIN = "io.pyhudi.truth.HiveJudge"
# Not: path (manifests of other jars), classfile, processing, serial, as in handler-java/pom.xml.
# Not -Werror: Calcite's classes name annotations that are not in the runtime.
_JAVAC = ("--release", "17", "-proc:none", "-Xlint:all,-path,-classfile,-processing,-serial")
_OPTIONS = (
    # Arrow's buffers are Netty's, by reflection.
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dorg.apache.logging.log4j.level=OFF",
    # Hive casts a text that is not a number with an exception for each row.
    "-XX:-StackTraceInThrowable",
)
_TRUTH, _NULL = 1, 2


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
        mode: EvaluationMode,
        rows: pa.Table,
        predicates: Sequence[str],
        session_options: SessionOptions,
    ) -> list[EvaluationResult]:
        """Evaluates each predicate over the rows.

        Raises:
            ServerError: the JVM has died, for example because it does not know a column's type.
        """
        try:
            self._questions.write(_question(mode, rows, predicates, session_options))
            self._questions.flush()
            return [self._parse_result(rows.num_rows) for _ in predicates]
        except (OSError, EOFError) as error:
            raise ServerError(f"the JVM of Hive has died\n{tail(self._log)}") from error

    def close(self) -> None:
        """Stop the JVM."""
        self._process.kill()
        with suppress(OSError):  # Unread input may remain.
            self._questions.close()

    def _parse_result(self, size: int) -> EvaluationResult:
        if self._read(1) == b"\0":
            return Refusal(self._read(self._length()).decode())
        truths = np.frombuffer(self._read(size), np.uint8)
        length = self._length()
        return Answer(
            pa.array(truths == _TRUTH, mask=truths == _NULL),
            None if length < 0 else self._read(length),
        )

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
        return self.jvm.evaluate(self.mode, rows, predicates, session_options)


@contextmanager
def hive_jvm(heap: str = "1g") -> Iterator[HiveJvm]:
    """Starts a JVM with Hive's evaluators, and stops it on exit.

    Raises:
        RuntimeMissingError: Hive, the handler or a JDK is missing.
    """
    classes = _classes()
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
    mode: EvaluationMode, rows: pa.Table, predicates: Sequence[str], session_options: SessionOptions
) -> bytes:
    """Serializes a question, as Question.java reads it."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, rows.schema) as writer:
        writer.write_table(rows)
    settings = session_options.settings
    parts = [bytes([mode]), _sized(session_options.zone.encode()), struct.pack(">i", len(settings))]
    for name, value in settings.items():
        parts += [_sized(name.encode()), _sized(value.encode())]
    parts += [_sized(stream.getvalue().to_pybytes()), struct.pack(">i", len(predicates))]
    parts += [_sized(predicate.encode()) for predicate in predicates]
    return b"".join(parts)


def _sized(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def _classes() -> Path:
    """Compiles the sources, once for each version of them and of the handler."""
    if not HANDLER_JAR.is_file() or not any(HIVE_LIB.glob("hive-exec-*.jar")):
        raise RuntimeMissingError("no Hive, or no storage handler: run `make runtime handler`")
    sources = sorted(_SOURCES.glob("*.java"))
    state = hashlib.sha256()
    for file in (*sources, HANDLER_JAR):
        state.update(file.read_bytes())
    classes = _BUILT / f"hive-{state.hexdigest()[:16]}"
    if not classes.is_dir():
        _BUILT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_BUILT) as made:
            _compile(sources, Path(made, "classes"))
            with suppress(OSError):  # Another process compiled them first.
                Path(made, "classes").rename(classes)
    return classes


def _compile(sources: Sequence[Path], classes: Path) -> None:
    compiler = java().resolve().with_name("javac")
    if not compiler.is_file():
        raise RuntimeMissingError(f"no {compiler}: install a JDK 17, or set JAVA_HOME")
    command = [str(compiler), *_JAVAC, "-d", str(classes), "-cp", _class_path()]
    done = subprocess.run(
        [*command, *map(str, sources)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"javac does not compile {_SOURCES}\n{done.stderr}")


def _class_path(*first: Path) -> str:
    return os.pathsep.join(map(str, (*first, HANDLER_JAR, HIVE_LIB / "*")))
