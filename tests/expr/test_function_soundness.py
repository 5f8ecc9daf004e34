"""No function of any column excludes a file with a matching row.

TEST_EXAMPLES multiplies the number of random tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Case,
    Cast,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Matches,
    Not,
    Op,
    Or,
    StartsWith,
    Term,
)
from tests.example_counts import examples
from tests.expr.oracle import is_modelled, value_of
from tests.expr.oracle_engines import ENGINES, Table, UndefinedError
from tests.expr.statistics import EXACT, NOTHING, RecordedStatistics, Row, RowStatistics
from tests.expr.strategies import _VALUES, _ZONES, FIELDS, Field, schema_of
from tests.expr.strategies import Case as Example
from tests.expr.test_soundness import assert_sound

_PLAIN = [field for field in FIELDS if field.declared is None and "." not in field.name]
_NUMBERS = [f for f in _PLAIN if f.name in ("i8", "i32", "l", "f", "d", "cents", "wide")]
_TIMES = [f for f in _PLAIN if f.name in ("day", "us", "ms", "at")]
_TEXTS = [f for f in _PLAIN if f.name in ("s", "t")]


def _lit(value: object, type_: pa.DataType | None = None) -> Literal:
    return Literal(value, type_ or (pa.string() if isinstance(value, str) else pa.int32()))


def _unary(*names: str) -> list[Callable[[Term], Term]]:
    return [lambda term, name=name: Call(name, (term,)) for name in names]  # type: ignore[misc]


def _with(name: str, *literals: Literal, first: bool = False) -> Callable[[Term], Term]:
    if first:
        return lambda term: Call(name, (*literals, term))
    return lambda term: Call(name, (term, *literals))


_AMOUNTS = [
    *(_lit(n) for n in (0, 1, -1, 3, 100, -7)),
    *(_lit(n, pa.float64()) for n in (0.5, -2.0, 1e300)),
    *(_lit(n, pa.decimal128(3, 1)) for n in (0, 1)),
]
_ON_NUMBERS = [
    *(_with(op, amount) for op in "+-*/" for amount in _AMOUNTS),
    *(_with(op, amount, first=True) for op in "+-*/" for amount in _AMOUNTS),
    *_unary("negative", "abs", "floor", "ceil", "round"),
    *(_with("round", _lit(n)) for n in (0, 1, 3)),
    *(_with(name, _lit(n)) for name in ("%", "pmod") for n in (3, 100)),
    *(lambda term, t=t: Cast(term, t) for t in (pa.int32(), pa.int64(), pa.float64(), pa.string())),
    _with("from_unixtime"),
]
_PARTS = ("year", "quarter", "month", "day", "dayofyear", "hour", "minute")
_ON_TIMES = [
    *_unary(*_PARTS, "to_date", "last_day", "unix_timestamp"),
    *(_with("trunc", _lit(unit)) for unit in ("year", "MM", "week", "quarter")),
    *(_with("date_trunc", _lit(u), first=True) for u in ("year", "month", "week", "day", "hour")),
    *(_with(name, _lit(n)) for name in ("date_add", "date_sub", "+", "-") for n in (0, 1, -400)),
    *(_with("add_months", _lit(n)) for n in (0, 1, -13)),
    *(
        _with("plus interval", *(_lit(n, pa.int64()) for n in amounts))
        for amounts in (
            *((1, 0, 0), (-13, 0, 0), (0, 1, 0), (0, -400, 0), (0, 0, 3_600_000_000)),
            *((0, 0, -86_400_000_000), (0, 0, 1), (0, 1, 7_200_000_000)),
        )
    ),
    *(_with("date_format", _lit(p)) for p in ("yyyy-MM-dd", "yyyyMM", "yyyy/MM/dd HH:mm:ss")),
    *(lambda term, t=t: Cast(term, t) for t in (pa.date32(), pa.string())),
]
_ON_TEXTS = [
    *_unary("upper", "lower", "trim", "ltrim", "rtrim"),
    *(_with("substr", _lit(1), _lit(n)) for n in (1, 2, 3)),
    _with("left", _lit(2)),
    _with("concat", _lit("x")),
    _with("concat", _lit("é"), first=True),
]


@st.composite
def _terms(draw: st.DrawFn, fields: Sequence[Field]) -> Term:
    """A function of one or two columns, perhaps of another function, or a choice."""
    field = draw(st.sampled_from(fields))
    column: Term = field.column
    if field in _NUMBERS:
        functions = _ON_NUMBERS
    elif field in _TIMES:
        functions = _ON_TIMES
    else:
        functions = _ON_TEXTS
    for _ in range(draw(st.sampled_from((1, 1, 1, 2)))):
        column = draw(st.sampled_from(functions))(column)
    kind = draw(st.integers(0, 11))
    other: Term = draw(st.sampled_from(fields)).column
    if kind == 0:
        return Call(draw(st.sampled_from(("greatest", "least"))), (field.column, other))
    if kind == 1:
        return Call(
            draw(st.sampled_from(("+", "-", "*", "/", "datediff", "concat"))), (field.column, other)
        )
    if kind == 2:
        return Call("coalesce", (field.column, other))
    if kind == 3:
        return Call("coalesce", (column, draw(st.sampled_from((column, _lit(0), _lit("a"))))))
    if kind == 4:
        value = draw(_VALUES[field])
        condition = Comparison(draw(st.sampled_from(Op)), field.column, Literal(value, field.type))
        return Case(
            ((condition, column),), draw(st.sampled_from((field.column, Literal(None, pa.null()))))
        )
    return column


@st.composite
def _literals(draw: st.DrawFn, term: Term, rows: Sequence[Row], table: Table) -> Literal:
    """The term's value for one of the rows, or a value next to it."""
    for _ in range(3):
        row, engine = draw(st.sampled_from(rows)), draw(st.sampled_from(ENGINES))
        try:
            found = value_of(term, row, table, engine)
        except UndefinedError:
            continue
        if found.value is not None:
            return draw(st.sampled_from((found, found, _beside(found, draw(st.booleans())))))
    return draw(st.sampled_from((_lit(0), _lit("a"), _lit(0, pa.date32()))))


