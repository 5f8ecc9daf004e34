"""Columns of random tables, and conditions on their values."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

Draw = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        literal: Returns a value as SQL. None: conditions do not compare it.
    """

    name: str
    type: pa.DataType
    draw: Draw
    literal: Callable[[Any], str] | None = None


def _whole(bits: int) -> Draw:
    edges = [-(2 ** (bits - 1)), -1, 0, 1, 2 ** (bits - 1) - 1]
    return lambda rng: rng.choice(edges) if rng.random() < 0.1 else rng.randrange(-20, 20)


def _float(rng: random.Random) -> float:
    return rng.choice([0.0, -0.0, 0.1, 1.5, -2.75, 1e10, math.nan, math.inf, -math.inf])


def _decimal(precision: int, scale: int) -> Draw:
    def draw(rng: random.Random) -> Decimal:
        top = 10 ** rng.choice([3, precision])
        return Decimal(rng.randrange(1 - top, top)).scaleb(-scale)

    return draw


def _day(rng: random.Random) -> date:
    if rng.random() < 0.1:
        return rng.choice(
            [date(1, 1, 1), date(1582, 10, 4), date(1969, 12, 31), date(9999, 12, 31)]
        )
    return date(2020, 1, 1) + timedelta(days=rng.randrange(40))


def _clock(rng: random.Random) -> datetime:
    return datetime.combine(_day(rng), datetime.min.time()) + timedelta(
        hours=rng.randrange(24), microseconds=rng.choice([0, 1, 999_999])
    )


def _text(rng: random.Random) -> str:
    return rng.choice(["", "a", "b c", "Ä", "😀", "%", "x" * 40, "null", "7", "a'b"])


def _few(draw: Draw) -> Draw:
    return lambda rng: [None if rng.random() < 0.2 else draw(rng) for _ in range(rng.randrange(4))]


def _fields(rng: random.Random) -> dict[str, Any]:
    return {"a": _or_null(_whole(32))(rng), "b": _or_null(_text)(rng)}


def _or_null(draw: Draw) -> Draw:
    return lambda rng: None if rng.random() < 0.2 else draw(rng)


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _double(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


_STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string())])
COLUMNS = (
    Column("c_boolean", pa.bool_(), lambda rng: rng.random() < 0.5, lambda v: str(v).lower()),
    Column("c_int", pa.int32(), _whole(32), str),
    Column("c_long", pa.int64(), _whole(64), str),
    Column("c_float", pa.float32(), _float),
    Column("c_double", pa.float64(), _float, _double),
    Column("c_decimal", pa.decimal128(9, 2), _decimal(9, 2), lambda v: f"{v:f}"),
    Column("c_wide", pa.decimal128(30, 10), _decimal(30, 10), lambda v: f"{v:f}"),
    Column("c_date", pa.date32(), _day, lambda v: f"DATE '{v.isoformat()}'"),
    Column(
        *("c_instant", pa.timestamp("us", "UTC")),
        lambda rng: _clock(rng).replace(tzinfo=timezone.utc),
        lambda v: f"TIMESTAMP '{v.replace(tzinfo=None).isoformat(' ')}'",
    ),
    Column(
        *("c_clock", pa.timestamp("us"), _clock),
        lambda v: f"TIMESTAMP_NTZ '{v.isoformat(' ')}'",
    ),
    Column("c_text", pa.string(), _text, _quoted),
    Column("c_binary", pa.binary(), lambda rng: _text(rng).encode(), lambda v: f"X'{v.hex()}'"),
    Column("c_struct", _STRUCT, _fields),
    Column("c_list", pa.list_(pa.int64()), _few(_whole(64))),
    Column("c_structs", pa.list_(_STRUCT), _few(_fields)),
    Column(
        *("c_map", pa.map_(pa.string(), pa.float64())),
        lambda rng: {key: rng.choice([None, 0.5, 2.0]) for key in rng.sample("abc", 2)},
    ),
)
"""Nested columns are read, and not compared."""

_OF_TIMES = ("year({c}) > 1999", "month({c}) = 2", "{c} <= now() - INTERVAL '3' DAY")
_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "c_int": ("{c} / 2 > {v}", "CAST({c} AS string) LIKE '%1%'", "{c} % 7 = 3", "{c} = '{v}'"),
    # Not abs(), whose overflow is an error of pyarrow's as a dataset is read.
    "c_long": ("CAST({c} AS string) RLIKE '^-?[1-5]+'", "{c} = '{v}'"),
    "c_decimal": ("floor({c}) <= {v}", "CAST({c} AS int) > 2", "{c} > '1.5'", "-{c} < 1"),
    "c_date": (*_OF_TIMES, "date_add({c}, 3) > {v}", "dayofweek({c}) = 2", "{c} < current_date()"),
    "c_instant": (*_OF_TIMES, "date_format({c}, 'yyyy-MM') > '2001'", "hour({c}) < 12"),
    "c_clock": ("to_date({c}) > DATE '2001-01-01'", "{c} > DATE '2001-01-01'", "minute({c}) < 30"),
    "c_text": (
        *("length({c}) > 1", "reverse({c}) LIKE 'a%'", "{c} RLIKE '[a-c]|^$'", "{c} ILIKE '%A'"),
        *(
            "upper({c}) = 'A'",
            "instr({c}, 'a') = 1",
            "concat({c}, 'x') > {v}",
            "contains({c}, 'b')",
        ),
        *("lpad({c}, 3, '0') < '0b'", "replace({c}, 'a', 'b') = {v}", "substr({c}, 2) = ''"),
    ),
}
"""By the names of columns, conditions with functions of one, and a literal of its type."""


def rows_of(columns: Sequence[Column], size: int, rng: random.Random) -> dict[str, pa.Array]:
    """Return random values of columns, a tenth of them NULL."""
    return {
        column.name: pa.array(
            [None if rng.random() < 0.1 else column.draw(rng) for _ in range(size)], column.type
        )
        for column in columns
    }


def condition(columns: Sequence[Column], rng: random.Random) -> str:
    """Return a random condition on one or two of the columns."""
    first = _leaf(columns, rng)
    if rng.random() < 0.6:
        return first
    return f"{first} {rng.choice(['AND', 'OR'])} {_leaf(columns, rng)}"


def _leaf(columns: Sequence[Column], rng: random.Random) -> str:
    column = rng.choice([one for one in columns if one.literal is not None])
    assert column.literal is not None
    one, other = (column.literal(column.draw(rng)) for _ in range(2))
    kind = rng.randrange(9)
    if kind > 5 and column.name in _FUNCTIONS:
        return rng.choice(_FUNCTIONS[column.name]).format(c=column.name, v=one)
    if kind == 0:
        return f"{column.name} IS {rng.choice(['NULL', 'NOT NULL'])}"
    if kind == 1:
        return f"{column.name} IN ({one}, {other})"
    if kind == 2 and column.name == "c_text":
        return f"{column.name} LIKE {rng.choice(['a%', '%', '_', '%c'])!r}"
    return f"{column.name} {rng.choice(['=', '<', '<=', '>', '>=', '<>'])} {one}"
