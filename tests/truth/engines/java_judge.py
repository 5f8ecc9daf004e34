"""Engines in Java that judge predicates in a process of their own."""

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
from tests.truth.engine import Answer, Circumstances, Judgement, Refusal
from tests.truth.engines.sql_rows import select_of

MAKE_TARGET = "truth-engines"
_SOURCES = Path(__file__).parent
_TRUTHS = {"t": True, "f": False, "n": None, "!": None}


@dataclass(frozen=True)
class JavaEngine:
    """An engine whose jars `make truth-engines` fetches.

    name: of the directory with the jars and the one with the source. main: the class that answers.
    to_millis: a stored time, in microseconds, as the engine's Parquet reader gives it.
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
    """What a letter for each row says: t, f, n for NULL, ! where it fails."""
    failed = [row for row, letter in enumerate(letters) if letter == "!"]
    return Answer(pa.array([_TRUTHS[letter] for letter in letters], pa.bool_()), failed=failed)


@dataclass(frozen=True)
class Values:
    """What a term gives, without NULLs and the rows that make it fail.

    type: as the engine names it. texts: as it casts them to varchar.
    """

    type: str
    texts: Sequence[str]


class JavaJudge:
    """The running engine, an `Engine`. As a context manager it ends with the block.

    It starts in about seven seconds and takes up to 1.5 GB.
    """

    def __init__(self, engine: JavaEngine, *, nulls_for_failures: bool = False) -> None:
        """Start it.

        nulls_for_failures: a row that makes a predicate fail counts as NULL: it is in no result.
        Else the whole predicate is refused, as the query would be.

        Raises RuntimeMissingError: the engine has not been fetched.
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
        javac = [str(java().with_name("javac")), "-cp", classpath, "-d", self._files.name]
        subprocess.run([*javac, *map(str, sources)], check=True)
        options = ["-Xmx1500m", "-XX:+UseSerialGC", *engine.jvm_options]
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

    def judge(
        self, rows: pa.Table, predicates: Sequence[str], circumstances: Circumstances
    ) -> list[Judgement]:
        """See `Engine`. rows: at least one, of the types of `select_of`."""
        asked = {"predicates": list(predicates), "reasons": not self._nulls_for_failures}
        return [self._judgement(answer) for answer in self._asked(asked, rows, circumstances)]

    def values(
        self, rows: pa.Table, terms: Sequence[str], circumstances: Circumstances
    ) -> list[Values | None]:
        """What terms give for the rows; None where the engine has no such term.

        rows: as in `judge`.
        """
        answers = self._asked({"terms": list(terms), "reasons": False}, rows, circumstances)
        return [Values(one["type"], one["values"]) if one else None for one in answers]

    def _asked(
        self, asked: dict[str, Any], rows: pa.Table, circumstances: Circumstances
    ) -> list[dict[str, Any]]:
        request = {
            "rows": select_of(rows, self.engine.to_millis),
            "count": rows.num_rows,
            "zone": circumstances.zone,
            "settings": dict(circumstances.settings),
            **asked,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answers: dict[str, Any] | list[dict[str, Any]] = json.loads(self._line())
        if isinstance(answers, dict):
            raise RuntimeError(f"{self.engine.name} does not take the rows: {answers['broken']}")
        return answers

    def _judgement(self, answer: dict[str, Any]) -> Judgement:
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
        """End the engine. Again is harmless."""
        assert self._process.stdin is not None
        self._process.stdin.close()  # it ends with its input
        self._process.wait()
        self._files.cleanup()

    def __enter__(self) -> JavaJudge:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
