"""RFC-28, "How to apply those statistic info to SparkSQL": filters over `min`, `max`, null counts.

For each filter of the RFC the resulting condition is written out here. The predicate evaluation has
to keep exactly the files for which it holds, and so has the SQL for the index table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest

from pyhudi_expr.expr.backend.index_filter import RFC28_COLUMNS, IndexColumns, index_filter
from pyhudi_expr.expr.backend.sql import Dialect, to_sql
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import ALWAYS, Column, Matches, Not
from tests.expr.kept_files import kept

_TYPES = {"col": pa.int64(), "col1": pa.int64(), "name": pa.string()}
# The first two rows are the RFC's example of an index table.
_FILES: Sequence[Sequence[tuple[int | None, int | None, str | None]]] = [
    [(49152, 65536, "a"), (65535, 98303, "ab")],
    [(65536, 65536, "abc"), (90111, 98303, "b")],
    [(None, 7, None), (None, 7, None)],
    [(65535, None, "b"), (65535, 7, None)],
    [(7, 7, "b"), (7, 7, "b")],
]


@dataclass(frozen=True)
class Index:
    """A row of the RFC's index table, for one column."""

    minimum: int | str | None
    maximum: int | str | None
    nulls: int
    rows: int

    def between(self, low: int | str, high: int | str) -> bool:
        """``minimum <= high AND maximum >= low``, false where they are null."""
        if self.minimum is None or self.maximum is None:
            return False
        return self.minimum <= high and self.maximum >= low

    def is_not_only(self, value: int | str) -> bool:
        """``NOT (minimum = value AND maximum = value)``, false where they are null."""
        return self.minimum is not None and not self.minimum == self.maximum == value


def index(file: int, column: str) -> Index:
    position = list(_TYPES).index(column)
    values = [row[position] for row in _FILES[file]]
    known = [value for value in values if value is not None]
    return Index(
        min(known, default=None),
        max(known, default=None),
        len(values) - len(known),
        len(values),
    )


_LOW, _HIGH = -(2**63), 2**63 - 1
_Condition = Callable[[Index], bool]
_ON_COL: dict[str, _Condition] = {
    "col = 65535": lambda i: i.between(65535, 65535),
    "65535 = col": lambda i: i.between(65535, 65535),
    "col <=> NULL": lambda i: i.nulls > 0,
    "NULL <=> col": lambda i: i.nulls > 0,
    "col <=> 65535": lambda i: i.between(65535, 65535),
    "65535 <=> col": lambda i: i.between(65535, 65535),
    "col < 65536": lambda i: i.between(_LOW, 65535),
    "65536 > col": lambda i: i.between(_LOW, 65535),
    "col <= 65535": lambda i: i.between(_LOW, 65535),
    "65535 >= col": lambda i: i.between(_LOW, 65535),
    "col > 65535": lambda i: i.between(65536, _HIGH),
    "65535 < col": lambda i: i.between(65536, _HIGH),
    "col >= 65536": lambda i: i.between(65536, _HIGH),
    "65536 <= col": lambda i: i.between(65536, _HIGH),
    "col IS NULL": lambda i: i.nulls > 0,
    "col IS NOT NULL": lambda i: i.nulls < i.rows,
    "col IN (7, 65535)": lambda i: i.between(7, 7) or i.between(65535, 65535),
    "NOT col = 7": lambda i: i.is_not_only(7),
    "col <> 65535": lambda i: i.is_not_only(65535),
    "col NOT IN (7, 65535)": lambda i: i.is_not_only(7) and i.is_not_only(65535),
    "NOT col < 65536": lambda i: i.between(65536, _HIGH),
    "NOT col <= 65535": lambda i: i.between(65536, _HIGH),
    "NOT col > 65535": lambda i: i.between(_LOW, 65535),
    "NOT col >= 65536": lambda i: i.between(_LOW, 65535),
    "NOT col IS NULL": lambda i: i.nulls < i.rows,
    "NOT col IS NOT NULL": lambda i: i.nulls > 0,
    "NOT col <=> NULL": lambda i: i.nulls < i.rows,
    "col = NULL": lambda i: False,
}
_ON_NAME: dict[str, _Condition] = {
    "name LIKE 'ab%'": lambda i: i.between("ab", "ab\uffff"),
    "name NOT LIKE 'b%'": lambda i: i.between("", "a\uffff"),
    "name = 'ab'": lambda i: i.between("ab", "ab"),
}
_CASES = [("col", *case) for case in _ON_COL.items()] + [
    ("name", *case) for case in _ON_NAME.items()
]


