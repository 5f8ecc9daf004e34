"""Parsing of index statements."""

import pytest

from pyhudi_expr.manage.indexing.statements import (
    CreateIndex,
    DropIndex,
    RefreshIndex,
    ShowIndexes,
    Statement,
    StatementError,
    parse,
)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE INDEX i ON t (c)", CreateIndex("i", "t", columns=("c",))),
        (
            "create index if not exists `my i` on table db.t using COLUMN_STATS(a, st.b, `c d`);",
            CreateIndex("my i", "db.t", "column_stats", ("a", "st.b", "c d"), {}, True),
        ),
        (
            "CREATE INDEX i ON '/data/t' USING record_index OPTIONS (store = 'hudi', shards=4)",
            CreateIndex("i", "/data/t", "record_index", (), {"store": "hudi", "shards": "4"}),
        ),
        (
            "CREATE INDEX i ON `hdfs://h/t` USING expression(ts) OPTIONS ('a.b' = \"x\", c.d='y')",
            CreateIndex("i", "hdfs://h/t", "expression", ("ts",), {"a.b": "x", "c.d": "y"}),
        ),
        (
            "CREATE INDEX i ON t -- why\n USING bloom_filters",
            CreateIndex("i", "t", "bloom_filters"),
        ),
        ("DROP INDEX i ON t", DropIndex("i", "t")),
        ("DROP INDEX idx_city;", DropIndex("idx_city", "")),
        ("DROP INDEX IF EXISTS idx_city", DropIndex("idx_city", "", True)),
        ("drop index if exists i on table db.t", DropIndex("i", "db.t", True)),
        ("SHOW INDEXES ON t", ShowIndexes("t")),
        ("SHOW INDEXES FROM TABLE '/data/t'", ShowIndexes("/data/t")),
        ("REFRESH INDEX i ON db.t;", RefreshIndex("i", "db.t")),
        ("CREATE INDEX index ON `table` (date)", CreateIndex("index", "table", columns=("date",))),
    ],
)
def test_statements_are_parsed(text: str, statement: Statement) -> None:
    assert parse(text) == statement


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected CREATE INDEX, .*, but it ends"),
        ("SELECT 1", "expected CREATE INDEX, .*'SELECT' in line 1"),
        ("CREATE INDEX ON", "expected"),
        ("CREATE INDEX i", "expected ON and a table, but it ends"),
        ("CREATE INDEX i ON t (a,)", r"expected a column, but found '\)'"),
        ("CREATE INDEX i ON t (a", r"expected \), but it ends"),
        ("CREATE INDEX i ON t (a) WITH x", "expected the end, but found 'WITH' in line 1"),
        ("CREATE INDEX i ON t OPTIONS (a)", "expected = and a value"),
        ("DROP INDEX i FROM t", "expected ON and a table"),
        ("DROP INDEX i ON", "expected a table"),
        ("REFRESH INDEX i", "expected ON and a table"),
        ("REFRESH INDEX i ON t t", "expected the end"),
        ("CREATE INDEX 'i ON t", "no statement about indexes"),
    ],
)
def test_invalid_statements_are_refused(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        parse(text)
