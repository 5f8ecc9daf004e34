"""Hypothesis strategies: random tables, rows, statistics and predicates, with boundary values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Cast,
    CharType,
    Column,
    Comparison,
    Constant,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
    Term,
    Truth,
    Unknown,
)
from tests.expr.oracle_engines import Table
from tests.expr.statistics import EXACT, NOTHING, RecordedStatistics, Row, RowStatistics

_DAY = 86_400


@dataclass(frozen=True)
class Field:
    """A column of a random table: its stored type, its declared type and its values."""

    name: str
    type: pa.DataType
    pool: tuple[Any, ...]
    declared: CharType | None = None

    @property
    def column(self) -> Column:
        """The column as a term."""
        return Column(tuple(self.name.split(".")), self.declared)


@dataclass(frozen=True)
class Case:
    """A table of files with statistics, and a predicate on it."""

    table: Table
    schema: pa.Schema
    files: tuple[tuple[Row, ...], ...]
    statistics: RowStatistics
    predicate: HudiExpression


def integers(bits: int) -> tuple[int, ...]:
    """Limits of the type, and of the integers that a float represents exactly."""
    edge = 2 ** (bits - 1)
    near = [2**24, 2**53, 2**60 + 2**36]
    wide = [sign * (power + step) for power in near for step in (-1, 0, 1, 2) for sign in (1, -1)]
    small = [-edge, 1 - edge, edge - 2, edge - 1, -2, -1, 0, 1, 2, 5, 100]
    return tuple(value for value in small + wide if -edge <= value < edge)


def days(*dates: date) -> tuple[int, ...]:
    """Dates as days since 1970."""
    return tuple(day.toordinal() - date(1970, 1, 1).toordinal() for day in dates)


_DOUBLES = (
    *(0.0, -0.0, 1.5, -1.5, 5e-324, -5e-324, 0.1, 0.5, 5.0, -1.0, math.pi),
    *(math.inf, -math.inf, math.nan, 1.7976931348623157e308, -1.7976931348623157e308),
    *(2.0**24, 2.0**24 + 1, 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**60 + 2.0**37, 2.0**63),
    *(float(np.float32(0.1)), math.nextafter(0.1, 1), 3.4028235e38, 3.4028235677973366e38),
)
_SINGLES = (
    *(float(np.float32(value)) for value in _DOUBLES if not 3.4e38 < abs(value) < math.inf),
    float(np.finfo(np.float32).max),
    *(1.401298464324817e-45, float(np.nextafter(np.float32(0.1), np.float32(1)))),
)
_CENTS = tuple(
    Decimal(text)
    for text in ("0.00", "0.01", "-0.01", "1.00", "5.50", "-5.50", "99999999.99", "-99999999.99")
)
_WIDE = tuple(
    Decimal(text).quantize(Decimal("1e-10"), context=Context(prec=38))
    for text in (
        *("0", "1", "-1", "0.1", "9007199254740992", "9007199254740993"),
        *("9" * 28 + "." + "9" * 10, "-" + "9" * 28 + "." + "9" * 10),
    )
)
_TEXTS = (
    *("", " ", "a", "a ", "ab", "ab ", "abc", "abd", "b", "z", "é", "e", "\x7f", "\x80", "a\x01"),
    *("�", "\uffff", "😀", "😀a", "long common prefix 1", "long common prefix 2", "ÿ"),
    *("2020-01-01", "2020-01-01 00:00:00"),
)
_CHARS = ("", "a", "a ", "a  ", "ab", "ab ", "abc", "abcd", "ab  x", "a\x01", "é", "é ", "😀", "b")
_BINARIES = (b"", b"\x00", b"\x00\x00", b"a", b"ab", b"\x7f", b"\x80", b"\xff", b"\xff\xff")
_DATES = days(
    *(date(1, 1, 1), date(1500, 3, 9), date(1500, 3, 10), date(1500, 3, 11), date(1582, 10, 4)),
    *(date(1582, 10, 14), date(1582, 10, 15), date(1582, 10, 16), date(1899, 12, 31)),
    *(date(1900, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(2019, 12, 31)),
    *(date(2020, 1, 1), date(2020, 1, 2), date(2020, 12, 31), date(9999, 12, 31)),
)
_SECONDS = tuple(day * _DAY for day in _DATES[1:-1]) + tuple(
    int(datetime(*parts, tzinfo=timezone.utc).timestamp())
    for parts in (
        *((2021, 3, 14, 2, 30), (2021, 3, 14, 6, 30), (2021, 3, 14, 7, 0)),  # New York: gap
        *((2021, 11, 7, 1, 30), (2021, 11, 7, 5, 30), (2021, 11, 7, 6, 10)),  # and overlap
        *(
            (1969, 9, 30, 12, 0),
            (1969, 10, 1, 0, 0),
            (1969, 9, 30, 20, 0),
        ),  # Kwajalein skipped a day
        (2020, 1, 1, 12, 0),
    )
)
_ZONES = (None, "UTC", "America/New_York", "Pacific/Kwajalein", "Asia/Tokyo")


def _times(units: int) -> tuple[int, ...]:
    fractions = (0, 1, units - 1) if units > 1 else (0,)
    return tuple(
        value
        for second in _SECONDS
        for fraction in fractions
        if abs(value := second * units + fraction) < 2**63
    )


_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
FIELDS = (
    Field("flag", pa.bool_(), (True, False)),
    *(Field(f"i{type_.bit_width}", type_, integers(type_.bit_width)) for type_ in _INTEGERS),
    Field("l", pa.int64(), integers(64)),
    Field("f", pa.float32(), _SINGLES),
    Field("d", pa.float64(), _DOUBLES),
    Field("cents", pa.decimal128(10, 2), _CENTS),
    Field("wide", pa.decimal128(38, 10), _WIDE),
    Field("s", pa.string(), _TEXTS),
    Field("t", pa.string(), _TEXTS),
    Field("c3", pa.string(), _CHARS, CharType(3, padded=True)),
    Field("v3", pa.string(), _CHARS, CharType(3, padded=False)),
    Field("b", pa.binary(), _BINARIES),
    Field("day", pa.date32(), _DATES),
    Field("day2", pa.date32(), _DATES),
    Field("ms", pa.timestamp("ms"), _times(10**3)),
    Field("us", pa.timestamp("us"), _times(10**6)),
    Field("ns", pa.timestamp("ns"), _times(10**9)),
    Field("at", pa.timestamp("us", "UTC"), _times(10**6)),
    Field("at2", pa.timestamp("us", "UTC"), _times(10**6)),
    Field("st.a", pa.int32(), integers(32)),
)
_NUMBER_LITERALS = (
    *(Literal(value, pa.int32()) for value in integers(32)),
    *(Literal(value, pa.int64()) for value in integers(64)),
    *(Literal(value, pa.float64()) for value in _DOUBLES),
    *(Literal(value, pa.float32()) for value in _SINGLES),
    *(Literal(value, pa.decimal128(10, 2)) for value in _CENTS),
    *(Literal(value, pa.decimal128(38, 10)) for value in _WIDE),
    Literal(Decimal("0.1"), pa.decimal128(1, 1)),
    Literal(Decimal("5." + "0" * 20 + "1"), pa.decimal128(22, 21)),
)
_TIME_LITERALS = (
    *(Literal(value, pa.date32()) for value in _DATES),
    *(Literal(value, pa.timestamp("us")) for value in _times(10**6)),
    *(Literal(value, pa.timestamp("ns")) for value in _times(10**9)),
    *(Literal(value, pa.timestamp("us", "UTC")) for value in _times(10**6)),
    *(
        Literal(text, pa.string())
        for text in (
            "2020-01-01",
            "2020-01-01 00:00:00",
            "2020-01-01 12:00:00.000001",
            "1500-03-01",
        )
    ),
)
_TEXT_LITERALS = (
    *(Literal(value, pa.string()) for value in _TEXTS + _CHARS),
    *(Literal(value[:4], CharType(4, padded=True)) for value in _CHARS),
    *(Literal(value[:4], CharType(4, padded=False)) for value in _CHARS),
)
_ODD_LITERALS = (
    Literal(5, pa.int32()),
    Literal("5", pa.string()),
    Literal(True, pa.bool_()),
    Literal(b"a", pa.binary()),
    Literal(0, pa.date32()),
)


def _literals_for(field: Field) -> tuple[Literal, ...]:
    if pa.types.is_boolean(field.type) or pa.types.is_binary(field.type):
        return ()
    if pa.types.is_string(field.type):
        return _TEXT_LITERALS
    if pa.types.is_date(field.type) or pa.types.is_timestamp(field.type):
        return _TIME_LITERALS
    return _NUMBER_LITERALS


def _random_value(field: Field) -> st.SearchStrategy[Any]:
    type_ = field.type
    pool = st.sampled_from(field.pool)
    if pa.types.is_integer(type_):
        edge = 2 ** (type_.bit_width - 1)
        return pool | st.integers(-edge, edge - 1)
    if pa.types.is_floating(type_):
        return pool | st.floats(width=type_.bit_width)
    if pa.types.is_string(type_):
        return pool | st.text(max_size=4)
    return pool


_VALUES = {field: _random_value(field) for field in FIELDS}


@st.composite
def literals(draw: st.DrawFn, field: Field, rows: Sequence[Row]) -> Literal:
    """A literal for a column: usually one of its values, otherwise another value or type."""
    choice = draw(st.integers(0, 19))
    stored = [row[field.name] for row in rows if row[field.name] is not None]
    if choice < 9 and stored:
        return Literal(draw(st.sampled_from(stored)), field.type)
    if choice < 13 or not _literals_for(field):
        return Literal(draw(_VALUES[field]), field.type)
    if choice == 13:
        return draw(st.sampled_from((Literal(None, field.type), *_ODD_LITERALS)))
    return draw(st.sampled_from(_literals_for(field)))


@st.composite
def terms(draw: st.DrawFn, field: Field) -> Term:
    """A column, or a function of it."""
    column: Term = field.column
    choice = draw(st.integers(0, 5))
    if choice > 2 or field.declared is not None:
        return column
    if pa.types.is_integer(field.type):
        if choice == 0:
            targets = (*_INTEGERS, pa.float64(), pa.decimal128(10, 2), pa.decimal128(18, 4))
            return Cast(column, draw(st.sampled_from(targets)))
        amount_type = draw(st.sampled_from(_INTEGERS))
        for _ in range(choice):
            amount = Literal(draw(st.sampled_from(integers(amount_type.bit_width))), amount_type)
            operands = draw(st.permutations((column, amount)))
            column = Call(draw(st.sampled_from("+-")), tuple(operands))
        return column
    if pa.types.is_date(field.type):
        casts = [Cast(column, pa.timestamp(unit)) for unit in ("ms", "us", "ns")]
        functions: Sequence[Term] = (Call("year", (column,)), *casts)
        return draw(st.sampled_from(functions))
    if pa.types.is_float32(field.type):
        return Cast(column, pa.float64())
    return column


_INTEGER_FIELD = Field("", pa.int32(), integers(32) + tuple(range(1499, 1502)) + (1582, 2019, 2020))
_VALUES[_INTEGER_FIELD] = st.sampled_from(_INTEGER_FIELD.pool)


@st.composite
def leaves(draw: st.DrawFn, fields: Sequence[Field], rows: Sequence[Row]) -> HudiExpression:
    """A leaf predicate."""
    field = draw(st.sampled_from(fields))
    term = draw(terms(field))
    is_year = isinstance(term, Call) and term.name == "year"
    literal = literals(_INTEGER_FIELD, ()) if is_year else literals(field, rows)
    kind = draw(st.integers(0, 13))
    if kind < 6:
        sides = draw(st.permutations((term, draw(literal))))
        return Comparison(draw(st.sampled_from(Op)), *sides)
    if kind == 6:
        return IsNull(term)
    if kind < 9:
        return In(term, tuple(draw(st.lists(literal, max_size=4))))
    if kind == 9:
        return Between(term, draw(literal), draw(literal))
    if kind == 10 and pa.types.is_string(field.type):
        stored = [row[field.name] for row in rows if row[field.name] is not None]
        value = draw(st.sampled_from([*stored, *field.pool]))
        return StartsWith(term, value[: draw(st.integers(0, 3))])
    if kind == 11:
        constants = [Constant(Truth(flags)) for flags in range(1, 8)]
        leaves_without_terms: Sequence[HudiExpression] = (Unknown("unsupported"), *constants)
        return draw(st.sampled_from(leaves_without_terms))
    other = draw(terms(draw(st.sampled_from(fields))))
    return Comparison(draw(st.sampled_from(Op)), term, other)


@st.composite
def predicates(
    draw: st.DrawFn, fields: Sequence[Field], rows: Sequence[Row], depth: int = 3
) -> HudiExpression:
    """Leaves under AND, OR and NOT, at most `depth` deep."""
    kind = draw(st.integers(0, 7))
    if kind < 4 or not depth:
        return draw(leaves(fields, rows))
    inner = predicates(fields, rows, depth - 1)
    if kind == 4:
        return IsNull(draw(inner))
    if kind < 6:
        return Not(draw(inner))
    connective = And if kind == 6 else Or
    return connective(tuple(draw(inner) for _ in range(draw(st.integers(1, 3)))))


_GIVEN = st.sampled_from(
    (
        *(
            EXACT,
            EXACT,
            EXACT,
            EXACT,
            RecordedStatistics(loose=True),
            RecordedStatistics(nulls=False),
            NOTHING,
        ),
        *(
            RecordedStatistics(maximum=False),
            RecordedStatistics(minimum=False),
            RecordedStatistics(maximum=False, loose=True),
        ),
    )
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A table, its files and statistics, and a predicate."""
    fields = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3, unique=True))
    values = {field: st.none() | _VALUES[field] | _VALUES[field] for field in fields}
    row = st.fixed_dictionaries({field.name: values[field] for field in fields})
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    files = tuple(tuple(draw(row) for _ in range(size)) for size in sizes)
    given = {(field.name, index): draw(_GIVEN) for field in fields for index in range(len(files))}
    absent = frozenset(field.name for field in fields if draw(st.integers(0, 15)) == 15)
    rows = [row for rows in files for row in rows]
    return Case(
        Table({field.name: field.type for field in fields}, draw(st.sampled_from(_ZONES))),
        schema_of(fields),
        files,
        RowStatistics(files, given, absent),
        draw(predicates(fields, rows)),
    )


def schema_of(fields: Sequence[Field]) -> pa.Schema:
    """The fields as an Arrow schema; those below ``st`` in a struct."""
    flat = [pa.field(field.name, field.type) for field in fields if "." not in field.name]
    nested = [
        pa.field(field.name.split(".")[1], field.type) for field in fields if "." in field.name
    ]
    return pa.schema([*flat, pa.field("st", pa.struct(nested))] if nested else flat)


def stored(rows: Sequence[Row], field: pa.Field) -> pa.Array:
    """A column's values as a file stores them."""
    values = [row[field.name] for row in rows]
    if pa.types.is_date32(field.type):
        return pa.array(values, pa.int32()).view(field.type)
    if pa.types.is_timestamp(field.type):
        return pa.array(values, pa.int64()).view(field.type)
    return pa.array(values, field.type)