@pytest.mark.parametrize(("column", "text", "condition"), _CASES, ids=[c[1] for c in _CASES])
def test_a_filter_on_one_column(column: str, text: str, condition: _Condition) -> None:
    expected = [file for file in range(len(_FILES)) if condition(index(file, column))]
    assert kept(parse_predicate(text), _TYPES, *_FILES) == expected


def printed(text: str, dialect: Dialect = Dialect.SPARK) -> str:
    return to_sql(index_filter(parse_predicate(text), pa.schema(_TYPES)), dialect)


def index_table() -> pa.Table:
    """A row for each file, and one more without statistics."""
    rows: list[dict[str, object]] = []
    for file, values in enumerate(_FILES):
        row: dict[str, object] = {"file": file, "valueCount": len(values)}
        for column in _TYPES:
            known = index(file, column)
            row[f"{column}_minValue"], row[f"{column}_maxValue"] = known.minimum, known.maximum
            row[f"{column}_nullCount"] = known.nulls
        rows.append(row)
    return pa.Table.from_pylist([*rows, {"file": len(_FILES)}])


@pytest.mark.parametrize(("column", "text", "condition"), _CASES, ids=[c[1] for c in _CASES])
def test_the_same_in_sql_over_the_index_table(
    column: str, text: str, condition: _Condition
) -> None:
    duckdb = pytest.importorskip("duckdb")
    expected = [file for file in range(len(_FILES)) if condition(index(file, column))]
    unknown = [] if text == "col = NULL" else [len(_FILES)]
    with duckdb.connect() as connection:
        connection.register("index_table", index_table())
        sql = f"SELECT file FROM index_table WHERE {printed(text, Dialect.DUCKDB)} ORDER BY file"
        assert [row[0] for row in connection.sql(sql).fetchall()] == expected + unknown


def test_sparks_sql_over_the_index_table() -> None:
    same = "`col_nullCount` = `valueCount`"
    no_bounds = "((`col_minValue`) IS NULL) OR ((`col_maxValue`) IS NULL)"
    unknown = f"({no_bounds}) AND ((NOT ({same})) OR (({same}) IS NULL))"
    assert printed("col < 5") == f"(`col_minValue` < 5) OR ({unknown})"
    assert printed("col IS NULL") == "(`col_nullCount` > 0) OR ((`col_nullCount`) IS NULL)"


def test_filters_are_combined() -> None:
    def files(text: str) -> set[int]:
        return set(kept(parse_predicate(text), _TYPES, *_FILES))

    one, other = "col = 65535", "col1 >= 65536"
    assert files(f"{one} AND {other}") == files(one) & files(other) == {0}
    assert files(f"{one} OR {other}") == files(one) | files(other) == {0, 1, 3}
    assert files(f"NOT ({one} AND {other})") == files(f"NOT {one} OR NOT {other}")
    assert files(f"NOT ({one} OR {other})") == files(f"NOT {one} AND NOT {other}")


def test_a_filter_that_cannot_be_translated_keeps_all() -> None:
    assert kept(parse_predicate("rand() < col"), _TYPES, *_FILES) == list(range(len(_FILES)))
    for text in ("rand() < col", "col = col1", "name = 5", "upper(name) = 'A'", "missing = 1"):
        assert printed(text) == "TRUE"
    assert printed("col = 5 OR upper(name) = 'A'") == "TRUE"
    assert printed("col = 5 AND upper(name) = 'A'") == printed("col = 5")


