"""Write expressions as SQL of Hive, Spark, Trino, Presto and DuckDB.

The tree is converted to sqlglot's, which quotes and escapes for each dialect. Constants are written
with their types, because engines infer them differently: ``CAST('1.5' AS DOUBLE)``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import reduce
from typing import Any

import pyarrow as pa
from sqlglot import exp

from pyhudi_expr.arrays import zone_of
from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.frontend.common.constants import split_timestamp
from pyhudi_expr.expr.nodes import CharType, HudiExpression, Op, Term, Truth

_EPOCH = datetime(1970, 1, 1)
_SPECIAL = frozenset("%_\\")
_ESCAPE = "!"
_SIGNS = re.compile("[%_!]")


class Dialect(Enum):
    """The dialects; the value is sqlglot's name."""

    HIVE = "hive"
    SPARK = "spark"
    TRINO = "trino"
    PRESTO = "presto"
    DUCKDB = "duckdb"


class InexpressibleInSqlError(ValueError):
    """The dialect has no equivalent; the message says for what."""


def to_sql(expression: HudiExpression, dialect: Dialect) -> str:
    """Return one line of SQL with the same truth values.

    Raises:
        InexpressibleInSqlError: The predicate has `Unknown` or `Matches`, which are parts of
            conditions only, a value that cannot be written, or a function that the dialect may
            define differently.
    """
    return _Writer(dialect).predicate(expression).sql(dialect.value)


