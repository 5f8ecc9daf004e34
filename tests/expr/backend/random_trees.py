"""Random predicates over a small random table. The seed determines both."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr.frontend.common.constants import as_boolean_term
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
    Term,
)

FILES, ROWS = 12, 6
TYPES: Mapping[str, pa.DataType] = {
    **{"i": pa.int32(), "l": pa.int64(), "n": pa.int32(), "d": pa.float64(), "f": pa.float32()},
    **{"m": pa.decimal128(9, 2), "s": pa.string(), "b": pa.bool_()},
    **{"day": pa.date32(), "t": pa.timestamp("us")},
}
SCHEMA = pa.schema(TYPES)
_NUMBERS, _TIMES = ("i", "l", "n", "d", "f", "m"), ("day", "t")
_DAY, _TIME = date(2020, 1, 30), datetime(2020, 1, 30, 23, 59, 59, 999_999)
_TEXTS = ("", "a", "ab%", "a_b", "é", "😀", "\uffff", "zz\\", "it's")


def row(file: int, place: int) -> dict[str, Any]:
    """Files whose ranges overlap a little, with some NULL, NaN and infinities."""
    base = 10 * file + 2 * place
    odd = (math.nan, math.inf, -math.inf, -0.0)[file % 4]
    return {
        **{"i": base - 40, "l": (base - 40) * 10**9, "n": None if place % 2 else file - 3},
        **{"d": odd if place == 5 else base / 8, "f": odd if place == 4 else base / 16},
        **{"m": Decimal(base - 60) + Decimal("0.25"), "b": (True, False, None)[(file + place) % 3]},
        "s": None if file == 5 else _TEXTS[file % len(_TEXTS)] + "abc"[place % 3] * (file % 2),
        **{"day": _DAY + timedelta(days=base), "t": _TIME + timedelta(hours=base)},
    }


def table() -> pa.Table:
    """All rows, with the number of their file."""
    files = [file for file in range(FILES) for _ in range(ROWS)]
    rows = [row(file, place) for file in range(FILES) for place in range(ROWS)]
    return pa.Table.from_pylist(rows, SCHEMA).append_column("file", pa.array(files))


@dataclass
class RandomPredicates:
    """functions: templates of calls and casts by kind, besides those common to all dialects."""

    random: Random
    functions: Mapping[str, Callable[[Term], Term]] = field(default_factory=dict)

    def predicate(self, depth: int = 3) -> HudiExpression:
        """A tree with at most this many levels."""
        kind = self.random.random()
        if depth and kind < 0.45:
            children = tuple(self.predicate(depth - 1) for _ in range(self.random.randint(2, 3)))
            return self.random.choice((And, Or))(children)
        if depth and kind < 0.6:
            return Not(self.predicate(depth - 1))
        return self._leaf(depth)

    def _leaf(self, depth: int) -> HudiExpression:
        names = self.random.choice((_NUMBERS, _NUMBERS, ("s",), _TIMES, ("b",)))
        name = self.random.choice(names)
        term = self._term(name, depth)
        match self.random.randrange(8):
            case 0:
                return In(term, tuple(self._literal(name) for _ in range(3)))
            case 1:
                return Between(term, self._literal(name), self._literal(name))
            case 2:
                return IsNull(term)
            case 3 if name == "s":
                return StartsWith(term, self._literal("s").value[:2])
            case 4 if name in _NUMBERS:
                return Comparison(self._op(), term, self._term(self.random.choice(_NUMBERS), 0))
            case 5 if depth:
                other = self._term(name, 0)
                case = Case(((self.predicate(0), term),), other)
                return Comparison(self._op(), case, self._literal(name))
            case 6 if depth:
                value = as_boolean_term(self.predicate(0))
                other = self.random.choice((Column(("b",)), self._literal("b"), value))
                return Comparison(self._op(), value, other)
        return Comparison(self._op(), term, self._literal(name))

    def _op(self) -> Op:
        return self.random.choice(list(Op))

    def _term(self, name: str, depth: int) -> Term:
        column = Column((name,))
        kind = self.random.random()
        if kind < 0.25 and name in ("i", "n", "d", "m"):
            sign = self.random.choice("+-*")
            return Call(sign, (column, Literal(self.random.randint(1, 9), pa.int32())))
        if kind < 0.35 and depth:
            return Call("coalesce", (column, self._literal(name)))
        if kind < 0.6 and self.functions and name in ("i", "m", "d"):
            return self.random.choice(list(self.functions.values()))(column)
        return column

    def _literal(self, name: str) -> Literal:
        """A value of some row, or one near it."""
        value = None
        while value is None:
            file, place = self.random.randrange(FILES), self.random.randrange(ROWS)
            value = row(file, place)[name]
        near = self.random.choice((-1, 0, 0, 1))
        match value:
            case datetime():
                since = value - datetime(1970, 1, 1) + timedelta(microseconds=near)
                return Literal(since // timedelta(microseconds=1), TYPES[name])
            case date():
                return Literal((value - date(1970, 1, 1)).days + near, TYPES[name])
            case bool() | str():
                return Literal(value, TYPES[name])
            case Decimal():
                return Literal(value + near, TYPES[name])
        return Literal(value + near, TYPES[name])


#: Functions of Hive and Spark that other engines compute differently.
SPARKS_FUNCTIONS: Mapping[str, Callable[[Term], Term]] = {
    "abs": lambda term: Call("abs", (term,)),
    "floor": lambda term: Call("floor", (term,)),
    "round": lambda term: Call("round", (term,)),
    "/": lambda term: Call("/", (term, Literal(4, pa.int32()))),
    "%": lambda term: Call("%", (term, Literal(7, pa.int32()))),
    "bigint": lambda term: Cast(term, pa.int64()),
    "double": lambda term: Cast(term, pa.float64()),
    "decimal": lambda term: Cast(term, pa.decimal128(12, 1)),
}
