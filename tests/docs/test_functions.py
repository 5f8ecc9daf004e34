"""What `docs/functions.md` lists as not supported keeps all files, and one line says why."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import unknown_reasons
from pyhudi_expr.expr.evaluate import is_impossible
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope

DOCUMENT = Path(__file__).parents[2] / "docs/functions.md"
SCHEMA = pa.schema(
    {
        **{"i": pa.int32(), "j": pa.int32(), "m": pa.decimal128(9, 2), "f": pa.float32()},
        **{"x": pa.float64(), "s": pa.string(), "d": pa.date32(), "t": pa.timestamp("us", "UTC")},
    }
)
#: By what the document lists as not supported, conditions with it; those of Trino begin so.
LISTED = {
    "div": ["i div j = 1"],
    "%": ["i % j = 1", "m % 2 = 1"],
    "power": ["power(x, j) = 1"],
    "bround": ["bround(x) = 1"],
    "round": ["round(m, -1) = 10", "round(f) = 1"],
    "year(text)": ["year(s) = 2024"],
    "date_add(text, n)": ["date_add(s, 1) = '2024-01-01'"],
    "hour(text)": ["hour(s) = 1"],
    "trunc": ["trunc(d, 'MM') = '2024-01-01'"],
    "current_timestamp": ["trino: t > current_timestamp"],
    "/": ["trino: i / j = 1"],
    "cbrt": ["cbrt(x) = 1"],
    "log(base, x)": ["log(3, x) = 1"],
    "lpad": ["lpad(s, 3, 'x') = 'xxa'"],
    "reverse": ["reverse(s) = 'a'"],
    "right": ["right(s, 1) = 'a'"],
    "LIKE '%x'": ["s LIKE '%x'"],
    "RLIKE 'x'": ["s RLIKE 'x'"],
    "initcap": ["initcap(s) = 'A'"],
    "translate": ["translate(s, 'a', 'b') = 'b'"],
    "regexp_replace": ["regexp_replace(s, 'a+', 'b') = 'b'"],
    "substring_index": ["substring_index(s, '-', 1) = 'b'"],
    "repeat": ["repeat(s, 2) = 'bb'"],
    "length": ["length(s) = 2"],
    "RLIKE": ["s RLIKE 'a|b'", r"s RLIKE '(a)\\1'", "trino: regexp_like(s, 'a')"],
    "replace": ["trino: replace(s, 'a', 'b') = 'b'"],
    "rpad": ["trino: rpad(s, 2, 'b') = 'bb'"],
    "f = '1.5'": ["f = '1.5'"],
    "format_datetime": ["trino: format_datetime(t, 'yyyy') = '2024'"],
    "date_format": ["trino: date_format(t, '%Y') = '2024'"],
    "split_part": ["trino: split_part(s, '-', 1) = '2024'"],
    "day_of_week": ["trino: day_of_week(d) = 1"],
}
#: They are no calls of their own, or no text has them.
_OTHERS = {"\\|", "\\s", "\\b", "date_trunc"}


def test_each_row_of_the_document_has_an_example() -> None:
    tables = re.findall(
        r"Not supported; they keep all files:\n\n((?:\|.*\n)+)", DOCUMENT.read_text()
    )
    rows = [row.split(" | ")[0] for table in tables for row in table.splitlines()[2:]]
    assert {code for row in rows for code in re.findall("`(.+?)`", row)} - _OTHERS == LISTED.keys()


@pytest.mark.parametrize("text", [text for texts in LISTED.values() for text in texts])
def test_what_is_not_supported_is_said_in_one_line(text: str) -> None:
    condition = text.removeprefix("trino: ")
    dialect = DIALECTS["trino" if len(condition) < len(text) else "hive"]
    scope = Scope(SCHEMA, here("UTC", dialect.engine))
    bound = bind(parse_predicate(condition, dialect), scope)
    assert not is_impossible(bound, True)
    reasons = unknown_reasons(bound)
    assert reasons
    assert all(reason and "\n" not in reason for reason in reasons)