class _Writer:
    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def predicate(self, node: HudiExpression) -> exp.Expr:
        match node:
            case e.And(children=children):
                return self._joined(exp.And, children)
            case e.Or(children=children):
                return self._joined(exp.Or, children)
            case e.Not(child=child):
                return exp.Not(this=exp.Paren(this=self.predicate(child)))
            case e.Constant(truth=truth):
                return _constant(truth)
            case e.Comparison(op=op, left=left, right=right):
                return _OPERATORS[op](this=self._operand(left), expression=self._operand(right))
            case e.In(term=term, options=options):
                if not options:
                    return exp.false()
                return exp.In(this=self._operand(term), expressions=[*map(self.term, options)])
            case e.InKeys():
                raise InexpressibleInSqlError("the keys of a join's other side")
            case e.Between(term=term, low=low, high=high):
                bounds = {"low": self._operand(low), "high": self._operand(high)}
                return exp.Between(this=self._operand(term), **bounds)
            case e.IsNull(term=subject):
                shown = (
                    self.term(subject) if isinstance(subject, e.Term) else self.predicate(subject)
                )
                return exp.Is(this=exp.Paren(this=shown), expression=exp.null())
            case e.StartsWith(term=term, prefix=prefix):
                return self._like(term, prefix)
            case e.Matches():
                raise InexpressibleInSqlError("a pattern that is known in part")
            case e.Unknown(reason=reason):
                raise InexpressibleInSqlError(f"what is not known: {reason[:200]}")
            case _:
                raise InexpressibleInSqlError(f"a {type(node).__name__}")

    def term(self, term: Term) -> exp.Expr:
        match term:
            case e.Column(path=path):
                return _column(path)
            case e.Literal():
                return self._literal(term)
            case e.Cast(term=inner, type=type_):
                if not isinstance(inner, e.Literal):
                    self._only_in_hive_and_spark("a cast")
                return exp.Cast(this=self.term(inner), to=self._type(type_))
            case e.Call(name=e.NO_DECIMAL, args=(inner,)):
                return self.term(inner)
            case e.Call(name=name, args=args):
                return self._call(name, [self.term(arg) for arg in args])
            case e.Case(branches=branches, otherwise=otherwise):
                ifs = [
                    exp.If(this=self.predicate(when), true=self.term(then))
                    for when, then in branches
                ]
                return exp.Case(ifs=ifs, default=self.term(otherwise))
            case e.InZone(zone=zone):
                raise InexpressibleInSqlError(f"a zone of its own, {zone.name}")

    def _joined(self, kind: type[exp.Connector], children: tuple[HudiExpression, ...]) -> exp.Expr:
        shown: list[exp.Expr] = [exp.Paren(this=self.predicate(child)) for child in children]
        return reduce(lambda left, right: kind(this=left, expression=right), shown)

    def _operand(self, term: Term) -> exp.Expr:
        shown = self.term(term)
        return exp.Paren(this=shown) if isinstance(shown, exp.Binary) else shown

    def _like(self, term: Term, prefix: str) -> exp.Expr:
        if not _SPECIAL & set(prefix):
            return self._like_node(term, f"{prefix}%")
        if self._dialect is Dialect.HIVE:  # whose vectors have no escapes
            parts = [self._operand(term), exp.Literal.string(prefix)]
            place = exp.Anonymous(this="instr", expressions=parts)
            return exp.EQ(this=place, expression=exp.Literal.number(1))
        escaped = _SIGNS.sub(lambda sign: f"{_ESCAPE}{sign[0]}", prefix)
        found = self._like_node(term, f"{escaped}%")
        return exp.Escape(this=found, expression=exp.Literal.string(_ESCAPE))

    def _like_node(self, term: Term, pattern: str) -> exp.Like:
        return exp.Like(this=self._operand(term), expression=exp.Literal.string(pattern))

    def _call(self, name: str, args: list[exp.Expr]) -> exp.Expr:
        symbol = _ARITHMETIC.get(name)
        if symbol is exp.Div:
            self._only_in_hive_and_spark("division")
        if symbol is not None and len(args) == 2:
            left, right = (exp.Paren(this=arg) for arg in args)
            return symbol(this=left, expression=right)
        if name == "-" and len(args) == 1:
            return exp.Neg(this=exp.Paren(this=args[0]))
        if name == "coalesce":
            return exp.Coalesce(this=args[0], expressions=args[1:])
        self._only_in_hive_and_spark(f"{name}()")
        if not name.isidentifier():
            raise InexpressibleInSqlError(f"the function {name!r}")
        return exp.Anonymous(this=name, expressions=args)

    def _only_in_hive_and_spark(self, what: str) -> None:
        """Refuse other dialects, where such terms round, truncate or fail differently."""
        if self._dialect not in (Dialect.HIVE, Dialect.SPARK):
            raise InexpressibleInSqlError(f"{what} in {self._dialect.value}")

    def _literal(self, literal: e.Literal) -> exp.Expr:
        type_, value = literal.type, literal.value
        if value is None:
            return exp.null()
        if isinstance(type_, CharType):
            return self._cast(str(value), type_)
        for belongs, spell in _SPELLINGS:
            if belongs(type_):
                return spell(self, value, type_)
        raise InexpressibleInSqlError(f"a constant of type {type_}")

    def _cast(self, text: str, type_: pa.DataType | CharType) -> exp.Expr:
        return exp.Cast(this=exp.Literal.string(text), to=self._type(type_))

    def _integer(self, value: int, type_: pa.DataType) -> exp.Expr:
        number: exp.Expr = exp.Literal.number(abs(value))
        number = exp.Neg(this=number) if value < 0 else number
        is_plain = type_ == pa.int32() or (type_ == pa.int64() and not -(2**31) <= value < 2**31)
        if is_plain and abs(value) < 2**63:
            return number
        return self._cast(str(value), type_)

    def _float(self, value: float, type_: pa.DataType) -> exp.Expr:
        if math.isfinite(value):
            return self._cast(repr(value), type_)
        infinity = "Infinity" if value > 0 else "-Infinity"
        return self._cast("NaN" if math.isnan(value) else infinity, type_)

    def _bytes(self, value: bytes, _: pa.DataType) -> exp.Expr:
        if self._dialect is Dialect.HIVE:
            return exp.Anonymous(this="unhex", expressions=[exp.Literal.string(value.hex())])
        return exp.HexString(this=value.hex())

    def _date(self, value: int, type_: pa.DataType) -> exp.Expr:
        return self._cast(_moment(value * 86_400, 0)[:10], type_)

    def _time(self, value: int, type_: pa.DataType) -> exp.Expr:
        text = _moment(*split_timestamp(e.Literal(value, type_)))
        return self._cast(text if zone_of(type_) is None else f"{text} UTC", type_)

    def _type(self, type_: pa.DataType | CharType) -> exp.DataType:
        name = _type_name(type_)
        if name == "timestamptz" and self._dialect is Dialect.HIVE:
            return exp.DataType.build("timestampltz")
        if name == "timestamp" and self._dialect is Dialect.SPARK:
            return exp.DataType.build("timestamp_ntz", dialect="spark")
        return exp.DataType.build(name)


