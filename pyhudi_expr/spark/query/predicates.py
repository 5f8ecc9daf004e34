"""Conditions of PySpark as expressions, with what their session decides of their meaning.

They are read as Spark's analyser resolves them, with the types of each operand, and with constant
parts computed by Spark itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from py4j.protocol import Py4JError
from pyspark.sql import Column, DataFrame, SparkSession

from pyhudi_expr.expr.frontend.common.constants import conjunction
from pyhudi_expr.expr.frontend.spark.catalyst import Unwritten, parse_catalyst
from pyhudi_expr.expr.frontend.spark.nodes import CatalystError
from pyhudi_expr.expr.nodes import ALWAYS, NEVER, HudiExpression, Unknown
from pyhudi_expr.expr.semantics import (
    FIRST_DAY,
    LAST_DAY,
    SECONDS_PER_DAY,
    Engine,
    Semantics,
    Zone,
    zone_of,
)
from pyhudi_expr.spark.jobs.job_errors import JavaObject, jvm
from pyhudi_expr.spark.query.query_plans import (
    depends_on_time,
    has_current_time,
    leaves,
    predicate_above,
    reads_files,
    reads_table,
)

_ZONE = "spark.sql.session.timeZone"
_ZONE_OF_NODE = re.compile(r'"timeZoneId":"([^"\\]+)"')


def session_semantics(spark: SparkSession) -> Semantics:
    """Return what a session decides."""
    zone = _rules(str(spark.conf.get(_ZONE)), spark)
    return Semantics(Engine.SPARK, str(spark.version), zone, zone, settings=_changed(spark))


#: Settings that change what an expression returns, or what a reader shows, and that the condition
#: does not show itself; those of `SparkSemantics` in Java. They are off by default; else such an
#: evaluation is not known.
SETTINGS = (
    "spark.sql.parquet.fieldId.read.enabled",
    "spark.sql.parquet.fieldId.read.ignoreMissing",
    "spark.sql.parquet.int96TimestampConversion",
)


def _changed(spark: SparkSession) -> Mapping[str, str]:
    """Return the settings that are not Spark's defaults: those that are on."""
    given = {name: str(spark.conf.get(name, "false")).lower() for name in SETTINGS}
    return {name: value for name, value in given.items() if value == "true"}


def with_zones_of(tree: str, spark: SparkSession, semantics: Semantics) -> Semantics:
    """Return the semantics with the zones that a condition names, which is in JSON.

    A view or a DataFrame keeps the zone of the session that analysed it.
    """
    names = set(_ZONE_OF_NODE.findall(tree))
    return replace(semantics, zones={name: _rules(name, spark) for name in names})


@lru_cache(maxsize=64)
def _rules(name: str, spark: SparkSession) -> Zone:
    java = jvm(spark).java.time
    # As Spark finds a zone by its name, short names of Java included.
    rules = jvm(spark).org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(name).getRules()
    at = java.Instant.ofEpochSecond(FIRST_DAY * SECONDS_PER_DAY)
    starts, offsets = list[int](), [int(rules.getOffset(at).getTotalSeconds())]
    while (change := _next(rules, at)) is not None:
        at = change.getInstant()
        starts.append(int(at.getEpochSecond()))
        offsets.append(int(change.getOffsetAfter().getTotalSeconds()))
    return zone_of(name, np.array(starts, np.int64), np.array(offsets, np.int64))


def _next(rules: JavaObject, at: JavaObject) -> JavaObject | None:
    """Return the next transition of the years in which rules are used."""
    found = rules.nextTransition(at)
    if found is None or found.toEpochSecond() >= LAST_DAY * SECONDS_PER_DAY:
        return None
    return found


#: Limit of values of one IN to fetch from the JVM: each takes two calls.
MAX_SET = 10_000

#: To the rule that computes constants, 'today' is not a date.
_SPECIAL = "not supported: a text such as 'today' as a date or a time"


@dataclass(frozen=True)
class SparkPredicate:
    """A predicate of Spark.

    Attributes:
        semantics: What the session decides, for `PruneRequest.semantics`.
    """

    expression: HudiExpression
    semantics: Semantics


def predicate_of(frame: DataFrame, condition: Column | str) -> SparkPredicate:
    """Return the predicate of ``frame.where(condition)`` on the frame's rows.

    What has no equivalent becomes `Unknown`. Raises Spark's AnalysisException or ParseException for
    a condition that is not valid for this frame.
    """
    filtered = frame.where(condition)._jdf.queryExecution().analyzed()
    spark = frame.sparkSession
    semantics = session_semantics(spark)
    if not _is_filter(filtered):
        return SparkPredicate(Unknown("a condition that Spark makes into more"), semantics)
    return SparkPredicate(_filter_condition(spark, filtered, semantics), semantics)


