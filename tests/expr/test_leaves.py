"""The table of leaves in `pyhudi_expr.expr`, row by row, for every kind of value."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import columns
from pyhudi_expr.expr.nodes import (
    Between,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    StartsWith,
)
from pyhudi_expr.expr.terms import Scope
from tests.expr.kept_files import X, Y, among, eq, kept, less, lit
from tests.expr.statistics import NOTHING, RecordedStatistics

# Five values in ascending order for each type. Files: 0 holds the first two, 1 only the third, 2
# the last two and a null, 3 only nulls, 4 no rows.
DOMAINS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tinyint": (pa.int8(), [-128, -1, 0, 1, 127]),
    "smallint": (pa.int16(), [-(2**15), -1, 0, 1, 2**15 - 1]),
    "int": (pa.int32(), [-(2**31), -1, 0, 1, 2**31 - 1]),
    "bigint": (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1]),
    "bigint beyond doubles": (pa.int64(), [2**53 + step for step in range(-2, 3)]),
    "float": (pa.float32(), [-math.inf, -0.5, 1.401298464324817e-45, 0.5, math.inf]),
    "double": (pa.float64(), [-math.inf, -5e-324, 5e-324, 0.1, math.inf]),
    "negative double": (pa.float64(), [-2.0, -1.5, -1.0, -0.5, -0.0]),
    "decimal": (pa.decimal128(10, 2), [Decimal(t) for t in ("-1.01", "-1", "0", "0.01", "1")]),
    "decimal, 18 digits": (
        pa.decimal128(18, 0),
        [Decimal(t) for t in ("-999999999999999999", "-1", "0", "1", "999999999999999999")],
    ),
    "decimal, 38 digits": (
        pa.decimal128(38, 10),
        [
            Decimal(t)
            for t in (
                *("-9999999999999999999999999999.9999999999", "-0.0000000001", "0"),
                *("0.0000000001", "9999999999999999999999999999.9999999999"),
            )
        ],
    ),
    "string": (pa.string(), ["a", "ab", "b", "c", "d"]),
    "string, empty": (pa.string(), ["", " ", "a", "a ", "b"]),
    "string, accents": (pa.string(), ["e", "z", "é", "ü", "ÿ"]),
    "string, UTF-8 order": (pa.string(), ["\x7f", "é", "\ufffd", "\uffff", "😀"]),
    "string, common prefix": (pa.string(), [f"{'prefix' * 50}{digit}" for digit in range(5)]),
    "binary": (pa.binary(), [b"", b"\x00", b"\x7f", b"\x80", b"\xff\xff"]),
    "date": (pa.date32(), [-1, 0, 18_262, 18_263, 2_932_896]),
    "timestamp, ms": (pa.timestamp("ms"), [-1, 0, 1, 1_600_000_000_000, 253_402_300_799_999]),
    "timestamp, us": (pa.timestamp("us"), [-1, 0, 1, 1_600_000_000_000_001, 2**53 + 1]),
    "timestamp, ns": (pa.timestamp("ns"), [-1, 0, 1, 1_600_000_000_000_000_001, 2**63 - 1]),
    "instant": (pa.timestamp("us", "UTC"), [-1, 0, 1, 1_600_000_000_000_000, 2**53 + 1]),
}  # fmt: skip


def files_of(values: list[Any]) -> list[list[Any]]:
    first, second, third, fourth, fifth = values
    return [[first, second], [third, third], [fourth, None, fifth], [None, None], []]


def leaf(kind: str, v: list[Literal]) -> HudiExpression:
    """A leaf by name, on the five values as literals."""
    operators = {op.value: op for op in Op}
    if kind in operators:
        return Comparison(operators[kind], X, v[2])
    leaves: dict[str, HudiExpression] = {
        "not <=>": Not(Comparison(Op.NULL_SAFE_EQ, X, v[2])),
        "not <": Not(less(X, v[2])),
        "not <=": Not(Comparison(Op.LTEQ, X, v[2])),
        "< least": less(X, v[0]),
        "> greatest": less(v[4], X),
        "<= first file's greatest": Comparison(Op.LTEQ, X, v[1]),
        "< last file's least": less(X, v[3]),
        "literal <": less(v[2], X),
        "literal <=": Comparison(Op.LTEQ, v[2], X),
        "literal =": eq(v[2], X),
        "in": among(X, v[4], v[2], v[4]),
        "in one": among(X, v[2]),
        "in with null": among(X, v[2], lit(None, v[2].type)),
        "in nulls": among(X, lit(None, v[2].type)),
        "in nothing": In(X, ()),
        "between": Between(X, v[1], v[2]),
        "between reversed": Between(X, v[3], v[1]),
        "not between": Not(Between(X, v[1], v[4])),
        "is null": IsNull(X),
        "is not null": Not(IsNull(X)),
        "= null": eq(X, lit(None, v[2].type)),
        "not = null": Not(eq(X, lit(None, v[2].type))),
        "<=> null": Comparison(Op.NULL_SAFE_EQ, X, lit(None, v[2].type)),
    }
    return leaves[kind]


def zone_of(type_: pa.DataType) -> str | None:
    """A zone that skips no time: Spark would take one for another."""
    return "UTC" if pa.types.is_timestamp(type_) and type_.tz is None else None


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("=", [1]),
        ("<=>", [1]),
        ("not <=>", [0, 2, 3]),
        ("<>", [0, 2]),
        ("<", [0]),
        ("<=", [0, 1]),
        (">", [2]),
        (">=", [1, 2]),
        ("not <", [1, 2]),
        ("not <=", [2]),
        ("< least", []),
        ("> greatest", []),
        ("<= first file's greatest", [0]),
        ("< last file's least", [0, 1]),
        ("literal <", [2]),
        ("literal <=", [1, 2]),
        ("literal =", [1]),
        ("in", [1, 2]),
        ("in one", [1]),
        ("in with null", [1]),
        ("in nulls", []),
        ("in nothing", []),
        ("between", [0, 1]),
        ("between reversed", []),
        ("not between", [0]),
        ("is null", [2, 3]),
        ("is not null", [0, 1, 2]),
        ("= null", []),
        ("not = null", []),
        ("<=> null", [2, 3]),
    ],
)
def test_each_leaf_keeps_the_files_that_may_match(
    domain: str, kind: str, expected: list[int]
) -> None:
    type_, values = DOMAINS[domain]
    literals = [lit(value, type_) for value in values]
    assert kept(leaf(kind, literals), type_, *files_of(values), zone=zone_of(type_)) == expected


@pytest.mark.parametrize("domain", sorted(set(DOMAINS) - {"negative double"}))
def test_not_in_excludes_the_files_of_one_value(domain: str) -> None:
    type_, values = DOMAINS[domain]
    options = [lit(value, type_) for value in (values[2], values[4])]
    assert kept(Not(among(X, *options)), type_, *files_of(values), zone=zone_of(type_)) == [0, 2]


@pytest.mark.parametrize("domain", DOMAINS)
def test_long_and_short_in_lists_keep_the_same_files(domain: str) -> None:
    type_, values = DOMAINS[domain]
    options = [lit(value, type_) for value in (values[0], values[4])] * 50
    assert kept(among(X, *options), type_, *files_of(values), zone=zone_of(type_)) == [0, 2]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("kind", ["=", "<>", "<", ">=", "in", "not between", "is null"])
def test_a_file_without_statistics_is_kept(domain: str, kind: str) -> None:
    type_, values = DOMAINS[domain]
    predicate = leaf(kind, [lit(value, type_) for value in values])
    nothing = {("x", index): NOTHING for index in range(5)}
    assert kept(predicate, type_, *files_of(values), given=nothing) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(
    ("kind", "only_least", "only_greatest"),
    [
        ("=", [0, 1], [1, 2]),
        ("<", [0], [0, 1, 2]),
        (">", [0, 1, 2], [2]),
        ("in", [0, 1, 2], [1, 2]),
        ("<>", [0, 1, 2], [0, 1, 2]),
    ],
)
def test_one_bound_is_used_without_the_other(
    domain: str, kind: str, only_least: list[int], only_greatest: list[int]
) -> None:
    type_, values = DOMAINS[domain]
    predicate = leaf(kind, [lit(value, type_) for value in values])
    files = files_of(values)
    without_greatest = {("x", index): RecordedStatistics(maximum=False) for index in range(5)}
    without_least = {("x", index): RecordedStatistics(minimum=False) for index in range(5)}
    assert kept(predicate, type_, *files, given=without_greatest, zone=zone_of(type_)) == only_least
    assert kept(predicate, type_, *files, given=without_least, zone=zone_of(type_)) == only_greatest


def test_booleans_are_ordered_false_before_true() -> None:
    files = [[False, False], [True, False], [True, None], [None]]
    true, false = lit(True, pa.bool_()), lit(False, pa.bool_())
    assert kept(eq(X, true), pa.bool_(), *files) == [1, 2]
    assert kept(Not(eq(X, true)), pa.bool_(), *files) == [0, 1]
    assert kept(eq(X, false), pa.bool_(), *files) == [0, 1]
    assert kept(Comparison(Op.NULL_SAFE_EQ, X, false), pa.bool_(), *files) == [0, 1]
    assert kept(less(X, true), pa.bool_(), *files) == [0, 1]
    assert kept(among(X, true, false), pa.bool_(), *files) == [0, 1, 2]
    assert kept(Not(among(X, true, false)), pa.bool_(), *files) == [1]


def test_a_prefix_keeps_files_whose_range_overlaps_that_of_the_prefix() -> None:
    files = [["a", "am"], ["an", "an"], ["and", "anz"], ["ao", "z"], ["am", "ao"], [None]]
    assert kept(StartsWith(X, "an"), pa.string(), *files) == [1, 2, 4]
    assert kept(Not(StartsWith(X, "an")), pa.string(), *files) == [0, 3, 4]
    assert kept(StartsWith(X, ""), pa.string(), *files) == [0, 1, 2, 3, 4]


def test_a_prefix_of_any_bytes_has_a_successor() -> None:
    files = [["\x7f", "\x7fa"], ["\uffff"], ["😀", "😀😀"], ["\x80"]]
    assert kept(StartsWith(X, "\x7f"), pa.string(), *files) == [0]
    assert kept(StartsWith(X, "😀"), pa.string(), *files) == [2]
    assert kept(StartsWith(X, "\uffff"), pa.string(), *files) == [1]


def test_a_prefix_that_is_not_valid_text_excludes_nothing() -> None:
    assert kept(StartsWith(X, "\ud800"), pa.string(), ["a"]) == [0]
    assert kept(StartsWith(X, "a"), pa.int32(), [1]) == [0]


def test_both_zeros_are_one_value() -> None:
    files = [[-0.0], [0.0], [5e-324], [-5e-324]]
    for zero in (0.0, -0.0):
        literal = lit(zero, pa.float64())
        assert kept(eq(X, literal), pa.float64(), *files) == [0, 1]
        assert kept(Not(eq(X, literal)), pa.float64(), *files) == [2, 3]
        assert kept(less(X, literal), pa.float64(), *files) == [3]


def test_not_in_zero_excludes_nothing_because_hashes_distinguish_zeros() -> None:
    options = lit(0.0, pa.float64()), lit(1.0, pa.float64())
    assert kept(Not(among(X, *options)), pa.float64(), [-0.0], [0.0]) == [0, 1]
    assert kept(among(X, *options), pa.float64(), [-0.0], [0.5], [1.0]) == [0, 2]


def test_files_that_may_hold_nan_are_kept_for_both_of_its_orders() -> None:
    nan, five = lit(math.nan, pa.float64()), lit(5.0, pa.float64())
    files = [[1.0, 2.0], [6.0, math.nan], [1.0, math.nan], [math.nan]]
    assert kept(eq(X, nan), pa.float64(), *files) == [1, 2, 3]
    assert kept(less(five, X), pa.float64(), *files) == [1, 2, 3]  # NaN is greatest
    assert kept(Not(less(five, X)), pa.float64(), *files) == [0, 1, 2, 3]  # NaN compares FALSE
    assert kept(less(X, five), pa.float64(), *files) == [0, 2]
    assert kept(Not(less(X, five)), pa.float64(), *files) == [1, 2, 3]
    assert kept(less(X, nan), pa.float64(), *files) == [0, 1, 2, 3]  # no order: unknown
    assert kept(among(X, nan, five), pa.float64(), *files) == [1, 2, 3]
    assert kept(Not(among(X, nan, five)), pa.float64(), *files) == [0, 1, 2, 3]


def test_nested_fields_are_columns() -> None:
    struct = pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.string())]))])
    predicate = eq(Column(("ST", "b", "C")), lit("x", pa.string()))
    found = columns(bind(predicate, Scope(pa.schema([("st", struct)]))))
    assert list(found) == ["st.b.c"]
    assert found["st.b.c"].type == pa.string()


def test_columns_against_columns() -> None:
    types = {"x": pa.int64(), "y": pa.int64()}
    files = [[(1, 5), (2, 6)], [(5, 5)], [(7, 6), (9, 3)], [(None, 1)], [(3, None), (None, 3)]]
    assert kept(less(X, Y), types, *files) == [0]
    assert kept(Comparison(Op.LTEQ, X, Y), types, *files) == [0, 1, 4]
    assert kept(eq(X, Y), types, *files) == [1, 4]
    assert kept(Not(eq(X, Y)), types, *files) == [0, 2]
    assert kept(Comparison(Op.GT, X, Y), types, *files) == [2]
    assert kept(Comparison(Op.NULL_SAFE_EQ, X, Y), types, *files) == [1, 4]
    assert kept(Not(Comparison(Op.NULL_SAFE_EQ, X, Y)), types, *files) == [0, 2, 3, 4]


def test_null_safe_equality_is_true_of_two_nulls_and_false_of_one() -> None:
    types = {"x": pa.int64(), "y": pa.int64()}
    files = [[(None, None)], [(None, 1)], [(1, None)], [(1, 1), (None, None)], [(1, 1)]]
    assert kept(Comparison(Op.NULL_SAFE_EQ, X, Y), types, *files) == [0, 3, 4]
    assert kept(Not(Comparison(Op.NULL_SAFE_EQ, X, Y)), types, *files) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("left", "right", "files", "expected"),
    [
        (pa.int8(), pa.int64(), [[(1, 2)], [(1, 1)]], [1]),
        (pa.int32(), pa.float64(), [[(1, 1.5)], [(1, 1.0)]], [1]),
        (pa.float32(), pa.float64(), [[(0.5, 1.5)], [(0.5, 0.5)]], [1]),
        (pa.int64(), pa.float64(), [[(1, 1.5)], [(1, 1.0)]], [0, 1]),  # rounds: unknown
        (pa.int32(), pa.string(), [[(1, "2")], [(1, "1")], [(1, "02")]], [1, 2]),
        (pa.string(), pa.string(), [[("a", "b")], [("a", "a")]], [1]),
        (pa.timestamp("ms"), pa.timestamp("us"), [[(1, 1)], [(1, 1000)]], [1]),
        (pa.date32(), pa.date32(), [[(1, 2)], [(1, 1)]], [1]),
    ],
)
def test_columns_of_two_types(
    left: pa.DataType, right: pa.DataType, files: list[Any], expected: list[int]
) -> None:
    assert kept(eq(X, Y), {"x": left, "y": right}, *files) == expected
