"""The engines as witnesses: what each says of random predicates, and what our front doors read."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from devtools.spark import SHORT_QUERIES, spark_session
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.frontend.sql.parser import HIVE, SPARK, parse_predicate
from pyhudi_expr.frontend.thrift.decoder import decode
from tests.truth import templates
from tests.truth.engine import Answer, Circumstances, Judgement, Refusal
from tests.truth.engines.hive import HiveEngine, Way, hive_jvm, sent_filter
from tests.truth.engines.java_judge import MAKE_TARGET
from tests.truth.engines.spark import SparkEngine
from tests.truth.predicates import Grammar, Predicate, Term, spell
from tests.truth.soundness import Hearing
from tests.truth.trino_witness import ENGINES as JAVA_ENGINES
from tests.truth.trino_witness import is_there, java_witness

_TERMS, _CONDITIONS, _COMBINED = 120, 60, 60
_SHOWN_VALUES = 200
_FILTERS = frozenset({Way.VECTOR_FILTER.name.lower(), Way.VECTOR_FILTER_OF_ONE.name.lower()})


class Witness(Protocol):
    """An engine that can be heard."""

    def circumstances(self, chance: random.Random, zone: str) -> Circumstances:
        """Settings that change what functions give, at random."""

    def hear(
        self, rows: pa.Table, circumstances: Circumstances, chance: random.Random
    ) -> Iterator[Hearing]:
        """Some hundreds of predicates over the rows."""


class SparkWitness:
    """Spark, by SQL text and by its analysed expressions."""

    def __init__(self, engine: SparkEngine) -> None:
        self._engine = engine

    def circumstances(self, chance: random.Random, zone: str) -> Circumstances:
        """See `Witness`."""
        policy = chance.choice(("EXCEPTION", "CORRECTED", "LEGACY"))
        loss = chance.choice(("true", "false"))
        settings = {
            "spark.sql.legacy.timeParserPolicy": policy,
            "spark.sql.decimalOperations.allowPrecisionLoss": loss,
        }
        return Circumstances(zone, settings)

    def hear(
        self, rows: pa.Table, circumstances: Circumstances, chance: random.Random
    ) -> Iterator[Hearing]:
        """See `Witness`."""
        grammar = Grammar(templates.SPARK, chance)
        asked = predicates(grammar, self._engine, rows, circumstances, chance)
        texts = [one.text for one in asked]
        judged = self._engine.judge(rows, texts, circumstances)
        analysed = self._engine.analysed(rows, texts, circumstances)
        for predicate, judgement, tree in zip(asked, judged, analysed, strict=True):
            if isinstance(judgement, Answer):
                readings = {"sql": parse_predicate(predicate.text, SPARK)}
                if not isinstance(tree, Refusal):
                    readings["catalyst"] = tree
                truths = {"spark": judgement.truths}
                yield Hearing(templates.SPARK, *_of(predicate), circumstances, truths, readings)


class HiveWitness:
    """Hive's evaluators, row by row and by vectors, by SQL text and by the handler's filter.

    Which values a comparison may be about is Spark's word.
    """

    def __init__(self, engines: dict[str, HiveEngine], values: SparkEngine) -> None:
        self._engines = engines
        self._values = values

    def circumstances(self, chance: random.Random, zone: str) -> Circumstances:
        """See `Witness`."""
        formatter = chance.choice(("DATETIME", "SIMPLE"))
        optimised = chance.choice(("true", "false"))
        settings = {"hive.datetime.formatter": formatter, "hive.cbo.enable": optimised}
        return Circumstances(zone, settings)

    def hear(
        self, rows: pa.Table, circumstances: Circumstances, chance: random.Random
    ) -> Iterator[Hearing]:
        """See `Witness`."""
        grammar = Grammar(templates.HIVE, chance)
        session = Circumstances(circumstances.zone)
        asked = predicates(grammar, self._values, rows, session, chance)
        texts = [one.text for one in asked]
        judged = {
            name: engine.judge(rows, texts, circumstances) for name, engine in self._engines.items()
        }
        # Calcite tells FALSE from NULL only inside of a condition.
        filtered = circumstances.settings["hive.cbo.enable"] == "true"
        for number, predicate in enumerate(asked):
            said = {name: answers[number] for name, answers in judged.items()}
            given = {name: one.truths for name, one in said.items() if isinstance(one, Answer)}
            true_only = frozenset(given if filtered else _FILTERS)
            truths = {
                name: _only_true(one) if name in true_only else one for name, one in given.items()
            }
            if truths:
                about = (*_of(predicate), circumstances)
                readings = _hive_readings(predicate.text, said.values())
                yield Hearing(templates.HIVE, *about, truths, readings, true_only)


def _only_true(truths: pa.BooleanArray) -> pa.BooleanArray:
    """What a filter says: not whether a row that it leaves out is FALSE or NULL."""
    return pc.if_else(truths, truths, pa.scalar(None, pa.bool_()))


def _hive_readings(text: str, said: Sequence[Judgement]) -> dict[str, HudiExpression]:
    readings = {"sql": parse_predicate(text, HIVE)}
    sent = next((one.filter for one in said if isinstance(one, Answer) and one.filter), None)
    if sent is not None:
        readings["handler"] = decode(sent_filter(sent).filter)
    return readings


def predicates(
    grammar: Grammar,
    engine: SparkEngine,
    rows: pa.Table,
    circumstances: Circumstances,
    chance: random.Random,
) -> list[Predicate]:
    """Comparisons of terms with what they give, conditions, and some of both under connectives."""
    terms = [grammar.term() for _ in range(_TERMS)]
    given = engine.values(rows, [term.text for term in terms], circumstances)
    found = [grammar.condition() for _ in range(_CONDITIONS)]
    for term, values in zip(terms, given, strict=True):
        found += grammar.comparisons(term, _spelled(term, values, rows, circumstances.zone))
    return found + [grammar.combined(found) for _ in range(_COMBINED)]


def _spelled(term: Term, values: pa.Array | Refusal, rows: pa.Table, zone: str) -> list[str]:
    if isinstance(values, Refusal):  # by Spark, which has no such function
        values = rows[templates.FAMILIES[term.gives][0]].combine_chunks()
    try:
        listed = values.drop_null()[:_SHOWN_VALUES].to_pylist()
    except (ValueError, OverflowError):  # times beyond Python's
        listed = []
    return [text for one in listed if (text := spell(one, values.type, zone)) is not None]


def _of(predicate: Predicate) -> tuple[str, str]:
    return predicate.text, predicate.source


#: What judges, in this order.
DIALECTS = (templates.SPARK, templates.HIVE, templates.TRINO, templates.PRESTO)


def missing() -> dict[str, str]:
    """The dialects whose engines are not there, and what fetches them."""
    return {
        name: f"make {MAKE_TARGET}" for name, engine in JAVA_ENGINES.items() if not is_there(engine)
    }


@contextmanager
def witnesses(dialects: Sequence[str]) -> Iterator[dict[str, Witness]]:
    """The witnesses of these dialects, their engines running."""
    with ExitStack() as running:
        found: dict[str, Witness] = {}
        if {templates.SPARK, templates.HIVE} & {*dialects}:
            spark = running.enter_context(_spark())
            if templates.SPARK in dialects:
                found[templates.SPARK] = SparkWitness(spark)
            if templates.HIVE in dialects:
                jvm = running.enter_context(hive_jvm())
                engines = {way.name.lower(): HiveEngine(jvm, way) for way in Way}
                found[templates.HIVE] = HiveWitness(engines, spark)
        for name, engine in JAVA_ENGINES.items():
            if name in dialects:
                found[name] = running.enter_context(java_witness(engine))
        yield found


@contextmanager
def _spark() -> Iterator[SparkEngine]:
    with (
        tempfile.TemporaryDirectory() as scratch,
        spark_session("truth", cores=1, heap="1g", settings=SHORT_QUERIES) as session,
    ):
        session.sparkContext.setLogLevel("OFF")
        yield SparkEngine(session, Path(scratch))
