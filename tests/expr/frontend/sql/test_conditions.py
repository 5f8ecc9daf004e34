"""What users type as a condition: with WHERE, a whole query, and with mistakes."""

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import (
    DIALECTS,
    PredicateSyntaxError,
    parse_predicate,
)

_ALONE = "write the condition alone, as after WHERE"


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda one: one.name)
@pytest.mark.parametrize(
    "text",
    [
        "WHERE fare > 3 AND city = 'Oslo'",
        "where fare > 3 AND city = 'Oslo' ;",
        "fare > 3 AND city = 'Oslo';",
        "SELECT * FROM trips WHERE fare > 3 AND city = 'Oslo'",
        "select count(*) from lake.trips where fare > 3 and city = 'Oslo' group by day",
        "SELECT t.id FROM trips AS t WHERE t.fare > 3 AND t.city = 'Oslo' ORDER BY t.id LIMIT 3;",
        "SELECT id FROM lake.trips t WHERE trips.fare > 3 AND lake.trips.city = 'Oslo'",
        "( (SELECT * FROM trips WHERE fare > 3 AND city = 'Oslo' LIMIT 5) );",
        "(SELECT * FROM trips WHERE fare > 3 AND city = 'Oslo')",
        "SELECT (SELECT max(x) FROM a WHERE y = 1) FROM trips WHERE fare > 3 AND city = 'Oslo'",
    ],
)
def test_a_query_means_its_where(text, dialect):
    expected = parse_predicate("fare > 3 AND city = 'Oslo'", dialect)
    assert parse_predicate(text, dialect) == expected


def test_fields_of_structs_are_not_taken_for_tables():
    assert parse_predicate("WHERE t.x = 1") == parse_predicate("t.x = 1")
    query = "SELECT * FROM trips WHERE device.trips = 1 AND trips.device.build = 2"
    assert parse_predicate(query) == parse_predicate("device.trips = 1 AND device.build = 2")
    assert parse_predicate("update = 1") == parse_predicate("`update` = 1")


@pytest.mark.parametrize(
    ("text", "problem", "marked"),
    [
        ("SELECT * FROM trips", f"the query has no WHERE; {_ALONE}", "trips"),
        ("SELECT * FROM a JOIN b WHERE x = 1", f"more than one table; {_ALONE}", "JOIN"),
        ("SELECT * FROM a, b WHERE x = 1", f"more than one table; {_ALONE}", ","),
        ("SELECT * FROM (SELECT 1) WHERE x = 1", f"more than one table; {_ALONE}", "("),
        ("WITH a AS (SELECT 1) SELECT * FROM a WHERE x = 1", "a query with WITH", "WITH"),
        ("SELECT * FROM a WHERE x = 1 UNION SELECT * FROM b", "a query with UNION", "UNION"),
        ("SELECT * FROM trips WHERE", "the condition after WHERE is missing", "WHERE"),
        ("WHERE", "the condition after WHERE is missing", "WHERE"),
        ("DELETE FROM trips WHERE id = 3", f"a statement (DELETE); {_ALONE}", "DELETE"),
        ("update trips set fare = 1", f"a statement (UPDATE); {_ALONE}", "update"),
        ("EXPLAIN SELECT * FROM trips WHERE fare > 1", "a statement (EXPLAIN)", "EXPLAIN"),
        ("TRUNCATE TABLE trips", "a statement (TRUNCATE)", "TRUNCATE"),
        ("SHOW TABLES", "a statement (SHOW)", "SHOW"),
        ("SET x = 1", "a statement (SET)", "SET"),
        ("insert into trips values (1)", f"a statement (INSERT); {_ALONE}", "insert"),
        ("fare >", "an operand is missing", ">"),
        ("fare > 1 && city = 'x'", "'&&' is not expected here; write AND", "&&"),
        ("fare => 1", "'=>' is not expected here; write >=", "=>"),
        ("fare > > 10", "an operand is missing", "> 10"),
        ("fare > >   = 10", "an operand is missing", ">   ="),
        ("fare << 2 < < 10", "an operand is missing", "< 10"),
        ("fare > 1 city", "'city' is not expected here", "city"),
        ("(fare > 1", "')' is missing after this", "1"),
        ("city = 'Oslo", "an open quote", "'Oslo"),
    ],
)
def test_mistakes_are_named_and_marked(text, problem, marked):
    with pytest.raises(PredicateSyntaxError) as raised:
        parse_predicate(text)
    error = raised.value
    assert isinstance(error, HudiError)
    assert problem in str(error)
    line, caret = error.marked.splitlines()
    assert line == text[: len(line) - 3] + "..." if line.endswith("...") else line == text
    assert line[caret.index("^") :].startswith(marked)


def test_the_place_is_marked_in_its_line_and_in_long_lines():
    with pytest.raises(PredicateSyntaxError) as raised:
        parse_predicate("fare > 1\nAND city city")
    assert raised.value.marked == "AND city city\n         ^"
    with pytest.raises(PredicateSyntaxError) as raised:
        parse_predicate("a = 1 AND " * 100 + "b b" + " AND c = 1" * 100)
    line, caret = raised.value.marked.splitlines()
    assert line.startswith("...")
    assert line.endswith("...")
    assert line[len(caret) - 3 : len(caret) + 4] == "b b AND"
