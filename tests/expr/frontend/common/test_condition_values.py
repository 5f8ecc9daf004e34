"""Conditions used as values: each front end supports them. Checked by the files of their rows."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from examples.predicates.row_expression import parse_row_expression
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.common.constants import as_boolean_term
from pyhudi_expr.expr.frontend.sql.parser import (
    DIALECTS,
    PRESTO,
    SPARK,
    SqlDialect,
    parse_predicate,
)
from pyhudi_expr.expr.nodes import Column, Comparison, HudiExpression, Literal, Op, walk
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.protocol.conversion.decoder import decode
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated.ttypes import Node, NodeKind, PredicateOperator
from tests.examples.predicates import test_row_expression as presto
from tests.expr.frontend.spark import test_catalyst as catalyst
from tests.expr.statistics import RowStatistics

SCHEMA = pa.schema({"i": pa.int32(), "b": pa.bool_()})
#: One row in each file: below, equal to and above five, and NULL, with each boolean.
ROWS = [{"i": i, "b": b} for i in (4, 5, 6, None) for b in (True, False, None)]
EVIDENCE = StatisticsEvidence(RowStatistics([[row] for row in ROWS]))
Boolean = bool | None


def kept(predicate: HudiExpression, truth: bool = True) -> list[int]:
    bound = bind(predicate, Scope(SCHEMA, here("UTC")))
    return [int(n) for n in np.flatnonzero(as_array(may_be(bound, truth, [EVIDENCE]), len(ROWS)))]


def above(row: dict[str, Any]) -> Boolean:
    """Whether ``i > 5``."""
    return None if row["i"] is None else bool(row["i"] > 5)


def null_propagating(operation: Callable[[Any, Any], Boolean], left: Any, right: Any) -> Boolean:
    """Returns NULL if an operand is NULL."""
    return None if left is None or right is None else operation(left, right)


#: SQL's meaning, in Python.
MEANINGS: dict[str, Callable[[dict[str, Any]], Boolean]] = {
    "(i > 5) = true": above,
    "(i > 5) = false": lambda row: null_propagating(operator.eq, above(row), False),
    "(i > 5) <> b": lambda row: null_propagating(operator.ne, above(row), row["b"]),
    "(i > 5) = (i > 3)": lambda row: null_propagating(operator.eq, above(row), True),
    "(i > 5) = (i IS NULL)": lambda row: null_propagating(
        operator.eq, above(row), row["i"] is None
    ),
    "coalesce(i > 5, b)": lambda row: row["b"] if row["i"] is None else above(row),
    "coalesce(i > 5, true) = false": lambda row: above(row) is False,
    "if(b, i > 5, i IS NULL)": lambda row: above(row) if row["b"] else row["i"] is None,
    "CASE WHEN b THEN i > 5 ELSE NOT (i > 5) END": (
        lambda row: above(row) if row["b"] else null_propagating(operator.ne, above(row), True)
    ),
    "nullif(i > 5, true) IS NULL": lambda row: above(row) is not False,
}


@pytest.mark.parametrize("text", MEANINGS)
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_exactly_the_files_with_such_a_row_are_kept(text: str, dialect: SqlDialect) -> None:
    predicate = parse_predicate(text, dialect)
    for again in (predicate, decode(encode(predicate))):
        for truth in (True, False):
            right = [n for n, row in enumerate(ROWS) if MEANINGS[text](row) is truth]
            assert kept(again, truth) == right


@pytest.mark.parametrize("text", ["(i > 5) IS TRUE", "(i > 5) <=> true", "(i > 5) IS NOT NULL"])
def test_conditions_that_are_never_null(text: str) -> None:
    predicate = parse_predicate(text, SPARK)
    is_wanted = (lambda row: above(row) is not None) if "NULL" in text else above
    assert kept(predicate) == [n for n, row in enumerate(ROWS) if is_wanted(row)]
    assert kept(predicate, False) == [n for n, row in enumerate(ROWS) if not is_wanted(row)]


NOT_ABOVE = [n for n, row in enumerate(ROWS) if above(row) is False]


def test_conditions_as_sparks_optimiser_writes_them() -> None:
    compared = catalyst.node(
        "GreaterThan", catalyst.column("i", "integer"), catalyst.constant("5", "integer")
    )
    false = catalyst.constant("false", "boolean")
    found = catalyst.parse(catalyst.node("EqualNullSafe", compared, false))
    assert kept(found) == NOT_ABOVE


def test_conditions_as_presto_writes_them() -> None:
    compared = presto.WRITTEN["i = 3005"]
    both = presto.call("$operator$equal", compared, compared)
    found = parse_row_expression(json.dumps(both))
    one = Comparison(Op.EQ, Column(("i",)), Literal(3005, pa.int32()))
    assert found == Comparison(Op.EQ, as_boolean_term(one), as_boolean_term(one))
    assert found == parse_predicate("(i = 3005) = (i = 3005)", PRESTO)


def test_conditions_as_hive_sends_them() -> None:
    five, column = encode(parse_predicate("i > 5"))[:2]
    false = encode(parse_predicate("b = false"))[1]
    above = Node(kind=NodeKind.FUNCTION, functionName=">", children=[1, 0])
    is_false = Node(kind=NodeKind.LEAF, op=PredicateOperator.EQUALS, children=[2, 3])
    assert kept(decode([five, column, above, false, is_false])) == NOT_ABOVE
    by_name = Node(kind=NodeKind.FUNCTION, functionName="=", children=[2, 3])
    assert kept(decode([five, column, above, false, by_name])) == NOT_ABOVE


def test_nested_conditions_do_not_grow_exponentially() -> None:
    text = "i > 5"
    for _ in range(30):
        text = f"({text}) = true"
    predicate = parse_predicate(text, SPARK)
    assert sum(1 for _ in walk(predicate)) < 100
    assert kept(predicate) == list(range(len(ROWS)))  # which are too many to be evaluated
