"""The harness finds each old loss when its cause is put back.

An outside tester found them first. That the harness does so too, by chance alone, is what says that
it finds others.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pyhudi_expr.expr import comparisons, three_valued_logic
from pyhudi_expr.expr.bound import BoundAnd, BoundExpression, BoundIsNull, BoundNot, BoundTerm
from pyhudi_expr.expr.connectives import conjunction
from pyhudi_expr.expr.functions import rounding, strings
from pyhudi_expr.expr.functions.temporal import time_format
from tests.truth.rounds import rounds
from tests.truth.templates import HIVE, SPARK
from tests.truth.witnesses import Witness, witnesses

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.hive]

#: About four million cases.
MOST_ROUNDS = 300
IS_FALSE = three_valued_logic.is_false


@pytest.fixture(scope="module")
def engines() -> Iterator[Mapping[str, Witness]]:
    with witnesses((SPARK, HIVE)) as found:
        yield found


def false_where_every_operand_is_given(node: BoundExpression) -> BoundExpression:
    """The rule before: FALSE AND NULL was NULL."""
    if not isinstance(node, BoundAnd):
        return IS_FALSE(node)
    operands = [term for child in node.children for term in three_valued_logic._operands(child)]
    return conjunction([BoundNot(node), *(BoundNot(BoundIsNull(term)) for term in operands)])


def spaces_cut_off(lower: Any) -> Any:
    """The rule before: a bound without its spaces bounds the texts without theirs."""
    solid = (lower.codes > ord(" ")) & lower.inside
    return np.where(solid, np.arange(1, lower.codes.shape[1] + 1), 0).max(axis=1, initial=0)


def as_it_is(term: BoundTerm, _: object) -> BoundTerm:
    """The rule before: decimals of any type are compared as they are."""
    return term


@pytest.mark.parametrize(
    ("module", "name", "before", "said"),
    [
        (three_valued_logic, "is_false", false_where_every_operand_is_given, "NOT|AND|BETWEEN"),
        (time_format, "_PATTERN", re.compile(r"yyyy|MM|dd|HH|mm|ss|'[^']+'|[^A-Za-z']"), "yyyy"),
        (strings, "_least_trimmed", spaces_cut_off, "trim"),
        (rounding, "_LARGEST_ADDED", 2**31, "pmod"),
        (comparisons, "_as_compared", as_it_is, "d38|e38|DECIMAL"),
    ],
    ids=["NULL operands", "patterns", "trim", "pmod", "decimals of several scales"],
)
def test_a_cause_put_back_loses_rows(
    engines: Mapping[str, Witness],
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    name: str,
    before: object,
    said: str,
) -> None:
    monkeypatch.setattr(module, name, before)
    seed = secrets.token_hex(4)
    print("seed", seed)
    for tally in islice(rounds(seed, engines), MOST_ROUNDS):
        losses = [one for one in tally.losses.values() if re.search(said, one.hearing.text)]
        if losses:
            print(*losses, sep="\n")
            return
    pytest.fail(f"no row is lost in {MOST_ROUNDS} rounds of seed {seed}")
