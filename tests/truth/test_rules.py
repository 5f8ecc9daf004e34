"""No rule without a truth: each function that a dialect lists is asked of its engine."""

from __future__ import annotations

import random

import pytest

from pyhudi_expr.expr.functions.rules import TABLES
from pyhudi_expr.expr.nodes import Call, walk
from pyhudi_expr.frontend import vocabularies
from pyhudi_expr.frontend.sql import DIALECTS, parse_predicate
from tests.truth.predicates import MOST_DEPTH, Grammar
from tests.truth.templates import CONDITIONS, HIVE, SPARK, TERMS

VOCABULARIES = {HIVE: vocabularies.HIVE, SPARK: vocabularies.SPARK}
#: Names of ours, which front ends give.
OF_OURS = frozenset({"to milliseconds", "no decimal", "plus interval"})


def asked(dialect: str) -> set[str]:
    """The functions in the templates of a dialect, as its SQL front door reads them."""
    grammar, names = Grammar(dialect, random.Random(1), "UTC"), set[str]()
    templates = [one for one in (*TERMS, *CONDITIONS) if dialect in one.dialects]
    for template in templates:
        text = grammar.filled(template, MOST_DEPTH).text
        condition = text if template in CONDITIONS else f"{text} IS NULL"
        tree = parse_predicate(condition, DIALECTS[dialect])
        names.update(node.name for node in walk(tree) if isinstance(node, Call))
    return names


@pytest.mark.parametrize("dialect", VOCABULARIES)
def test_the_engine_is_asked_of_each_function_of_its_dialect(dialect: str) -> None:
    assert VOCABULARIES[dialect] - asked(dialect) == frozenset()


def test_each_rule_is_of_some_dialect() -> None:
    rules = {name for table in TABLES for name in table} - OF_OURS
    assert rules - vocabularies.SPARK == set()
