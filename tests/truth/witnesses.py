"""The engines as oracles: they evaluate random predicates, which our front ends convert as well."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from devtools.spark import SHORT_QUERIES, spark_session
from pyhudi_expr.expr.frontend.sql.parser import HIVE, SPARK, parse_predicate
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.protocol.conversion.decoder import decode
from tests.truth import templates
from tests.truth.engine import Answer, EvaluationResult, Refusal, SessionOptions
from tests.truth.engines.hive import EvaluationMode, HiveEngine, HiveJvm, hive_jvm, sent_filter
from tests.truth.engines.java_judge import MAKE_TARGET
from tests.truth.engines.spark import SparkEngine
from tests.truth.predicates import Grammar, Predicate, Term, spell
from tests.truth.soundness import EvaluatedPredicate
from tests.truth.trino_witness import ENGINES as JAVA_ENGINES
from tests.truth.trino_witness import is_installed, running_java_oracle

_TERMS, _CONDITIONS, _COMBINED = 120, 60, 60
_MAX_VALUES = 200
_FILTERS = frozenset(
    {EvaluationMode.VECTOR_FILTER.name.lower(), EvaluationMode.VECTOR_FILTER_OF_ONE.name.lower()}
)


class Oracle(Protocol):
    """An engine that evaluates random predicates."""

    def session_options(self, rng: random.Random, zone: str) -> SessionOptions:
        """Draws session options that change what functions return."""

    def evaluate_random(
        self, rows: pa.Table, session_options: SessionOptions, rng: random.Random
    ) -> Iterator[EvaluatedPredicate]:
        """Evaluates some hundred random predicates over the rows."""


class SparkOracle:
    """Spark, by SQL text and by its analysed expressions."""

    def __init__(self, engine: SparkEngine) -> None:
        self._engine = engine

    def session_options(self, rng: random.Random, zone: str) -> SessionOptions:
        """See `Oracle`."""
        policy = rng.choice(("EXCEPTION", "CORRECTED", "LEGACY"))
        loss = rng.choice(("true", "false"))
        settings = {
            "spark.sql.legacy.timeParserPolicy": policy,
            "spark.sql.decimalOperations.allowPrecisionLoss": loss,
        }
        return SessionOptions(zone, settings)

    def evaluate_random(
        self, rows: pa.Table, session_options: SessionOptions, rng: random.Random
    ) -> Iterator[EvaluatedPredicate]:
        """See `Oracle`."""
        grammar = Grammar(templates.SPARK, rng)
        cases = predicates(grammar, self._engine, rows, session_options, rng)
        texts = [one.text for one in cases]
        results = self._engine.evaluate(rows, texts, session_options)
        analysed = self._engine.analysed(rows, texts, session_options)
        for predicate, result, tree in zip(cases, results, analysed, strict=True):
            if isinstance(result, Answer):
                converted = {"sql": parse_predicate(predicate.text, SPARK)}
                if not isinstance(tree, Refusal):
                    converted["catalyst"] = tree
                truths = {"spark": result.truths}
                yield EvaluatedPredicate(
                    templates.SPARK,
                    *_text_and_source(predicate),
                    session_options,
                    truths,
                    converted,
                )


class HiveOracle:
    """Hive's evaluators, row by row and vectorised, by SQL text and by the handler's filter.

    Spark supplies the values that predicates compare with.
    """

    def __init__(self, engines: dict[str, HiveEngine], values: SparkEngine) -> None:
        self._engines = engines
        self._values = values

    def session_options(self, rng: random.Random, zone: str) -> SessionOptions:
        """See `Oracle`."""
        formatter = rng.choice(("DATETIME", "SIMPLE"))
        optimised = rng.choice(("true", "false"))
        settings = {"hive.datetime.formatter": formatter, "hive.cbo.enable": optimised}
        return SessionOptions(zone, settings)

    def evaluate_random(
        self, rows: pa.Table, session_options: SessionOptions, rng: random.Random
    ) -> Iterator[EvaluatedPredicate]:
        """See `Oracle`."""
        grammar = Grammar(templates.HIVE, rng)
        session = SessionOptions(session_options.zone)
        cases = predicates(grammar, self._values, rows, session, rng)
        return evaluated_by_hive(self._engines, rows, cases, session_options)


def evaluated_by_hive(
    engines: Mapping[str, HiveEngine],
    rows: pa.Table,
    cases: Sequence[Predicate],
    session_options: SessionOptions,
) -> Iterator[EvaluatedPredicate]:
    """Evaluates predicates in Hive's modes. Those that it refuses in every mode are left out."""
    texts = [one.text for one in cases]
    results = {
        name: engine.evaluate(rows, texts, session_options) for name, engine in engines.items()
    }
    # Calcite tells FALSE from NULL only inside a condition.
    filtered = session_options.settings["hive.cbo.enable"] == "true"
    for number, predicate in enumerate(cases):
        results_by_mode = {name: answers[number] for name, answers in results.items()}
        given = {
            name: one.truths for name, one in results_by_mode.items() if isinstance(one, Answer)
        }
        true_only = frozenset(given if filtered else _FILTERS)
        truths = {
            name: _nulls_unless_true(one) if name in true_only else one
            for name, one in given.items()
        }
        if truths:
            parts = (*_text_and_source(predicate), session_options)
            converted = _hive_readings(predicate.text, results_by_mode.values())
            yield EvaluatedPredicate(templates.HIVE, *parts, truths, converted, true_only)


