"""Engines in Java that evaluate predicates in a separate process."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from devtools.process import tail
from devtools.runtime import WORK, RuntimeMissingError, java
from tests.truth.engine import Answer, EvaluationResult, Refusal, SessionOptions
from tests.truth.engines.java_classes import compiler
from tests.truth.engines.sql_rows import select_of

MAKE_TARGET = "truth-engines"
_SOURCES = Path(__file__).parent
_TRUTHS = {"t": True, "f": False, "n": None, "!": None}


@dataclass(frozen=True)
class JavaEngine:
    """An engine whose jars `make truth-engines` downloads.

    name: the directory of its jars, and of its source. main: the main class.
    to_millis: converts a stored time, in microseconds, as the engine's Parquet reader does.
    """

    name: str
    main: str
    to_millis: Callable[[int], int]
    jvm_options: tuple[str, ...] = ()

    def jars(self) -> Path:
        """The directory of the engine's jars. Raises RuntimeMissingError."""
        found = WORK / "truth" / self.name
        if not any(found.glob("*.jar")):
            raise RuntimeMissingError(f"no jars in {found}: run `make {MAKE_TARGET}`")
        return found


def answer_of(letters: str) -> Answer:
    """Parses one letter for each row: t, f, n for NULL, ! for a failure."""
    failed = [row for row, letter in enumerate(letters) if letter == "!"]
    return Answer(pa.array([_TRUTHS[letter] for letter in letters], pa.bool_()), failed=failed)


@dataclass(frozen=True)
class Values:
    """The values of a term, without NULLs and failed rows.

    type: as the engine names it. texts: cast to varchar by the engine.
    """

    type: str
    texts: Sequence[str]


class JavaEngineProcess:
    """A running engine, which implements `Engine`. A context manager: it stops the engine on exit.

    Starting takes about seven seconds and up to 1.5 GB of memory.
    """

    def __init__(self, engine: JavaEngine, *, nulls_for_failures: bool = False) -> None:
        """Start the engine.

        nulls_for_failures: a row for which a predicate fails counts as NULL, because no result has
        it. Otherwise the whole predicate is refused, as the query would be.

        Raises RuntimeMissingError: the engine has not been downloaded.
        """
        self.engine = engine
        self._nulls_for_failures = nulls_for_failures
        classpath = f"{engine.jars()}/*"
        self._files = tempfile.TemporaryDirectory(prefix=f"{engine.name}-judge-")
        self._log = Path(self._files.name, "log")
        sources = [
            _SOURCES / "judge" / "Judge.java",
            _SOURCES / engine.name / f"{engine.main}.java",
        ]
        javac = [compiler(), "-cp", classpath, "-d", self._files.name]
        subprocess.run([*javac, *map(str, sources)], check=True)
        options = [
            "-Xmx1500m",
            "-XX:ReservedCodeCacheSize=256m",
            "-XX:+UseSerialGC",
            *engine.jvm_options,
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(java()),
                    *options,
                    "-cp",
                    f"{self._files.name}:{classpath}",
                    f"truth.{engine.main}",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._files.name,
                text=True,
                encoding="utf-8",
            )
        self._line()

    def evaluate(
        self, rows: pa.Table, predicates: Sequence[str], session_options: SessionOptions
    ) -> list[EvaluationResult]:
        """See `Engine`. rows: at least one, of the types that `select_of` supports."""
        parameters = {"predicates": list(predicates), "reasons": not self._nulls_for_failures}
        return [
            self._parse_result(answer)
            for answer in self._request(parameters, rows, session_options)
        ]

    def values(
        self, rows: pa.Table, terms: Sequence[str], session_options: SessionOptions
    ) -> list[Values | None]:
        """Evaluates terms over the rows. Returns None for a term that the engine does not have.

        rows: as in `evaluate`.
        """
        answers = self._request({"terms": list(terms), "reasons": False}, rows, session_options)
        return [Values(one["type"], one["values"]) if one else None for one in answers]

    def _request(
        self, parameters: dict[str, Any], rows: pa.Table, session_options: SessionOptions
    ) -> list[dict[str, Any]]:
        request = {
            "rows": select_of(rows, self.engine.to_millis),
            "count": rows.num_rows,
            "zone": session_options.zone,
            "settings": dict(session_options.settings),
            **parameters,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answers: dict[str, Any] | list[dict[str, Any]] = json.loads(self._line())
        if isinstance(answers, dict):
            raise RuntimeError(f"{self.engine.name} does not take the rows: {answers['broken']}")
        return answers

    def _parse_result(self, answer: dict[str, Any]) -> EvaluationResult:
        truths, reason = answer["truths"], answer["reason"]
        if truths is None or (reason is not None and not self._nulls_for_failures):
            return Refusal(reason)
        return answer_of(truths)

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise RuntimeError(f"{self.engine.name} has ended\n{tail(self._log)}")
        return line

    def close(self) -> None:
        """Stop the engine. May be called again."""
        assert self._process.stdin is not None
        self._process.stdin.close()  # the process ends when its input does
        self._process.wait()
        self._files.cleanup()

    def __enter__(self) -> JavaEngineProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
