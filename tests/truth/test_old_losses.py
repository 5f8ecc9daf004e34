"""The truth harness finds each past loss when its cause is restored.

An external tester found them first. That random cases alone find them shows that the harness can
find others.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pyhudi_expr.expr import comparisons, rewrites, simplify
from pyhudi_expr.expr.bound import BoundAnd, BoundExpression, BoundIsNull, BoundNot, BoundTerm
from pyhudi_expr.expr.domains import NO_MARGIN, Domain, Kind
from pyhudi_expr.expr.frontend.common import hive_decimals
from pyhudi_expr.expr.frontend.spark import catalyst
from pyhudi_expr.expr.functions import calendar, rounding, strings, time_format
from pyhudi_expr.expr.functions.signature import Function, OnOperands, Signature
from pyhudi_expr.expr.nodes import HudiExpression, Term
from pyhudi_expr.expr.semantics import (
    Engine,
    Semantics,
    UnknownZoneError,
    Zone,
    local_zone,
    unknown_rules,
)
from pyhudi_expr.expr.simplify import conjunction
from pyhudi_expr.protocol.conversion import semantics
from pyhudi_expr.spark.entries import file_statistics
from tests.truth.rounds import rounds
from tests.truth.templates import HIVE, SPARK
from tests.truth.witnesses import Oracle, running_oracles
from tests.truth.zones import Zones

pytestmark = [
    *(pytest.mark.long, pytest.mark.spark, pytest.mark.hive),
    pytest.mark.timeout(3600, func_only=True),
]

#: About four million cases.
MOST_ROUNDS = 1000
BOTH = (SPARK, HIVE)
IS_FALSE = simplify.is_false
DECODED = semantics._decoded


@pytest.fixture(scope="module")
def engines(zones: Zones) -> Iterator[Mapping[str, Oracle]]:
    with running_oracles((SPARK, HIVE), zones) as found:
        yield found


def false_where_every_operand_is_given(node: BoundExpression) -> BoundExpression:
    """The old rule: FALSE AND NULL was NULL."""
    if not isinstance(node, BoundAnd):
        return IS_FALSE(node)
    operands = [term for child in node.children for term in simplify._operands(child)]
    return conjunction([BoundNot(node), *(BoundNot(BoundIsNull(term)) for term in operands)])


def spaces_cut_off(lower: Any) -> Any:
    """The old rule: a bound without its spaces bounds the texts without theirs."""
    solid = (lower.codes > ord(" ")) & lower.inside
    return np.where(solid, np.arange(1, lower.codes.shape[1] + 1), 0).max(axis=1, initial=0)


def as_it_is(term: BoundTerm, _: object) -> BoundTerm:
    """The old rule: decimals of any type are compared as they are."""
    return term


def not_rounded(*_: object) -> Fraction:
    """The old rule: decimals without a common type become NULL, but are not rounded."""
    return NO_MARGIN


def not_changed(term: Term) -> Term:
    """The old rule: Hive evaluates constants as they are written."""
    return term


def not_between(conditions: Sequence[HudiExpression]) -> Sequence[HudiExpression]:
    """The old rule: Hive evaluates each condition of an AND as it is written."""
    return conditions


def in_the_readers_zone(*given: Any) -> Semantics:
    """The old question of Hive: it had no zone of the session."""
    found = DECODED(*given)
    return replace(found, zone=found.reading_zone) if found.engine is Engine.HIVE else found


def by_rules_of_the_service(*given: Any) -> Semantics:
    """The old question: it named zones, and the service took its own rules."""
    found = DECODED(*given)
    return replace(
        found,
        zone=found.zone and own_rules(found.zone),
        reading_zone=found.reading_zone and own_rules(found.reading_zone),
        zones={name: own_rules(zone) for name, zone in found.zones.items()},
    )


def own_rules(zone: Zone) -> Zone:
    try:
        return local_zone(zone.name)
    except UnknownZoneError:
        return unknown_rules(zone.name)


def in_the_types_of_files(bounds: object, *_: object) -> object:
    """The old rule: bounds of a file whose type is not the table's are in the table's unit."""
    return bounds


def truncated_as_it_is(
    unit: str, clock: tuple[Function, int], domain: Domain, _: object
) -> Signature:
    """The old rule: Spark truncates what has no zone without the session's."""
    truncated = OnOperands(calendar._Truncated(unit, domain.units), ((0, clock[0]),))
    own = replace(domain, kind=Kind.WALL_CLOCK)
    return Signature(OnOperands(truncated, ((1, None),)), own)


def as_it_is_of_java_time(zone: Zone) -> Zone:
    """The old rule: `SimpleDateFormat` has the engine's zone."""
    return zone


@pytest.mark.parametrize(
    ("module", "name", "old_rule", "text_pattern", "dialects"),
    [
        (
            simplify,
            "is_false",
            false_where_every_operand_is_given,
            "NOT|AND|BETWEEN",
            BOTH,
        ),
        (
            time_format,
            "_PATTERN",
            re.compile(r"yyyy|MM|dd|HH|mm|ss|'[^']+'|[^A-Za-z']"),
            "yyyy",
            BOTH,
        ),
        (strings, "_least_trimmed", spaces_cut_off, "trim", BOTH),
        (rounding, "_LARGEST_ADDED", 2**31, "pmod", BOTH),
        (comparisons, "_as_compared", as_it_is, "d38|e38|DECIMAL", BOTH),
        (comparisons, "_margin", not_rounded, "0000", BOTH),
        (hive_decimals, "_changed", not_changed, "d|BETWEEN", (HIVE,)),
        (rewrites, "paired_ends", not_between, "<=|>=", (HIVE,)),
        (semantics, "_decoded", in_the_readers_zone, "", (HIVE,)),
        (semantics, "_decoded", by_rules_of_the_service, "", BOTH),
        (catalyst, "_ZONE", "no node names its zone", "", (SPARK,)),
        (calendar, "_of_instants", truncated_as_it_is, "date_trunc", (SPARK,)),
        (Zone, "of_old_formatters", as_it_is_of_java_time, "from_unixtime|date_format", (SPARK,)),
        (file_statistics, "converted", in_the_types_of_files, "", BOTH),
    ],
    ids=[
        *("NULL operands", "patterns", "trim", "pmod", "decimals of several scales"),
        *("rounded decimals", "constants changed by Hive", "two ranges that are a BETWEEN"),
        *("Hive without the session's zone", "rules of the service"),
        *(
            "the zone in which Spark analysed",
            "truncated without a zone",
            "texts by the zones of java.time",
            "files whose types are not the table's",
        ),
    ],
)
def test_restoring_a_past_defect_loses_rows(
    engines: Mapping[str, Oracle],
    zones: Zones,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType | type,
    name: str,
    old_rule: object,
    text_pattern: str,
    dialects: Sequence[str],
) -> None:
    monkeypatch.setattr(module, name, old_rule)
    seed = secrets.token_hex(4)
    print("seed", seed)
    asked = {dialect: engines[dialect] for dialect in dialects}
    for tally in islice(rounds(seed, asked, zones), MOST_ROUNDS):
        losses = [
            one for one in tally.losses.values() if re.search(text_pattern, one.evaluated.text)
        ]
        if losses:
            print(*losses, sep="\n")
            return
    pytest.fail(f"no row is lost in {MOST_ROUNDS} rounds of seed {seed}")