def all_modes(jvm: HiveJvm) -> dict[str, HiveEngine]:
    """Hive in each of its evaluation modes, by name."""
    return {mode.name.lower(): HiveEngine(jvm, mode) for mode in EvaluationMode}


def _nulls_unless_true(truths: pa.BooleanArray) -> pa.BooleanArray:
    """The result of a filter, which does not tell FALSE from NULL."""
    return pc.if_else(truths, truths, pa.scalar(None, pa.bool_()))


def _hive_readings(text: str, results: Sequence[EvaluationResult]) -> dict[str, HudiExpression]:
    converted = {"sql": parse_predicate(text, HIVE)}
    filter_sent = next(
        (one.filter for one in results if isinstance(one, Answer) and one.filter), None
    )
    if filter_sent is not None:
        converted["handler"] = decode(sent_filter(filter_sent).filter)
    return converted


def predicates(
    grammar: Grammar,
    engine: SparkEngine,
    rows: pa.Table,
    session_options: SessionOptions,
    rng: random.Random,
) -> list[Predicate]:
    """Draws comparisons of terms with their values, conditions, and combinations of both."""
    terms = [grammar.term() for _ in range(_TERMS)]
    given = engine.values(rows, [term.text for term in terms], session_options)
    found = [grammar.condition() for _ in range(_CONDITIONS)]
    for term, values in zip(terms, given, strict=True):
        found += grammar.comparisons(term, _constants(term, values, rows, session_options.zone))
    return found + [grammar.combined(found) for _ in range(_COMBINED)]


def _constants(term: Term, values: pa.Array | Refusal, rows: pa.Table, zone: str) -> list[str]:
    if isinstance(values, Refusal):  # Spark has no such function
        values = rows[templates.FAMILIES[term.result_family][0]].combine_chunks()
    try:
        listed = values.drop_null()[:_MAX_VALUES].to_pylist()
    except (ValueError, OverflowError):  # times that Python cannot represent
        listed = []
    return [text for one in listed if (text := spell(one, values.type, zone)) is not None]


def _text_and_source(predicate: Predicate) -> tuple[str, str]:
    return predicate.text, predicate.source


#: The dialects with an oracle, in this order.
DIALECTS = (templates.SPARK, templates.HIVE, templates.TRINO, templates.PRESTO)


def missing() -> dict[str, str]:
    """The dialects whose engines are not installed, and the command that installs them."""
    return {
        name: f"make {MAKE_TARGET}"
        for name, engine in JAVA_ENGINES.items()
        if not is_installed(engine)
    }


@contextmanager
def running_oracles(dialects: Sequence[str]) -> Iterator[dict[str, Oracle]]:
    """Starts the engines of these dialects."""
    with ExitStack() as running:
        found: dict[str, Oracle] = {}
        if {templates.SPARK, templates.HIVE} & {*dialects}:
            spark = running.enter_context(_spark())
            if templates.SPARK in dialects:
                found[templates.SPARK] = SparkOracle(spark)
            if templates.HIVE in dialects:
                jvm = running.enter_context(hive_jvm())
                found[templates.HIVE] = HiveOracle(all_modes(jvm), spark)
        for name, engine in JAVA_ENGINES.items():
            if name in dialects:
                found[name] = running.enter_context(running_java_oracle(engine))
        yield found


@contextmanager
def _spark() -> Iterator[SparkEngine]:
    with (
        tempfile.TemporaryDirectory() as scratch,
        spark_session("truth", cores=1, heap="1g", settings=SHORT_QUERIES) as session,
    ):
        session.sparkContext.setLogLevel("OFF")
        yield SparkEngine(session, Path(scratch))
