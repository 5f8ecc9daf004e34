"""The engines as oracles: they evaluate random predicates, which our front ends convert as well."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import cycle
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pyhudi_expr.expr.frontend.sql.parser import HIVE, SPARK, parse_predicate
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Semantics
from pyhudi_expr.protocol.conversion.decoder import Limits, decode
from pyhudi_expr.protocol.conversion.semantics import decode_semantics
from pyhudi_expr.service.answers.questions import decode_spark
from pyhudi_expr.spark.query.predicates import (
    SparkPredicate,
    filters_of,
    predicate_of,
    session_semantics,
)
from tests.truth import templates
from tests.truth.engine import Analysis, Answer, EvaluationResult, Place, Refusal, SessionOptions
from tests.truth.engines.hive import EvaluationMode, HiveJvm, hive_classes, hive_jvm, sent_filter
from tests.truth.engines.java_judge import MAKE_TARGET
from tests.truth.engines.spark_judge import (
    SparkJudge,
    SparkResult,
    running_spark_judge,
    spark_classes,
)
from tests.truth.predicates import Grammar, Predicate, Term, spell
from tests.truth.soundness import EvaluatedPredicate, Question
from tests.truth.trino_witness import ENGINES as JAVA_ENGINES
from tests.truth.trino_witness import is_installed, running_java_oracle
from tests.truth.zones import FIXED_OFFSETS, JVM_NAMES, ZoneRules, Zones, zone_classes

_MAX_VALUES = 200
_FILTERS = frozenset(
    {EvaluationMode.VECTOR_FILTER.name.lower(), EvaluationMode.VECTOR_FILTER_OF_ONE.name.lower()}
)


@dataclass(frozen=True)
class Amounts:
    """How many terms, other conditions and combinations of them a session has."""

    terms: int
    conditions: int
    combined: int


#: A session costs as much as some twenty predicates.
FEW, MANY = Amounts(3, 4, 3), Amounts(120, 60, 60)


class Oracle(Protocol):
    """An engine that evaluates random predicates."""

    def session_options(self, rng: random.Random, zones: Zones) -> SessionOptions:
        """Draws what changes the values of predicates."""

    def evaluate_random(
        self, rows: pa.Table, session_options: SessionOptions, rng: random.Random
    ) -> Iterator[EvaluatedPredicate]:
        """Evaluates some random predicates over the rows."""


class Values(Protocol):
    """What evaluates terms, so that predicates compare with values that they take."""

    def values(
        self, rows: pa.Table, terms: Sequence[str], session_options: SessionOptions
    ) -> list[pa.Array | Refusal]:
        """Evaluates each term over the rows."""


class SparkOracle:
    """Spark, by SQL text, by what PySpark's users call, and by the extension's requests."""

    def __init__(self, judge: SparkJudge, zones: Zones) -> None:
        self._judge = judge
        self._zones = zones

    @property
    def spark(self) -> SparkSession:
        """The session, whose JVM has Hudi."""
        return self._judge.spark

    def session_options(self, rng: random.Random, zones: Zones) -> SessionOptions:
        """See `Oracle`."""
        return spark_session_options(rng, zones)

    def evaluate_random(
        self, rows: pa.Table, session_options: SessionOptions, rng: random.Random
    ) -> Iterator[EvaluatedPredicate]:
        """See `Oracle`."""
        grammar = Grammar(templates.SPARK, rng)
        rules = self._zones.rules[session_options.zone]
        cases = predicates(grammar, self._judge, rows, session_options, rng, rules)
        texts = [one.text for one in cases]
        with self._judge.evaluated(rows, texts, session_options) as results:
            semantics = session_semantics(self._judge.spark)
            for predicate, result in zip(cases, results, strict=True):
                if not isinstance(result, Refusal):
                    yield EvaluatedPredicate(
                        templates.SPARK,
                        *_text_and_source(predicate),
                        session_options,
                        {"spark": result.truths, "spark's filter": result.selected},
                        _spark_questions(predicate.text, result, session_options, semantics),
                        frozenset({"spark's filter"}),
                        failed=result.failed,
                    )


def _spark_questions(
    text: str, result: SparkResult, session_options: SessionOptions, semantics: Semantics
) -> dict[str, Question]:
    found = {"filters_of": question_of_frame(filters_of(result.frame))}
    if session_options.analysis is None:
        # A text that is no session's is read as Spark reads it by default.
        if not _OF_TEXTS & session_options.settings.keys():
            found["sql"] = Question(parse_predicate(text, SPARK), semantics)
        found["predicate_of"] = question_of_frame(predicate_of(result.rows, text))
    if result.request is not None:
        found["extension"] = sent_question(result.request)
    return found


def spark_session_options(rng: random.Random, zones: Zones) -> SessionOptions:
    """Draws a session of Spark; a third of them runs what another session has analysed."""
    zone, settings = zones.draw(rng, _SPARK_ZONES), drawn(rng, SPARK_SETTINGS)
    if rng.random() < 0.66:
        return SessionOptions(zone, settings)
    analysing = drawn(rng, SPARK_SETTINGS)
    other = Analysis(zones.draw(rng, _SPARK_ZONES), analysing, as_view=rng.random() < 0.5)
    # Settings of the analysis that running sets anew would else stay.
    default = {name: SPARK_SETTINGS[name][0] for name in analysing}
    return SessionOptions(zone, {**default, **settings}, analysis=other)


_SPARK_ZONES = (*JVM_NAMES, *FIXED_OFFSETS)


class HiveOracle:
    """Hive's evaluators, row by row and vectorised, by SQL text and by the handler's filter.

    Spark supplies the values that predicates compare with.
    """

    def __init__(self, jvm: HiveJvm, values: SparkJudge, zones: Zones) -> None:
        self._jvm = jvm
        self._values = values
        self._zones = zones

    def session_options(self, rng: random.Random, zones: Zones) -> SessionOptions:
        """See `Oracle`."""
        return hive_session_options(rng, zones)

    def evaluate_random(
        self, rows: pa.Table, session_options: SessionOptions, rng: random.Random
    ) -> Iterator[EvaluatedPredicate]:
        """See `Oracle`."""
        grammar = Grammar(templates.HIVE, rng)
        reader, zone = session_options.reader_zone, session_options.zone
        # Functions of the session's zone, or of what the reader shows.
        valued = SessionOptions(reader if zone == LOCAL else rng.choice((reader, zone)))
        rules = self._zones.rules[reader]
        cases = predicates(grammar, self._values, rows, valued, rng, rules)
        return evaluated_by_hive(self._jvm, rows, cases, session_options)


#: The session's zone is that of the JVM.
LOCAL = "LOCAL"


def hive_session_options(rng: random.Random, zones: Zones) -> SessionOptions:
    """Draws a session of Hive, and where its rows are read."""
    zone = LOCAL if rng.random() < 0.25 else zones.draw(rng, FIXED_OFFSETS)
    settings, place = hive_settings(rng), rng.choice((*Place, Place.CONTAINER))
    server = zones.draw(rng, JVM_NAMES)
    task = zones.draw(rng, JVM_NAMES) if place is Place.CONTAINER else server
    if place is Place.CONTAINER:
        settings |= containers_in(task, rng)
    return SessionOptions(zone, settings, server, task, place)


def hive_settings(rng: random.Random) -> dict[str, str]:
    """Draws settings of Hive that change what it evaluates, or how."""
    return {**drawn(rng, HIVE_SETTINGS), "hive.cbo.enable": rng.choice(("true", "false"))}


def containers_in(zone: str, rng: random.Random) -> dict[str, str]:
    """The settings by which tasks run in JVMs of a zone."""
    option = f"-Xmx1g -Duser.timezone={zone}"
    if rng.random() < 0.5:
        engine = {"hive.execution.engine": "mr", "mapreduce.framework.name": "yarn"}
        return {**engine, "mapreduce.map.java.opts": option}
    engine = {"hive.execution.engine": "tez", "tez.local.mode": "false"}
    name = rng.choice(("hive.tez.java.opts", "tez.task.launch.cmd-opts"))
    return {**engine, name: option}


def evaluated_by_hive(
    jvm: HiveJvm,
    rows: pa.Table,
    cases: Sequence[Predicate],
    session_options: SessionOptions,
) -> Iterator[EvaluatedPredicate]:
    """Evaluates predicates in Hive's modes. Those that it refuses in every mode are left out."""
    modes = [*EvaluationMode]
    if session_options.place is Place.FETCH:
        modes = [EvaluationMode.ROWS]
    results = jvm.evaluate(modes, rows, [one.text for one in cases], session_options)
    # A session's requests have the same.
    any_sent = next((sent for answers in results if (sent := _sent(answers)) is not None), None)
    semantics = UNKNOWN_SEMANTICS if any_sent is None else sent_question(any_sent).semantics
    # Calcite tells FALSE from NULL only inside a condition.
    filtered = session_options.settings.get("hive.cbo.enable", "true") == "true"
    for predicate, answers in zip(cases, results, strict=True):
        given = {
            mode.name.lower(): one
            for mode, one in zip(modes, answers, strict=True)
            if isinstance(one, Answer)
        }
        true_only = frozenset(given if filtered else _FILTERS)
        truths = {
            name: _nulls_unless_true(one.truths) if name in true_only else one.truths
            for name, one in given.items()
        }
        if truths:
            yield EvaluatedPredicate(
                templates.HIVE,
                *_text_and_source(predicate),
                session_options,
                truths,
                _hive_questions(predicate.text, _sent(answers), semantics),
                true_only,
                failed=sorted({row for one in given.values() for row in one.failed}),
            )


