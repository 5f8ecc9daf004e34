"""Trino and Presto as oracles: their results for random predicates in their SQL."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from devtools.runtime import RuntimeMissingError
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, parse_predicate
from pyhudi_expr.expr.semantics import Engine, for_engine
from tests.truth.engine import Answer, SessionOptions
from tests.truth.engines.java_judge import JavaEngine, JavaEngineProcess, Values
from tests.truth.engines.presto import PRESTO
from tests.truth.engines.trino import TRINO
from tests.truth.predicates import Grammar, Predicate
from tests.truth.soundness import EvaluatedPredicate, Question
from tests.truth.values import ZONES
from tests.truth.zones import Zones

_TERMS, _CONDITIONS, _COMBINED = 24, 12, 12
_MAX_VALUES = 200
_UTC = "UTC"
#: Presto's property: whether a time without zone is an instant.
LEGACY_TIMESTAMP = "legacy_timestamp"
ENGINES = {engine.name: engine for engine in (TRINO, PRESTO)}


@dataclass(frozen=True)
class JavaOracle:
    """Trino or Presto, by SQL text. See `expr.frontend.sql.trino_rules` for the zones."""

    process: JavaEngineProcess

    def session_options(self, rng: random.Random, zones: Zones) -> SessionOptions:
        """See `tests.truth.witnesses.Oracle`. Presto has rules of its own, which nobody sends."""
        return self.session_in(rng, rng.choice(ZONES))

    def session_in(self, rng: random.Random, zone: str) -> SessionOptions:
        """Draws the other options of a session in a zone."""
        if self.process.engine is TRINO:
            return SessionOptions(zone)
        return SessionOptions(zone, {LEGACY_TIMESTAMP: rng.choice(("true", "true", "false"))})

    def evaluate_random(
        self, rows: pa.Table, session_options: SessionOptions, rng: random.Random
    ) -> Iterator[EvaluatedPredicate]:
        """See `tests.truth.witnesses.Oracle`."""
        dialect = self.process.engine.name
        cases = self._predicates(Grammar(dialect, rng), rows, session_options, rng)
        results = self.process.evaluate(rows, [one.text for one in cases], session_options)
        for predicate, result in zip(cases, results, strict=True):
            if isinstance(result, Answer):
                yield evaluated_predicate(dialect, predicate, session_options, result)

    def _predicates(
        self,
        grammar: Grammar,
        rows: pa.Table,
        session_options: SessionOptions,
        rng: random.Random,
    ) -> list[Predicate]:
        terms = [grammar.term() for _ in range(_TERMS)]
        term_values = self.process.values(rows, [term.text for term in terms], session_options)
        found = [grammar.condition() for _ in range(_CONDITIONS)]
        for term, values in zip(terms, term_values, strict=True):
            if values is not None:
                found += grammar.comparisons(term, spelled(values, rng))
        return found + [grammar.combined(found) for _ in range(_COMBINED)]


def evaluated_predicate(
    dialect: str, predicate: Predicate, session_options: SessionOptions, answer: Answer
) -> EvaluatedPredicate:
    """The engine's result for a predicate, and the predicate as our SQL front end converts it."""
    return EvaluatedPredicate(
        dialect,
        predicate.text,
        predicate.source,
        session_options,
        truths={dialect: answer.truths},
        questions={
            "sql": Question(
                parse_predicate(predicate.text, DIALECTS[dialect]),
                for_engine(requested_zone(dialect, session_options), Engine(dialect)),
            )
        },
        failed=answer.failed,
    )


def requested_zone(dialect: str, session_options: SessionOptions) -> str:
    """The zone in a request: UTC if stored instants are shown as wall clocks in UTC."""
    legacy = session_options.settings.get(LEGACY_TIMESTAMP) == "true"
    return session_options.zone if dialect == PRESTO.name and legacy else _UTC


def spelled(values: Values, rng: random.Random) -> list[str]:
    """Values as constants of Trino and Presto, without those that have none."""
    found = [_spelled(values.type, text, rng) for text in values.texts[:_MAX_VALUES]]
    return [text for text in found if text is not None]


def _spelled(type_: str, text: str, rng: random.Random) -> str | None:
    kind = type_.partition("(")[0]
    match kind:
        case "boolean":
            return text
        case "tinyint" | "smallint" | "integer" | "bigint":
            return f"BIGINT '{text}'" if rng.random() < 0.2 or text == _LEAST else text
        case "real" | "double":
            return f"{rng.choice((kind, 'double'))} '{text}'"
        case "decimal":
            return f"DECIMAL '{text}'" if rng.random() < 0.5 else text
        case "varchar" | "char":
            return "'" + text.replace("'", "''") + "'"
        case "date" if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return f"DATE '{text}'"
        case "timestamp" if re.match(r"\d{4}-", text):
            return f"TIMESTAMP '{text}'"
    return None


_LEAST = str(-(2**63))


def is_installed(engine: JavaEngine) -> bool:
    """Whether `make truth-engines` has downloaded it."""
    try:
        engine.jars()
    except RuntimeMissingError:
        return False
    return True


@contextmanager
def running_java_oracle(engine: JavaEngine) -> Iterator[JavaOracle]:
    """Starts the engine. A row for which a predicate fails has no truth value."""
    with JavaEngineProcess(engine, nulls_for_failures=True) as process:
        yield JavaOracle(process)
