"""Parsing of the statements that Spark's session extension adds."""

import pytest

from pyhudi_expr.manage.indexing.statements import (
    AnalyzeIndexes,
    CreateIndex,
    DropIndex,
    Optimize,
    RefreshIndexes,
    SessionStatement,
    StatementError,
    parse_session_statement,
)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE INDEX i ON t (c)", CreateIndex("i", "t", columns=("c",))),
        ("drop index i", DropIndex("i", "")),
        ("REFRESH INDEXES FROM db.t;", RefreshIndexes("db.t")),
        ("optimize t zorder by (a, `b c`)", Optimize("t", "", "z-order", ("a", "b c"))),
        (
            "OPTIMIZE '/data/t' WHERE p = 'zorder by (' AND (q > 1) HILBERT BY (a)",
            Optimize("/data/t", "p = 'zorder by (' AND (q > 1)", "hilbert", ("a",)),
        ),
        (
            "OPTIMIZE TABLE t LINEAR BY (a) WHERE p IN (1, 2) OPTIONS (files = 3);",
            Optimize("t", "p IN (1, 2)", "linear", ("a",), {"files": "3"}),
        ),
        (
            "ANALYZE INDEXES ON t FOR 'a > 1', \"SELECT * FROM t\"",
            AnalyzeIndexes("t", ("a > 1", "SELECT * FROM t")),
        ),
        ("ANALYZE INDEXES db.t", AnalyzeIndexes("db.t", ())),
        ("analyze indexes '/t' for 'a > 1';", AnalyzeIndexes("/t", ("a > 1",))),
    ],
)
def test_statements_are_parsed(text: str, statement: SessionStatement) -> None:
    assert parse_session_statement(text) == statement


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("OPTIMIZE t", "expected ZORDER BY, HILBERT BY or LINEAR BY, .* it ends"),
        ("OPTIMIZE t WHERE ZORDER BY (a)", "expected a condition, but found 'ZORDER' in line 1"),
        ("OPTIMIZE t WHERE (p = 1 ZORDER BY (a)", "expected ZORDER BY"),
        ("OPTIMIZE t ZORDER BY a", r"expected \(, but found 'a'"),
        ("OPTIMIZE t ZORDER BY (a) WHERE p = 1 WHERE q = 1 OPTIONS (files)", "expected = and"),
        ("ANALYZE INDEXES ON t FOR", "expected a query in quotes, but it ends"),
        ("ANALYZE INDEXES t 'a'", "expected the end, but found 'a'"),
        ("ANALYZE TABLE t", "expected CREATE INDEX, .* or OPTIMIZE, but found 'ANALYZE'"),
        ("OPTIMIZE t ZORDER BY (a) now", "expected the end, but found 'now'"),
    ],
)
def test_others_are_refused_where_they_go_wrong(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        parse_session_statement(text)
