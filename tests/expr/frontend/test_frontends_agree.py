"""The same predicates through every front end: each proves as much as Hive's SQL does.

The files are those of the matrix table (`devtools.matrix`), with exact statistics of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from devtools.matrix import FILES, ROWS, Partitioning, _rows
from pyhudi_expr.errors import FilterNotApplicable
from pyhudi_expr.expr.backend.sql import Dialect, InexpressibleInSqlError, to_sql
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn, unknown_reasons
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.arrow.expressions import parse_arrow
from pyhudi_expr.expr.frontend.arrow.filter_lists import parse_filters
from pyhudi_expr.expr.frontend.sql.parser import (
    HIVE,
    PRESTO,
    SPARK,
    TRINO,
    SqlDialect,
    parse_predicate,
)
from pyhudi_expr.expr.nodes import (
    And,
    CharType,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Term,
    Unknown,
    walk,
)
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.protocol.conversion.decoder import decode
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.rows.arrow_filter import arrow_filter
from tests.expr.statistics import RowStatistics
from tests.index.prune import predicates
from tests.index.prune.predicates import ALL, ONLY_SPARK

SCHEMA = pa.schema(
    {
        **{"id": pa.int64(), "b": pa.bool_(), "ti": pa.int32(), "si": pa.int32()},
        **{"i": pa.int32(), "l": pa.int64(), "f": pa.float32(), "d": pa.float64()},
        **{"dec9": pa.decimal128(9, 2), "dec38": pa.decimal128(38, 10), "s": pa.string()},
        **{"u": pa.string(), "dt": pa.date32(), "ts": pa.timestamp("us", "UTC")},
        "bin": pa.binary(),
        "st": pa.struct(
            {
                **{"a": pa.int32(), "b": pa.string()},
                "c": pa.struct({"d": pa.float64(), "e": pa.date32()}),
            }
        ),
        **{"n": pa.int32(), "none": pa.int32(), "p": pa.string(), "q": pa.int32()},
    }
)
_NEAR = frozenset(
    {
        "ts = TIMESTAMP '1969-12-20 01:02:03.456788'",
        "ts BETWEEN TIMESTAMP '1970-06-01 00:00:00' AND TIMESTAMP '1970-09-01 00:00:00.000001'",
    }
)
TABLE = (*ALL, *ONLY_SPARK)
#: Some of the others have other words or meanings there, such as times, and are supported in part.
SAID_ALIKE = (
    *(*predicates.BOOLEANS, *predicates.FLOATS, *predicates.ORDERED_NANS, *predicates.DECIMALS),
    *(*predicates.BINARIES, *predicates.NULLS, *predicates.PARTITIONS),
)


def _stored(value: Any) -> Any:
    """Days and microseconds for dates and times."""
    if isinstance(value, datetime):
        since = value - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


def _flat(row: Mapping[str, Any], prefix: str = "", type_: Any = SCHEMA) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in type_:
        value, name = (row or {}).get(field.name), prefix + field.name
        if pa.types.is_struct(field.type):
            found |= {name: value, **_flat(value, f"{name}.", field.type)}
        else:
            found[name] = _stored(value)
    return found


class _Files:
    """The bounds of the matrix's files, each column's computed once."""

    def __init__(self) -> None:
        rows = [_flat(row) for row in _rows(Partitioning.NONE)]
        self._rows = RowStatistics([rows[k * ROWS : (k + 1) * ROWS] for k in range(FILES)])
        self._known: dict[str, Bounds | None] = {}

    def bounds(self, column: BoundColumn) -> Bounds | None:
        if column.name not in self._known:
            self._known[column.name] = self._rows.bounds(column)
        return self._known[column.name]


@lru_cache(maxsize=1)
def _evidence() -> StatisticsEvidence:
    return StatisticsEvidence(_Files())


def kept(predicate: HudiExpression) -> list[int]:
    """Which files may hold a match, and which may hold none."""
    bound = bind(predicate, Scope(SCHEMA, here("UTC")))
    masks = [as_array(may_be(bound, truth, [_evidence()]), FILES) for truth in (True, False)]
    return [int(file) for mask in masks for file in (*np.flatnonzero(mask), -1)]


@cache
def by_hive(text: str) -> list[int]:
    return kept(parse_predicate(text))


def through_trino(predicate: HudiExpression) -> HudiExpression:
    return parse_predicate(to_sql(predicate, Dialect.TRINO), TRINO)


def through_presto(predicate: HudiExpression) -> HudiExpression:
    return parse_predicate(to_sql(predicate, Dialect.PRESTO), PRESTO)


def through_spark(predicate: HudiExpression) -> HudiExpression:
    return parse_predicate(to_sql(predicate, Dialect.SPARK), SPARK)


def through_arrow(predicate: HudiExpression) -> HudiExpression:
    return parse_arrow(arrow_filter(predicate, SCHEMA, "UTC"), SCHEMA)


def through_filter_lists(predicate: HudiExpression) -> HudiExpression:
    alternatives = predicate.children if isinstance(predicate, Or) else (predicate,)
    return parse_filters(
        [[*map(_filter, one.children if isinstance(one, And) else (one,))] for one in alternatives]
    )


def _filter(node: HudiExpression) -> tuple[Any, ...]:
    match node:
        case Comparison(op=op, left=Column(path=path), right=Literal() as right):
            return path, op.value, _value(right)
        case In(term=Column(path=path), options=options):
            return path, "in", [_value(option) for option in options]
        case IsNull(term=Column(path=path)):
            return path, "is", None
        case Not(child=IsNull(term=Column(path=path))):
            return path, "is not", None
    raise InexpressibleInSqlError("what is no filter of a list")


def _value(literal: Term) -> Any:
    if not isinstance(literal, Literal) or isinstance(literal.type, CharType):
        raise InexpressibleInSqlError("what is no constant")
    return pa.scalar(literal.value, literal.type).as_py()


#: How each front end expresses a predicate, and the minimum number of predicates that it can.
FORMS: dict[str, tuple[Callable[[HudiExpression], HudiExpression], int]] = {
    "thrift": (lambda predicate: decode(encode(predicate)), len(TABLE)),
    "spark": (through_spark, 200),
    "trino": (through_trino, 120),
    "presto": (through_presto, 120),
    "arrow": (through_arrow, 100),
    "filter lists": (through_filter_lists, 100),
}
#: With three digits, a time may be read as a neighbouring one. Arrow's IN and CASE have more nodes.
#: A text with U+FFFD may have been invalid Unicode for a client in Java. A filter list has an IN
#: that is never NULL.
WEAKER = {
    "trino": _NEAR,
    "presto": _NEAR | {"u LIKE '😀%'"},
    "arrow": frozenset(
        {
            *("i IN (1, NULL)", "i = 1 AND i IN (2, 3)"),
            "CASE i WHEN 3005 THEN 'a' WHEN 3006 THEN 'b' END = 'b'",
            "NOT (CASE WHEN n > 0 THEN i > 0 ELSE i > 20000 END)",
            # Stronger: only Hive may find NaN between two numbers.
            *("f BETWEEN 16.0 AND 17.0", "d BETWEEN 9.0 AND 9.1", "NOT (f BETWEEN -1e10 AND 40)"),
        }
    ),
    "filter lists": frozenset({"none IN (1, 2)"}),
    "thrift": frozenset({"u = '\ufffd005'", "u > '\ufffd'"}),
}
INEXPRESSIBLE = (InexpressibleInSqlError, FilterNotApplicable)


def test_the_table_is_large_enough() -> None:
    assert len(set(TABLE)) >= 120


@pytest.mark.parametrize("text", [text for text in TABLE if "<=>" not in text])
def test_hives_and_sparks_sql_are_one_tree(text: str) -> None:
    if text.startswith("trunc("):  # Hive's vectorised code truncates dates to 1970-01-01
        assert parse_predicate(text) == Unknown("trunc() is not supported")
    else:
        assert parse_predicate(text, SPARK) == parse_predicate(text, HIVE.as_written)


def test_hive_compares_no_decimals_with_null_safe_equality() -> None:
    for column, type_ in (("dec9", "a decimal"), ("i", "an integer")):
        bound = bind(parse_predicate(f"{column} <=> 5"), Scope(SCHEMA))
        assert bool(unknown_reasons(bound)) == (type_ == "a decimal")


@pytest.mark.parametrize("dialect", [TRINO, PRESTO], ids=["trino", "presto"])
def test_prestos_sql_is_the_same_tree_except_times_and_functions(dialect: SqlDialect) -> None:
    for text in SAID_ALIKE:
        if dialect is PRESTO and "NOT" in text:
            continue  # it does not trust NaN
        assert parse_predicate(text, dialect) == parse_predicate(text, SPARK), text


@pytest.mark.parametrize("form", FORMS)
def test_each_form_proves_as_much(form: str) -> None:
    again, at_least = FORMS[form]
    converted_count, weaker = 0, {}
    for text in TABLE:
        predicate = parse_predicate(text)
        try:
            found = again(predicate)
        except INEXPRESSIBLE:
            continue
        if form == "arrow" and any(isinstance(node, Unknown) for node in walk(found)):
            continue  # it is a function that is not read
        converted_count += 1
        if text not in WEAKER.get(form, ()) and kept(found) != by_hive(text):
            weaker[text] = found
    assert weaker == {}
    assert converted_count >= at_least