def _constant(truth: Truth) -> exp.Expr:
    found = {Truth.YES: exp.true(), Truth.NO: exp.false(), Truth.NULL: exp.null()}.get(truth)
    if found is None:
        raise InexpressibleInSqlError(f"a truth that may be {truth.name}")
    return found


def _column(path: tuple[str, ...]) -> exp.Expr:
    name, *below = (exp.to_identifier(part, quoted=True) for part in path)
    column: exp.Expr = exp.Column(this=name)
    for part in below:
        column = exp.Dot(this=column, expression=part)
    return column


def _moment(seconds: int, nanos: int) -> str:
    try:
        text = (_EPOCH + timedelta(seconds=seconds)).isoformat(sep=" ")
    except OverflowError:
        raise InexpressibleInSqlError("a time beyond the years 1 to 9999") from None
    return f"{text}.{nanos:09d}".rstrip("0") if nanos else text


def _type_name(type_: pa.DataType | CharType) -> str:
    if isinstance(type_, CharType):
        return f"{'char' if type_.padded else 'varchar'}({type_.length})"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision}, {type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp" if zone_of(type_) is None else "timestamptz"
    name = _TYPE_NAMES.get(type_)
    if name is None:
        raise InexpressibleInSqlError(f"the type {type_}")
    return name


_TYPE_NAMES = {
    **{pa.bool_(): "boolean", pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "int"},
    **{pa.int64(): "bigint", pa.float32(): "float", pa.float64(): "double"},
    **{pa.string(): "text", pa.large_string(): "text", pa.binary(): "varbinary"},
    **{pa.large_binary(): "varbinary", pa.date32(): "date"},
}
_OPERATORS: dict[Op, type[exp.Binary]] = {
    Op.EQ: exp.EQ,
    Op.NULL_SAFE_EQ: exp.NullSafeEQ,
    Op.NE: exp.NEQ,
    Op.LT: exp.LT,
    Op.LTEQ: exp.LTE,
    Op.GT: exp.GT,
    Op.GTEQ: exp.GTE,
}
_ARITHMETIC: dict[str, type[exp.Binary]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "%": exp.Mod,
    "/": exp.Div,
}
_SPELLINGS: tuple[tuple[Callable[[Any], bool], Callable[[_Writer, Any, Any], exp.Expr]], ...] = (
    (pa.types.is_boolean, lambda _, value, type_: exp.true() if value else exp.false()),
    (pa.types.is_integer, _Writer._integer),
    (pa.types.is_floating, _Writer._float),
    (pa.types.is_decimal, lambda at, value, type_: at._cast(f"{Decimal(value):f}", type_)),
    (pa.types.is_string, lambda _, value, type_: exp.Literal.string(value)),
    (pa.types.is_large_string, lambda _, value, type_: exp.Literal.string(value)),
    (pa.types.is_binary, _Writer._bytes),
    (pa.types.is_date32, _Writer._date),
    (pa.types.is_timestamp, _Writer._time),
)
