"""Trino and Presto as witnesses: what they say of random predicates in their SQL."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from devtools.runtime import RuntimeMissingError
from pyhudi_expr.frontend.sql.parser import DIALECTS, parse_predicate
from tests.truth.engine import Answer, Circumstances
from tests.truth.engines.java_judge import JavaEngine, JavaJudge, Values
from tests.truth.engines.presto import PRESTO
from tests.truth.engines.trino import TRINO
from tests.truth.predicates import Grammar, Predicate
from tests.truth.soundness import Hearing

_TERMS, _CONDITIONS, _COMBINED = 120, 60, 60
_SHOWN_VALUES = 200
_UTC = "UTC"
#: Presto's property: whether a time without zone is an instant.
LEGACY_TIMESTAMP = "legacy_timestamp"
ENGINES = {engine.name: engine for engine in (TRINO, PRESTO)}


@dataclass(frozen=True)
class JavaWitness:
    """Trino or Presto, by SQL text. See `pyhudi_expr.frontend.trino.rules` for the zones."""

    judge: JavaJudge

    def circumstances(self, chance: random.Random, zone: str) -> Circumstances:
        """See `tests.truth.witnesses.Witness`."""
        if self.judge.engine is TRINO:
            return Circumstances(zone)
        return Circumstances(zone, {LEGACY_TIMESTAMP: chance.choice(("true", "true", "false"))})

    def hear(
        self, rows: pa.Table, circumstances: Circumstances, chance: random.Random
    ) -> Iterator[Hearing]:
        """See `tests.truth.witnesses.Witness`."""
        dialect = self.judge.engine.name
        asked = self._predicates(Grammar(dialect, chance), rows, circumstances, chance)
        judged = self.judge.judge(rows, [one.text for one in asked], circumstances)
        for predicate, judgement in zip(asked, judged, strict=True):
            if isinstance(judgement, Answer):
                yield hearing(dialect, predicate, circumstances, judgement)

    def _predicates(
        self,
        grammar: Grammar,
        rows: pa.Table,
        circumstances: Circumstances,
        chance: random.Random,
    ) -> list[Predicate]:
        terms = [grammar.term() for _ in range(_TERMS)]
        given = self.judge.values(rows, [term.text for term in terms], circumstances)
        found = [grammar.condition() for _ in range(_CONDITIONS)]
        for term, values in zip(terms, given, strict=True):
            if values is not None:
                found += grammar.comparisons(term, spelled(values, chance))
        return found + [grammar.combined(found) for _ in range(_COMBINED)]


def hearing(
    dialect: str, predicate: Predicate, circumstances: Circumstances, answer: Answer
) -> Hearing:
    """What the engine said of a predicate, and our SQL front door."""
    return Hearing(
        dialect,
        predicate.text,
        predicate.source,
        circumstances,
        truths={dialect: answer.truths},
        readings={"sql": parse_predicate(predicate.text, DIALECTS[dialect])},
        zone=requested_zone(dialect, circumstances),
        failed=answer.failed,
    )


def requested_zone(dialect: str, circumstances: Circumstances) -> str:
    """The zone that a request names: UTC where stored instants are shown as wall clocks of it."""
    legacy = circumstances.settings.get(LEGACY_TIMESTAMP) == "true"
    return circumstances.zone if dialect == PRESTO.name and legacy else _UTC


def spelled(values: Values, chance: random.Random) -> list[str]:
    """Values as constants of Trino and Presto; without those that have no spelling."""
    found = [_spelled(values.type, text, chance) for text in values.texts[:_SHOWN_VALUES]]
    return [text for text in found if text is not None]


def _spelled(type_: str, text: str, chance: random.Random) -> str | None:
    kind = type_.partition("(")[0]
    match kind:
        case "boolean":
            return text
        case "tinyint" | "smallint" | "integer" | "bigint":
            return f"BIGINT '{text}'" if chance.random() < 0.2 or text == _LEAST else text
        case "real" | "double":
            return f"{chance.choice((kind, 'double'))} '{text}'"
        case "decimal":
            return f"DECIMAL '{text}'" if chance.random() < 0.5 else text
        case "varchar" | "char":
            return "'" + text.replace("'", "''") + "'"
        case "date" if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return f"DATE '{text}'"
        case "timestamp" if re.match(r"\d{4}-", text):
            return f"TIMESTAMP '{text}'"
    return None


_LEAST = str(-(2**63))


def is_there(engine: JavaEngine) -> bool:
    """Whether `make truth-engines` has fetched it."""
    try:
        engine.jars()
    except RuntimeMissingError:
        return False
    return True


@contextmanager
def java_witness(engine: JavaEngine) -> Iterator[JavaWitness]:
    """The engine, running; rows that make a predicate fail give no truth."""
    with JavaJudge(engine, nulls_for_failures=True) as judge:
        yield JavaWitness(judge)
