"""What a Spark session decides of a condition's meaning: zones by the rules of its JVM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
from pyspark.sql import SparkSession

from pyhudi_expr.expr.semantics import Engine, Semantics
from pyhudi_expr.expr.zones import FIRST_DAY, LAST_DAY, SECONDS_PER_DAY, Zone, zone_of
from pyhudi_expr.spark.jobs.java_calls import JavaObject, jvm

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