def _beside(literal: Literal, above: bool) -> Literal:
    if isinstance(literal.value, str):
        return Literal(literal.value + "!" if above else literal.value[:-1], literal.type)
    return Literal(literal.value + (1 if above else -1), literal.type)


@st.composite
def _leaves(
    draw: st.DrawFn, fields: Sequence[Field], rows: Sequence[Row], table: Table
) -> HudiExpression:
    term = draw(_terms(fields))
    literals = _literals(term, rows, table)
    kind = draw(st.integers(0, 9))
    if kind == 6:
        return In(term, tuple(draw(st.lists(literals, min_size=1, max_size=3))))
    if kind == 7:
        return IsNull(term)
    if kind == 8:
        return Between(term, draw(literals), draw(literals))
    literal = draw(literals)
    if kind == 9 and isinstance(literal.value, str):
        begin = [c if draw(st.booleans()) else None for c in literal.value if c < "\x80"][:4]
        if draw(st.booleans()):
            return StartsWith(term, literal.value[:2])
        return Matches(term, tuple(begin), whole=len(begin) == len(literal.value))
    sides = draw(st.permutations((term, literal)))
    return Comparison(draw(st.sampled_from(Op)), *sides)


@st.composite
def _cases(draw: st.DrawFn) -> Example:
    family = draw(st.sampled_from((_NUMBERS, _TIMES, _TIMES, _TEXTS)))
    fields = draw(st.lists(st.sampled_from(family), min_size=1, max_size=2, unique=True))
    values = {field: st.none() | _VALUES[field] | _VALUES[field] for field in fields}
    row = st.fixed_dictionaries({field.name: values[field] for field in fields})
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    files = tuple(tuple(draw(row) for _ in range(size)) for size in sizes)
    kinds = st.sampled_from(
        (
            EXACT,
            EXACT,
            EXACT,
            RecordedStatistics(loose=True),
            NOTHING,
            RecordedStatistics(maximum=False),
        )
    )
    given_ = {(field.name, n): draw(kinds) for field in fields for n in range(len(files))}
    table = Table({field.name: field.type for field in fields}, draw(st.sampled_from(_ZONES)))
    rows = [row for rows in files for row in rows]
    leaf = _leaves(fields, rows, table)
    predicate = draw(
        st.one_of(
            leaf,
            leaf,
            leaf.map(Not),
            leaf.map(IsNull),
            leaf.map(IsNull).map(Not),
            st.tuples(leaf, leaf).map(And),
            st.tuples(leaf, leaf.map(Not)).map(Or).map(Not),
        )
    )
    return Example(table, schema_of(fields), files, RowStatistics(files, given_), predicate)


@settings(
    max_examples=examples(2000),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(_cases())
def test_no_engine_finds_a_row_in_an_excluded_file(case: Example) -> None:
    assert_sound(case, is_modelled)