_NOT_COUNTED = IndexColumns("_num_nulls", None)


@pytest.mark.parametrize("columns", [RFC28_COLUMNS, _NOT_COUNTED], ids=["counted", "not counted"])
@pytest.mark.parametrize(("column", "text", "condition"), _CASES, ids=[c[1] for c in _CASES])
def test_the_same_with_the_rfcs_own_columns(
    column: str, text: str, condition: _Condition, columns: IndexColumns
) -> None:
    """Without the number of rows a file of nulls alone looks like an unknown one."""
    duckdb = pytest.importorskip("duckdb")
    found = index_filter(parse_predicate(text), pa.schema(_TYPES), columns)
    table = index_table()
    table = table.rename_columns(
        [name.replace("nullCount", "num_nulls") for name in table.column_names]
    )
    if columns.rows is None:
        table = table.drop_columns(["valueCount"])
    else:
        table = table.rename_columns({"valueCount": columns.rows})
    with duckdb.connect() as connection:
        connection.register("index_table", table)
        sql = f"SELECT file FROM index_table WHERE {to_sql(found, Dialect.DUCKDB)}"
        kept_files = {row[0] for row in connection.sql(sql).fetchall()}
    expected = {file for file in range(len(_FILES)) if condition(index(file, column))}
    if text != "col = NULL":
        expected.add(len(_FILES))  # of which nothing is known
    only_nulls = {file for file in range(len(_FILES)) if index(file, column).minimum is None}
    assert expected <= kept_files
    assert kept_files <= (expected if columns.rows else expected | only_nulls)


@pytest.mark.parametrize(
    ("text", "low", "high", "nulls", "is_kept"),
    [
        ("d > 5", 0.0, 0.0, 0, True),  # as Hudi's index records a file with NaN
        ("d > 5", 0.0, 1.0, 0, False),
        ("d > 5", 6.0, 7.0, 0, True),
        ("NOT (d <=> 5)", 5.0, 5.0, 1, True),
        ("NOT (d <=> 5)", 5.0, 5.0, 0, False),
        ("NOT (d <=> 5)", 5.0, 6.0, 0, True),
        ("d > 5", None, None, 2, False),  # only nulls
        ("d > 5", None, None, 0, True),
    ],
)
def test_one_row_of_the_index_table(
    text: str, low: float | None, high: float | None, nulls: int, is_kept: bool
) -> None:
    duckdb = pytest.importorskip("duckdb")
    condition = to_sql(
        index_filter(parse_predicate(text), pa.schema({"d": pa.float64()})), Dialect.DUCKDB
    )
    row = {"d_minValue": low, "d_maxValue": high, "d_nullCount": nulls, "valueCount": 2}
    types = dict.fromkeys(row, pa.int64()) | dict.fromkeys(
        ("d_minValue", "d_maxValue"), pa.float64()
    )
    with duckdb.connect() as connection:
        connection.register("index_table", pa.Table.from_pylist([row], pa.schema(types)))
        found = connection.sql(f"SELECT 1 FROM index_table WHERE {condition}").fetchall()
    assert bool(found) is is_kept


def test_only_the_prefix_of_a_pattern_is_used() -> None:
    beginning = printed("name LIKE 'ab%'")
    assert printed("name LIKE 'ab_d%'") == f"({beginning}) AND ({beginning})"
    assert printed("NOT (name LIKE 'ab_d%')") == "TRUE"
    assert printed("name LIKE '_b%'") == "TRUE"
    two_letters = Matches(Column(("name",)), ("a", None), whole=True)  # "abc" has three characters
    assert index_filter(Not(two_letters), pa.schema(_TYPES)) == ALWAYS
