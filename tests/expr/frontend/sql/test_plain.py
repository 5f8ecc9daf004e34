"""Plain predicates have the trees that sqlglot's trees give, or are left to it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.expr.frontend.sql.conditions import PredicateSyntaxError
from pyhudi_expr.expr.frontend.sql.dialects import DIALECTS, SqlDialect
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.frontend.sql.plain import parse_plain
from pyhudi_expr.expr.frontend.sql.plain import parse_predicate as parse_any

_OPERANDS = st.one_of(
    st.sampled_from(["a", "B_2", "_hoodie_record_key", "a.b", "s.Date.c", "timestamp", "type"]),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["1.50", "-0.0", "- 5", "007", "1e3", ".5", "1.", "NULL", "TRUE", "false"]),
    st.text("a'\\ %é\U0001f600\n", max_size=4).map(lambda text: f"'{text}'"),
    st.sampled_from(['"a"', "`a`", "date '2024-01-01'", "f(a)", "a + 1", "x'1F'", "any", "if"]),
)
_SIGNS = st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "==", "< >", "like"])
_SPACES = st.sampled_from([" ", "\n ", "\t"])


def _leaves() -> st.SearchStrategy[str]:
    three = st.tuples(_OPERANDS, _OPERANDS, _OPERANDS)
    negation = st.sampled_from(["", "NOT ", "not\n"])
    return st.one_of(
        st.tuples(_OPERANDS, _SIGNS, _OPERANDS).map(" ".join),
        st.tuples(_OPERANDS, _SIGNS, _OPERANDS).map("".join),
        st.tuples(three, negation).map(
            lambda p: "{} {}IN ({}, {})".format(p[0][0], p[1], *p[0][1:])
        ),
        st.tuples(three, negation).map(
            lambda p: "{} {}between {} And {}".format(p[0][0], p[1], *p[0][1:])
        ),
        st.tuples(_OPERANDS, negation).map(lambda p: f"{p[0]} is {p[1]}null"),
    )


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    words = st.sampled_from(["AND", "or", "Or"])
    return st.one_of(
        st.tuples(inner, _SPACES, words, _SPACES, inner).map("".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"NOT {text}"),
    )


_PREDICATES = st.recursive(_leaves(), _joined, max_leaves=6)
_EACH_DIALECT = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=[*DIALECTS])


def _check(text: str, dialect: SqlDialect) -> None:
    found = parse_plain(text, dialect)
    if found is not None:
        assert repr(found) == repr(parse_predicate(text, dialect)), text


@_EACH_DIALECT
@given(_PREDICATES)
def test_a_plain_predicate_has_the_tree_of_sqlglot(dialect: SqlDialect, text: str) -> None:
    _check(text, dialect)


_PLACES = [
    *("{} = 1", "x = {}", "{} IN (1, 2)", "x in ({}, 2)", "{} IS NULL", "x between {} and 3"),
    *("x between 3 and {}", "NOT {} = 1", "a.{} = 1", "{}.a = 1", "a.{}.b = 1", "{} NOT IN (1)"),
    *("x = 1 AND {} < 2", "x = 1 or {} <> 'a'", "(x = 1) and x = {} or {} = 1"),
]


@_EACH_DIALECT
def test_words_of_sql_are_columns_only_where_sqlglot_reads_them_so(dialect: SqlDialect) -> None:
    sql = dialect.reader.dialect
    words = {word for text in sql.tokenizer_class.KEYWORDS for word in re.findall(r"[A-Z_]+", text)}
    assert len(words) > 200
    for place in _PLACES:
        for word in words:
            _check(place.replace("{}", word.lower()), dialect)


@_EACH_DIALECT
@pytest.mark.parametrize(
    "text",
    [
        "id = 123456",
        "city = 'Oslo' AND (fare > 100.5 OR NOT day IN (-1, 2))",
        "s.x BETWEEN 1 AND 2 and flag = true and name IS NOT NULL",
    ],
)
def test_what_most_people_write_is_plain(dialect: SqlDialect, text: str) -> None:
    assert parse_plain(text, dialect) == parse_predicate(text, dialect)


def test_what_is_not_plain_is_left_to_sqlglot() -> None:
    hive = DIALECTS["hive"]
    for text in ("a LIKE 'x%'", "WHERE a = 1", "a = 1 -- b", "(" * 30 + "a = 1" + ")" * 30):
        assert parse_plain(text, hive) is None
        assert parse_any(text, hive) == parse_predicate(text, hive)
    with pytest.raises(PredicateSyntaxError, match="operand"):
        parse_any("a =", hive)