def filters_of(frame: DataFrame, table: str | None = None) -> SparkPredicate:
    """Return the predicate of a frame's plan on the rows of its one table.

    Only filters directly above the files of a Hudi table, or Parquet files, are used: one above a
    limit or an aggregation does not apply to rows that are not read. A frame over several tables,
    or none (cached, checkpointed or local rows), gives `Unknown`.

    Args:
        frame: The frame.
        table: A base path; a frame over other files gives `Unknown`, too.
    """
    spark = frame.sparkSession
    execution = frame._jdf.queryExecution()
    analysed, optimised = execution.analyzed(), execution.optimizedPlan()
    semantics = session_semantics(spark)
    found = _filters(spark, analysed, optimised, table, semantics)
    return SparkPredicate(found, semantics)


def _filters(
    spark: SparkSession,
    analysed: JavaObject,
    optimised: JavaObject,
    table: str | None,
    semantics: Semantics,
) -> HudiExpression:
    named, read = leaves(analysed), leaves(optimised)
    if len(named) != 1 or len(read) != 1:
        return Unknown("a DataFrame over several tables, or none")
    if not reads_files(named[0]):
        return Unknown("a DataFrame that does not read the files of a table")
    if table is not None and not reads_table(spark, named[0], table):
        return Unknown(f"a DataFrame over other files than those of {table}")
    if depends_on_time(spark, analysed):
        return Unknown("a condition on the current time")
    (leaf,) = read
    if _is_empty(leaf):
        return NEVER  # Spark found that no row can match
    if not reads_files(leaf):
        return Unknown("a DataFrame whose rows Spark has cached")
    chain: list[Any] = []
    for plan in _nodes(optimised):
        if _is_filter(plan):
            chain.append(plan.condition())
        elif plan.children().size():
            chain = []  # filters above it may be about other columns, or other rows
    found = [
        predicate_above(leaf, condition, _expression(spark, condition, semantics))
        for condition in chain
    ]
    return conjunction(found) if found else ALWAYS


def _is_filter(plan: JavaObject) -> bool:
    return str(plan.nodeName()) == "Filter"


def _is_empty(leaf: JavaObject) -> bool:
    return str(leaf.nodeName()) == "LocalRelation" and bool(leaf.data().isEmpty())


def _nodes(plan: JavaObject) -> Iterator[Any]:
    """Return the plan and its children down to the leaf, while each has one child."""
    yield plan
    while plan.children().size() == 1:
        plan = plan.children().head()
        yield plan


def _filter_condition(
    spark: SparkSession, filtered: JavaObject, semantics: Semantics
) -> HudiExpression:
    """Return the condition of a Filter with its constants computed, unless they depend on time."""
    rules = jvm(spark).org.apache.spark.sql.catalyst.optimizer
    replaced = rules.ReplaceExpressions.apply(filtered)
    special = rules.SpecialDatetimeValues.apply(replaced)
    if not special.condition().fastEquals(replaced.condition()):
        return Unknown(_SPECIAL)
    if not has_current_time(spark, replaced.condition()):
        replaced = rules.ConstantFolding.apply(replaced)
    return _expression(spark, replaced.condition(), semantics)


def _expression(spark: SparkSession, condition: JavaObject, semantics: Semantics) -> HudiExpression:
    unwritten = Unwritten(
        lambda number: _constant(condition, number),
        lambda number: str(condition.apply(number).evalMode()) == "TRY",
    )
    try:
        tree = str(condition.toJSON())
        return parse_catalyst(tree, unwritten, with_zones_of(tree, spark, semantics))
    except (CatalystError, Py4JError) as error:
        return Unknown(f"Spark's condition cannot be read: {error!s:.200}")


def _constant(condition: JavaObject, number: int) -> JavaObject:
    """Return the value of a literal, the escape of LIKE, or the values of a set."""
    node = condition.apply(number)
    match str(node.nodeName()):
        case "Like":
            return str(node.escapeChar())
        case "InSet":
            return _set_values(node)
    value = node.value()
    return bytes(value) if isinstance(value, bytearray) else value


def _set_values(node: JavaObject) -> list[Any]:
    values = node.hset()
    if values.size() > MAX_SET:
        raise ValueError(f"a set of more than {MAX_SET} values")
    each, found = values.iterator(), []
    while each.hasNext():
        found.append(_python(each.next()))
    return found


def _python(value: JavaObject) -> JavaObject:
    """Return a value of Spark's internal form: texts and decimals have their own classes."""
    if isinstance(value, bytearray):
        return bytes(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    name = value.getClass().getSimpleName()
    if name == "UTF8String":
        return value.toString()
    if name == "Decimal":
        return value.toJavaBigDecimal()
    raise ValueError(f"a constant of the class {name}")