def _nulls_unless_true(truths: pa.BooleanArray) -> pa.BooleanArray:
    """The result of a filter, which does not tell FALSE from NULL."""
    return pc.if_else(truths, truths, pa.scalar(None, pa.bool_()))


def _hive_questions(text: str, sent: bytes | None, semantics: Semantics) -> dict[str, Question]:
    found = {"sql": Question(parse_predicate(text, HIVE), semantics)}
    if sent is not None:
        found["handler"] = sent_question(sent)
    return found


def _sent(results: Iterable[EvaluationResult]) -> bytes | None:
    """The handler's request for a predicate, by its results."""
    return next((one.filter for one in results if isinstance(one, Answer) and one.filter), None)


def sent_question(request: bytes) -> Question:
    """The question of a request, as the service understands it."""
    sent = sent_filter(request)
    semantics = decode_semantics(sent.semantics)
    if sent.sparkCondition is None:
        return Question(decode(sent.filter), semantics)
    condition = decode_spark(sent.sparkCondition, semantics, Limits())
    return Question(condition, semantics, is_filter=True)


def question_of_frame(predicate: SparkPredicate) -> Question:
    """The question of PySpark's functions."""
    return Question(predicate.expression, predicate.semantics, is_filter=True)


def drawn(rng: random.Random, settings: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Some of the settings, each with one of its values; none for half of the sessions.

    Where a session sets one, many expressions are unknown, which loses no row.
    """
    if rng.random() < 0.5:
        return {}
    return {name: rng.choice(choices) for name, choices in settings.items() if rng.random() < _SET}


_SET = 0.3
_ESCAPED = "spark.sql.parser.escapedStringLiterals"
_AS_TEXTS = "spark.sql.legacy.typeCoercion.datetimeToString.enabled"
#: Settings by which a text has another meaning.
_OF_TEXTS = frozenset({_ESCAPED, _AS_TEXTS})
#: Settings that change what Spark evaluates, and their values; the default one is the first.
SPARK_SETTINGS: Mapping[str, Sequence[str]] = {
    "spark.sql.legacy.timeParserPolicy": ("EXCEPTION", "CORRECTED", "LEGACY"),
    "spark.sql.decimalOperations.allowPrecisionLoss": ("true", "false"),
    "spark.sql.ansi.enabled": ("false", "true"),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("CORRECTED", "LEGACY"),
    "spark.sql.timestampType": ("TIMESTAMP_LTZ", "TIMESTAMP_NTZ"),
    _AS_TEXTS: ("false", "true"),
    "spark.sql.legacy.literal.pickMinimumPrecision": ("true", "false"),
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": ("false", "true"),
    "spark.sql.optimizer.inSetConversionThreshold": ("10", "1"),
    _ESCAPED: ("false", "true"),
}
#: The same of Hive.
HIVE_SETTINGS: Mapping[str, Sequence[str]] = {
    "hive.datetime.formatter": ("DATETIME", "SIMPLE"),
    "hive.datetime.formatter.resolver.style": ("SMART", "STRICT", "LENIENT"),
    "hive.int.timestamp.conversion.in.seconds": ("false", "true"),
    "hive.strict.timestamp.conversion": ("true", "false"),
    "hive.use.googleregex.engine": ("false", "true"),
    "hive.vectorized.use.checked.expressions": ("false", "true"),
    "hive.vectorized.if.expr.mode": ("better", "good", "adaptor"),
    "hive.vectorized.adaptor.usage.mode": ("all", "chosen", "none"),
}


def predicates(
    grammar: Grammar,
    engine: Values,
    rows: pa.Table,
    session_options: SessionOptions,
    rng: random.Random,
    shown_in: ZoneRules,
    amounts: Amounts = FEW,
) -> list[Predicate]:
    """Draws comparisons of terms with their values, conditions, and combinations of both.

    shown_in: the zone in which instants are written.
    """
    terms = [grammar.term() for _ in range(amounts.terms)]
    given = engine.values(rows, [term.text for term in terms], session_options)
    found = [grammar.condition() for _ in range(amounts.conditions)]
    for term, values in zip(terms, given, strict=True):
        found += grammar.comparisons(term, _constants(term, values, rows, shown_in))
    return found + [grammar.combined(found) for _ in range(amounts.combined)]


def _constants(
    term: Term, values: pa.Array | Refusal, rows: pa.Table, shown_in: ZoneRules
) -> list[str]:
    if isinstance(values, Refusal):  # Spark has no such function
        values = rows[templates.FAMILIES[term.result_family][0]].combine_chunks()
    listed = _written(values.drop_null())[:_MAX_VALUES].to_pylist()
    if pa.types.is_timestamp(values.type):
        listed += [one + put for one, put in zip(listed, cycle(_PUT_FORWARD)) if one.year < 9999]
    texts = (spell(one, values.type, shown_in) for one in listed)
    return [text for text in texts if text is not None]


#: By as much most clocks are put forward: some times become others.
_PUT_FORWARD = tuple(timedelta(seconds=seconds) for seconds in (3600, 1800, 3601, 1200, 7200))


def _written(values: pa.Array) -> pa.Array:
    """Those of the values that Python can represent in any zone: times of the years 1 to 9999."""
    if not pa.types.is_temporal(values.type):
        return values
    days = pa.types.is_date32(values.type)
    numbers = values.cast(pa.int32() if days else pa.int64())
    first, last = (one if days else one * 86_400 * 10**6 for one in (-719_161, 2_932_895))
    between = pc.and_(pc.greater_equal(numbers, first), pc.less(numbers, last))
    # Python does not know each zone of Java.
    is_instant = pa.types.is_timestamp(values.type) and values.type.tz is not None
    return (values.cast(pa.timestamp("us", "UTC")) if is_instant else values).filter(between)


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


def compile_classes() -> None:
    """Compiles what runs in JVMs, which need no compiler then."""
    hive_classes()
    spark_classes()
    zone_classes()


@contextmanager
def running_oracles(dialects: Sequence[str], zones: Zones) -> Iterator[dict[str, Oracle]]:
    """Starts the engines of these dialects, in JVMs that have these zones."""
    with ExitStack() as running:
        found: dict[str, Oracle] = {}
        if {templates.SPARK, templates.HIVE} & {*dialects}:
            scratch = running.enter_context(tempfile.TemporaryDirectory())
            spark = running.enter_context(running_spark_judge(Path(scratch)))
            if templates.SPARK in dialects:
                found[templates.SPARK] = SparkOracle(spark, zones)
            if templates.HIVE in dialects:
                jvm = running.enter_context(hive_jvm())
                found[templates.HIVE] = HiveOracle(jvm, spark, zones)
        for name, engine in JAVA_ENGINES.items():
            if name in dialects:
                found[name] = running.enter_context(running_java_oracle(engine))
        yield found
