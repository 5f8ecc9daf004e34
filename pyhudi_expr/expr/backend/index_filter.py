"""Write a predicate as a filter over an index table, whose rows are statistics of files (RFC-28).

The index table has a row for each file. For a column ``c`` it has ``c_minValue`` and
``c_maxValue``, and, as Hudi's readers lay out their ``column_stats``, ``c_nullCount``, and for the
file ``valueCount``; or, as in RFC-28 itself, ``c_num_nulls`` and ``totalNum`` (`IndexColumns`).
The filter is a `HudiExpression`, to be printed by ``backend.sql``. It is TRUE for each file that
may hold a row for which the predicate is TRUE. What min, max and null counts cannot evaluate
(functions, casts, columns against columns) keeps the file, and so do statistics that are NULL.

These are the rules of `expr.evaluate` once more, for another evaluator: an engine, over SQL. There
literals keep the form in which the query has them, for the engine to convert; here they are
intervals of a column's domain, of texts their bytes, and the end of a prefix's interval is not
always a text. So neither set of rules can be made of the other. `tests/expr/backend` compares both
with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.nodes import (
    ALWAYS,
    NEVER,
    NO_DECIMAL,
    And,
    Call,
    Column,
    Comparison,
    HudiExpression,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
    Term,
    Truth,
)
from pyhudi_expr.expr.terms import UnboundError, resolve

_NONE = Literal(0, pa.int32())
#: The comparison that is TRUE where one is FALSE.
_OPPOSITE = {
    **{Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GTEQ, Op.GTEQ: Op.LT},
    **{Op.GT: Op.LTEQ, Op.LTEQ: Op.GT},
}
_MOMENTS = frozenset({"date", "time"})


@dataclass(frozen=True)
class IndexColumns:
    """How the columns of an index table are named.

    Attributes:
        nulls: What follows a column's name in that of its number of nulls.
        rows: The number of rows of the file; None: the table does not have it. Then files of nulls
            alone look like files of which nothing is known, and are kept.
    """

    nulls: str
    rows: str | None
    low: str = "_minValue"
    high: str = "_maxValue"


HUDI_COLUMNS = IndexColumns("_nullCount", "valueCount")
#: RFC-28 counts the rows of a file under this name, to have the number of its nulls.
TOTAL_ROWS = "totalNum"
RFC28_COLUMNS = IndexColumns("_num_nulls", TOTAL_ROWS)


def index_filter(
    predicate: HudiExpression, schema: pa.Schema, columns: IndexColumns = HUDI_COLUMNS
) -> HudiExpression:
    """Return the filter over the index table of a table with this schema.

    A file without a row in the index table has to be read, too.
    """
    return _may_be(predicate, True, _IndexTable(schema, columns))


@dataclass(frozen=True)
class _IndexTable:
    """The index table of a table with a schema."""

    schema: pa.Schema
    columns: IndexColumns


@dataclass(frozen=True)
class _Indexed:
    """A column of the index table.

    Attributes:
        name: Its name in the table itself.
    """

    name: str
    type: pa.DataType
    columns: IndexColumns

    @property
    def low(self) -> Column:
        return Column((f"{self.name}{self.columns.low}",))

    @property
    def high(self) -> Column:
        return Column((f"{self.name}{self.columns.high}",))

    @property
    def nulls(self) -> Column:
        return Column((f"{self.name}{self.columns.nulls}",))

    @property
    def rows(self) -> Column | None:
        return None if self.columns.rows is None else Column((self.columns.rows,))

    def with_values(self, condition: HudiExpression) -> HudiExpression:
        """Return a condition on the column's values that holds for unknown statistics, too.

        Without bounds there are either no values at all, or none of the statistics is known.
        """
        unbounded: HudiExpression = Or((IsNull(self.low), IsNull(self.high)))
        if self.rows is not None:
            only_nulls = Comparison(Op.EQ, self.nulls, self.rows)
            unbounded = And((unbounded, Or((Not(only_nulls), IsNull(only_nulls)))))
        unknown = [unbounded]
        if pa.types.is_floating(self.type):
            # Writers store no bounds for files with NaN, and Hudi's index has zeros for both.
            zeros = (Comparison(Op.EQ, bound, _NONE) for bound in (self.low, self.high))
            unknown.append(And(tuple(zeros)))
        return Or((condition, *unknown))


def _may_be(node: HudiExpression, truth: bool, table: _IndexTable) -> HudiExpression:
    """Return where a file may hold a row for which the predicate is `truth`."""

    def below(child: HudiExpression) -> HudiExpression:
        return _may_be(child, truth, table)

    match node:
        case And(children=children):
            return (_all if truth else _any)(map(below, children))
        case Or(children=children):
            return (_any if truth else _all)(map(below, children))
        case Not(child=child):
            return _may_be(child, not truth, table)
        case e.Constant(truth=may):
            return ALWAYS if (Truth.YES if truth else Truth.NO) & may else NEVER
        case Comparison(op=op, left=left, right=right):
            return _compared(op, left, right, truth, table)
        case e.Between(term=term, low=low, high=high):
            ends = (Comparison(Op.GTEQ, term, low), Comparison(Op.LTEQ, term, high))
            return below(And(ends))
        case e.In(term=term, options=options):
            if not options:
                return NEVER if truth else ALWAYS
            return below(Or(tuple(Comparison(Op.EQ, term, option) for option in options)))
        case IsNull(term=Column() as column):
            return _of(column, table, lambda found: _is_null(found, truth))
        case StartsWith(term=Column() as column, prefix=prefix):
            return _of(column, table, lambda found: _starts_with(found, prefix, truth))
        case e.Matches(term=Column() as column, begin=begin) if truth:
            known = begin[: begin.index(None)] if None in begin else begin
            prefix = "".join(map(str, known))
            return below(StartsWith(column, prefix)) if prefix else ALWAYS
    return ALWAYS


def _of(
    column: Column, table: _IndexTable, to_condition: Callable[[_Indexed], HudiExpression]
) -> HudiExpression:
    """Return a condition on the statistics of a column, if it has any."""
    try:
        name, type_ = resolve(column.path, table.schema)
    except UnboundError:
        return ALWAYS
    if column.declared is not None or _kind(type_) is None:
        return ALWAYS
    return to_condition(_Indexed(name, type_, table.columns))


def _compared(op: Op, left: Term, right: Term, truth: bool, table: _IndexTable) -> HudiExpression:
    is_doubted = any(isinstance(term, Call) and term.name == NO_DECIMAL for term in (left, right))
    left, right = _plain(left), _plain(right)
    if isinstance(left, Literal) and isinstance(right, Column):
        op, left, right = op.mirrored, right, left
    if not (isinstance(left, Column) and isinstance(right, Literal)):
        return ALWAYS
    value = right

    def to_condition(found: _Indexed) -> HudiExpression:
        if value.value is None:
            return _is_null(found, truth) if op is Op.NULL_SAFE_EQ else NEVER
        is_decimal = pa.types.is_decimal(found.type)
        if not _in_one_order(found.type, value.type) or (is_doubted and is_decimal):
            return ALWAYS
        if op is not Op.NULL_SAFE_EQ:
            return _may_compare(found, op if truth else _OPPOSITE[op], value)
        if truth:
            return _may_compare(found, Op.EQ, value)
        return _any((_is_null(found, True), _may_compare(found, Op.NE, value)))

    return _of(left, table, to_condition)


def _plain(term: Term) -> Term:
    match term:
        case Call(name=e.NO_DECIMAL, args=(inner,)):
            return inner
    return term


def _may_compare(column: _Indexed, op: Op, value: Literal) -> HudiExpression:
    """Return where a value of the column may compare so."""
    low, high = (Comparison(op, bound, value) for bound in (column.low, column.high))
    match op:
        case Op.EQ:
            below, above = (
                Comparison(Op.LTEQ, column.low, value),
                Comparison(Op.GTEQ, column.high, value),
            )
            return column.with_values(And((below, above)))
        case Op.NE:
            return column.with_values(Or((low, high)))
    return column.with_values(low if op in (Op.LT, Op.LTEQ) else high)


def _is_null(column: _Indexed, truth: bool) -> HudiExpression:
    if truth:
        return Or((Comparison(Op.GT, column.nulls, _NONE), IsNull(column.nulls)))
    if column.rows is None:
        return ALWAYS
    some = Comparison(Op.LT, column.nulls, column.rows)
    return Or((some, IsNull(some)))


def _starts_with(column: _Indexed, prefix: str, truth: bool) -> HudiExpression:
    if _kind(column.type) != "text":
        return ALWAYS
    low, high = StartsWith(column.low, prefix), StartsWith(column.high, prefix)
    if not truth:
        return column.with_values(Or((Not(low), Not(high))))
    text = Literal(prefix, pa.string())
    begins_before = Or((Comparison(Op.LT, column.low, text), low))
    return column.with_values(And((Comparison(Op.GTEQ, column.high, text), begins_before)))


def _in_one_order(column: pa.DataType, literal: pa.DataType | e.CharType) -> bool:
    """Return whether engines compare them in the order of the column's bounds."""
    if isinstance(literal, e.CharType):
        return False
    one, other = _kind(column), _kind(literal)
    return one == other or (one in _MOMENTS and other in {*_MOMENTS, "text"})


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pa.types.is_boolean, "truth"),
    (pa.types.is_integer, "number"),
    (pa.types.is_floating, "number"),
    (pa.types.is_decimal, "number"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
    (pa.types.is_binary, "bytes"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "time"),
)


def _kind(type_: pa.DataType) -> str | None:
    return next((kind for belongs, kind in _KINDS if belongs(type_)), None)


def _all(children: Iterable[HudiExpression]) -> HudiExpression:
    left = [child for child in children if child != ALWAYS]
    if NEVER in left:
        return NEVER
    return And(tuple(left)) if len(left) > 1 else left[0] if left else ALWAYS


def _any(children: Iterable[HudiExpression]) -> HudiExpression:
    left = [child for child in children if child != NEVER]
    if ALWAYS in left:
        return ALWAYS
    return Or(tuple(left)) if len(left) > 1 else left[0] if left else NEVER
