"""Every rule is tested: the templates contain each function that a dialect lists."""

from __future__ import annotations

import random
import re

import pytest

from pyhudi_expr.expr.frontend.common import functions
from pyhudi_expr.expr.frontend.common.constants import PLUS_EXACT_INTERVAL, PLUS_INTERVAL
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, parse_predicate
from pyhudi_expr.expr.functions.registry import TABLES
from pyhudi_expr.expr.nodes import OR_NULL, READINGS, Call, Unknown, walk
from tests.truth.predicates import LANGUAGES, MAX_DEPTH, Grammar
from tests.truth.templates import HIVE, PRESTO, SPARK, TRINO

VOCABULARIES = {
    **{HIVE: functions.HIVE, SPARK: functions.SPARK},
    **{TRINO: functions.TRINO, PRESTO: functions.PRESTO},
}
#: Our own names, which front ends and binding produce.
OWN_FUNCTIONS = READINGS | {OR_NULL, PLUS_INTERVAL, PLUS_EXACT_INTERVAL}
_CALLED = re.compile(r"\b([a-z_]+)\(")


def functions_in_templates(dialect: str) -> set[str]:
    """The functions in the templates of a dialect, as it spells them and as its SQL front end
    converts them, of those templates that are supported.
    """
    grammar, names = Grammar(dialect, random.Random(1)), set[str]()
    language = LANGUAGES[dialect]
    for template in (*language.terms, *language.conditions):
        if dialect in template.dialects:
            texts = [grammar.filled(template, MAX_DEPTH).text for _ in range(_TRIES)]
            names.update(
                *(_is_supported(text, template in language.terms, dialect) for text in texts)
            )
    return names


#: Of Trino and Presto.
TYPES = (
    *("boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "decimal", "date"),
    *("varchar", "varbinary", "timestamp", "timestamp with time zone", "time", "char", "json"),
)


#: How often a template is filled: with some constants it is unsupported.
_TRIES = 10


def _is_supported(text: str, is_term: bool, dialect: str) -> set[str]:
    tree = parse_predicate(f"{text} IS NULL" if is_term else text, DIALECTS[dialect])
    nodes = list(walk(tree))
    if any(isinstance(node, Unknown) for node in nodes):
        return set()
    return {node.name for node in nodes if isinstance(node, Call)} | called(text)


def called(text: str) -> set[str]:
    """The functions that a text names."""
    return {*_CALLED.findall(text)}


@pytest.mark.parametrize("dialect", VOCABULARIES)
def test_templates_cover_each_function_of_the_dialect(dialect: str) -> None:
    assert VOCABULARIES[dialect] - functions_in_templates(dialect) == frozenset()


@pytest.mark.parametrize("dialect", [TRINO, PRESTO])
def test_templates_cover_casts_to_each_supported_type(dialect: str) -> None:
    casts = {type_: f"CAST(a AS {type_}) IS NULL" for type_ in TYPES}
    supported = {
        type_
        for type_, text in casts.items()
        if not isinstance(parse_predicate(text, DIALECTS[dialect]), Unknown)
    }
    assert {"double", "date"} <= supported
    terms = [one.text.lower() for one in LANGUAGES[dialect].terms if dialect in one.dialects]
    templated = {type_ for type_ in TYPES if any(f" as {type_}" in text for text in terms)}
    assert supported - templated == set()


def test_each_rule_belongs_to_some_dialect() -> None:
    rules = {name for table in TABLES for name in table} - OWN_FUNCTIONS
    assert rules - functions.SPARK == set()
