"""Filter lists, and constants as Python programs hold them."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.arrow.filter_lists import (
    FilterError,
    held,
    literal_of_python,
    parse_filters,
)
from pyhudi_expr.expr.frontend.common.constants import InexpressibleError
from pyhudi_expr.expr.frontend.common.functions import is_in
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Column,
    Comparison,
    Constant,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
    Truth,
    Unknown,
)
from pyhudi_expr.expr.terms import Scope
from tests.expr.statistics import RowStatistics

#: Deeper than Python's recursion limit allows.
DEEP: list[Any] = reduce(lambda inner, _: [inner], range(100_000), [])
A, B = Column(("a",)), Column(("b",))
ONE, TWO = Literal(1, pa.int32()), Literal(2, pa.int32())
A_IS_1, B_ABOVE_2 = Comparison(Op.EQ, A, ONE), Comparison(Op.GT, B, TWO)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([("a", "=", 1)], A_IS_1),
        ([("a", "==", 1), ("b", ">", 2)], And((A_IS_1, B_ABOVE_2))),
        ([[("a", "=", 1), ("b", ">", 2)], [("a", "=", 1)]], Or((And((A_IS_1, B_ABOVE_2)), A_IS_1))),
        ([("a", "!=", 1)], Comparison(Op.NE, A, ONE)),
        ([("a", "IN", [1, 2])], is_in(A, (ONE, TWO))),
        ([("a", "not  in", (1,))], Not(is_in(A, (ONE,)))),
        ([("st.a", "<", 1)], Comparison(Op.LT, Column(("st", "a")), ONE)),
        ([(("st", "a.b"), "<", 1)], Comparison(Op.LT, Column(("st", "a.b")), ONE)),
        ([("a", "in", (one for one in (1, 2)))], is_in(A, (ONE, TWO))),
        ([("a", "in", np.array([1, 2], np.int32))], is_in(A, (ONE, TWO))),
        ([("a", "in", pa.array([1, 2], pa.int32()))], is_in(A, (ONE, TWO))),
        ([("a", "in", pa.chunked_array([[1], [2]], pa.int32()))], is_in(A, (ONE, TWO))),
        ([("a", "in", pd.Series([1, 2], dtype="int32"))], is_in(A, (ONE, TWO))),
        ([("a", "between", (1, 2))], Between(A, ONE, TWO)),
        ([("a", "NOT BETWEEN", [1, 2])], Not(Between(A, ONE, TWO))),
        ([("a", "like", "x%")], StartsWith(A, "x")),
        ([("a", "not like", np.str_("x%"))], Not(StartsWith(A, "x"))),
        ([("a", "like", r"x\_y\%%")], StartsWith(A, "x_y%")),
        ([("a", "like", None)], Constant(Truth.NULL)),
        ([("a", "is null")], IsNull(A)),
        ([("a", "is null", None)], IsNull(A)),
        ([("a", "is not null"), ("b", ">", 2)], And((Not(IsNull(A)), B_ABOVE_2))),
        ([("a", "is", None)], IsNull(A)),
        ([("a", "is not", None)], Not(IsNull(A))),
        ([("a", "=", None)], Comparison(Op.EQ, A, Literal(None, pa.null()))),
        ([("a", "<=>", None)], Comparison(Op.NULL_SAFE_EQ, A, Literal(None, pa.null()))),
        ([("a", "=", object)], Unknown("a constant of type type")),
        ([("a", "=", 10**80)], Unknown("the type decimal(81,0)")),
    ],
)
def test_lists_become_disjunctions_of_conjunctions(filters: list[Any], expected: Any) -> None:
    assert parse_filters(filters) == expected


@pytest.mark.parametrize(
    ("filters", "problem"),
    [
        ([], "empty"),
        ([[]], "empty"),
        ([("a", "=")], "is not \\(column, operator, value\\)"),
        (["a=1"], "is not \\(column, operator, value\\)"),
        ([[("a", "=", 1)], ("a", "=", 1)], "is not \\(column"),
        ([("a", "~", 1)], "the operator '~' is none of"),
        ([("a", 3, 1)], "not an operator"),
        ([("a", "in", "abc")], "not a collection"),
        ([("a", "in", b"abc")], "not a collection"),
        ([("a", "in", np.array(1))], "not a collection"),
        ([("a", "in", np.array([[1]]))], "not a collection"),
        ([("a", "in", {"x": 1})], "not a collection"),
        ([("a", "in", [1, [2]])], "\\[2\\] among the values for 'in' is not a value"),
        ([("a", "in", pa.array([[1]]))], "among the values"),
        ([("a", "between", (1, 2, 3))], "is not a pair"),
        ([("a", "between", {1, 2})], "is not a pair"),
        ([("a", "between", "ab")], "not a collection"),
        ([("a", "like", 5)], "5 is not a pattern"),
        ([("a", "is null", 5)], "takes no value, and got 5"),
        (("a", "is null"), "'a' is not \\(column"),
        ([("", "=", 1)], "not a column name"),
        ([(7, "=", 1)], "not a column name"),
        ([DEEP], "is not \\(column"),
        ([(DEEP, "=", 1)], "not a column name"),
    ],
)
def test_invalid_filter_lists_are_refused(filters: list[Any], problem: str) -> None:
    with pytest.raises(FilterError, match=problem):
        parse_filters(filters)


TIMES = pa.schema({"at": pa.timestamp("us", "UTC"), "s": pa.string()})


@pytest.mark.parametrize("text", ["2024-01-05 08:00", "2024-01-05T08:00", "2024-01-05 08:00+02:00"])
def test_a_time_without_seconds_is_one_beside_a_column_of_times(text: str) -> None:
    whole = f"{text[:16]}:00{text[16:]}"
    assert parse_filters([("AT", ">", text)], TIMES) == parse_filters([("AT", ">", whole)])
    for name in ("s", "none"):
        assert parse_filters([(name, ">", text)], TIMES) == parse_filters([(name, ">", text)])


def test_the_values_of_an_iterator_are_held() -> None:
    def filters() -> list[list[Any]]:
        return [[("a", "in", (one for one in (1, 2)))], [["a", "between", iter((1, 2))]]]

    found = held(filters())
    assert parse_filters(found) == parse_filters(found) == parse_filters(filters())


class TestNullsInLists:
    """How IN treats NULLs, as pyarrow does."""

    ROWS = ((None,), (1,), (3,), (1, None), (2, 3))

    @pytest.mark.parametrize("values", [[1, 2], [1, None], [None]])
    @pytest.mark.parametrize("operator", ["in", "not in"])
    def test_a_file_is_kept_where_pyarrow_finds_a_row(self, operator: str, values: Any) -> None:
        files = [pa.table({"a": pa.array(rows, pa.int32())}) for rows in self.ROWS]
        member = pc.field("a").isin(pa.array(values, pa.int32()))
        condition = member if operator == "in" else ~member
        has_match = [file.filter(condition).num_rows > 0 for file in files]
        predicate = bind(parse_filters([("a", operator, values)]), Scope(files[0].schema))
        evidence = RowStatistics([[{"a": value} for value in rows] for rows in self.ROWS])
        kept = as_array(may_be(predicate, True, [StatisticsEvidence(evidence)]), len(files))
        assert kept[has_match].all()
        assert not kept[0] or has_match[0]  # the file with only NULL is evaluated exactly


NEW_YORK, TOKYO = (dt.timezone(dt.timedelta(hours=hours)) for hours in (-5, 9))
INSTANT = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, Literal(True, pa.bool_())),
        (2**40, Literal(2**40, pa.int64())),
        (2.5, Literal(2.5, pa.float64())),
        (Decimal("1.50"), Literal(Decimal("1.50"), pa.decimal128(3, 2))),
        (bytearray(b"x"), Literal(b"x", pa.binary())),
        (dt.date(1970, 1, 2), Literal(1, pa.date32())),
        (dt.datetime(1970, 1, 1, 0, 0, 1, 5), Literal(1_000_005, pa.timestamp("us"))),
        (dt.datetime(1969, 12, 31, 19, tzinfo=NEW_YORK), Literal(0, pa.timestamp("us", "UTC"))),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 1), Literal(-999_999, pa.timestamp("us"))),
        (np.int16(3), Literal(3, pa.int16())),
        (np.float32(0.5), Literal(0.5, pa.float32())),
        (np.str_("x"), Literal("x", pa.string())),
        (dt.datetime(1, 1, 1, tzinfo=TOKYO), Literal(-62_135_629_200 * 10**6, INSTANT)),
        (dt.datetime(9999, 12, 31, 23, tzinfo=NEW_YORK), Literal(253_402_315_200 * 10**6, INSTANT)),
        (np.uint8(3), Literal(3, pa.int32())),
        (np.uint64(2**63), Literal(Decimal(2**63), pa.decimal128(19, 0))),
        (np.float16(0.5), Literal(0.5, pa.float32())),
        (pd.Timestamp("1970-01-01 00:00:01"), Literal(1_000_000, pa.timestamp("us"))),
        (np.datetime64("1970-01-01T01"), Literal(3600, pa.timestamp("s"))),
        (np.datetime64("1969-12-31T23:59"), Literal(-60, pa.timestamp("s"))),
        (np.datetime64("1970-01-02"), Literal(1, pa.date32())),
        (np.datetime64("1970-01-02", "ns"), Literal(86_400 * 10**9, pa.timestamp("ns"))),
        (np.datetime64("NaT"), Literal(None, pa.null())),
        (pa.scalar(5, pa.timestamp("ns", "UTC")), Literal(5, pa.timestamp("ns", "UTC"))),
        (pa.scalar(1, pa.date32()), Literal(1, pa.date32())),
        (pa.scalar(None, pa.int8()), Literal(None, pa.int8())),
        (pa.array(["x"]).dictionary_encode()[0], Literal("x", pa.string())),
        (pa.scalar("x", pa.string_view()), Literal("x", pa.string())),
        (pa.scalar(b"x", pa.binary_view()), Literal(b"x", pa.binary())),
    ],
)
def test_python_values_become_literals(value: Any, expected: Literal) -> None:
    found = literal_of_python(value)
    assert found == expected
    assert type(found.value) is type(expected.value)


def test_nan_is_a_number() -> None:
    assert math.isnan(literal_of_python(np.float64("nan")).value)


@pytest.mark.parametrize(
    "value",
    [
        [1],
        {},
        pa.scalar([1]),
        np.datetime64("2020", "Y"),
        np.datetime64(1, "25s"),  # steps of 25 seconds
        np.datetime64(1, "2D"),
        np.datetime64(2**40, "D"),
        np.longdouble(1),
        np.timedelta64(1, "s"),
        10**80,
    ],
)
def test_other_constants_are_refused(value: Any) -> None:
    with pytest.raises((InexpressibleError, ValueError)):
        literal_of_python(value)
