"""Tables with values for which statistics are often wrong, and filters over them.

Each row group has few distinct values of each column, often one, so that its statistics are narrow:
for example zeros of both signs, NaN beside a number, NULL beside a value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.tables.plain_files import WITHOUT_META_FIELDS, file_name, write_metadata

INF, NAN = math.inf, math.nan
UTC = timezone.utc
_INSTANT = "20260101000000000"
GROUP_ROWS = 4
_TEXTS = ["", " ", "\0", "\t", "a", "a\0", "a ", "A", "é", "e\u0301", "\ufffd", "😀", "x" * 70, "b"]
_EARLY, _LATE = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)


@dataclass(frozen=True)
class NastyColumn:
    """avro: its type in the table's schema. values: of the rows, besides NULL."""

    type: pa.DataType
    avro: Any
    values: Sequence[Any]


def _decimal(precision: int, scale: int) -> dict[str, Any]:
    parts = {"type": "bytes", "logicalType": "decimal"}
    return {**parts, "precision": precision, "scale": scale}


_CLOCKS = [_EARLY, datetime(1582, 10, 10), datetime(1970, 1, 1), datetime(2020, 2, 29, 1), _LATE]
COLUMNS = {
    "b": NastyColumn(pa.bool_(), "boolean", [True, False]),
    "i": NastyColumn(pa.int32(), "int", [-(2**31), -1, 0, 1, 2**31 - 1]),
    "l": NastyColumn(pa.int64(), "long", [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1]),
    "f": NastyColumn(
        pa.float32(), "float", [NAN, 0.0, -0.0, 1.0, -1.5, 2.0**-149, 2.0**127, INF, -INF]
    ),
    "d": NastyColumn(
        pa.float64(), "double", [NAN, 0.0, -0.0, 1.0, -1.5, 5e-324, 1.7e308, INF, -INF]
    ),
    "m": NastyColumn(
        *(pa.decimal128(9, 2), _decimal(9, 2)),
        [Decimal("-9999999.99"), Decimal("-0.01"), Decimal("0.00"), Decimal("9999999.99")],
    ),
    "w": NastyColumn(
        *(pa.decimal128(38, 10), _decimal(38, 10)),
        [Decimal(f"-{'9' * 28}.5"), Decimal("0"), Decimal("0.0000000001"), Decimal("9" * 28)],
    ),
    "s": NastyColumn(pa.string(), "string", _TEXTS),
    "x": NastyColumn(pa.binary(), "bytes", [b"", b"\0", b"\x7f", b"\x80", b"\xff", b"a"]),
    "day": NastyColumn(
        *(pa.date32(), {"type": "int", "logicalType": "date"}),
        [date(1, 1, 1), date(1582, 10, 10), date(1969, 12, 31), date(1970, 1, 1), date.max],
    ),
    "at": NastyColumn(
        pa.timestamp("us", "UTC"),
        {"type": "long", "logicalType": "timestamp-micros"},
        [clock.replace(tzinfo=UTC) for clock in _CLOCKS],
    ),
    "clock": NastyColumn(
        pa.timestamp("us"), {"type": "long", "logicalType": "local-timestamp-micros"}, _CLOCKS
    ),
}
#: The columns, and a struct column with two of them.
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        *(pa.field(name, column.type) for name, column in COLUMNS.items()),
        pa.field("st", pa.struct([pa.field("d", pa.float64()), pa.field("i", pa.int32())])),
    ]
)


def write_nasty_table(
    path: Path,
    random: Random,
    files: int = 4,
    groups: int = 6,
    changed_types: Mapping[str, Any] = MappingProxyType({}),
) -> pa.Table:
    """Writes a copy-on-write table to a new directory; returns its rows.

    changed_types: the current Avro types of columns, if changed.
    """
    write_metadata(path, _INSTANT, _avro_schema(changed_types), "nasty", WITHOUT_META_FIELDS)
    written = []
    for number in range(files):
        rows = nasty_rows(random, groups, number * groups * GROUP_ROWS)
        name = file_name(number, _INSTANT)
        pq.write_table(rows, path / name, row_group_size=GROUP_ROWS)
        written.append(rows)
    return pa.concat_tables(written)


def _avro_schema(changed_types: Mapping[str, Any]) -> dict[str, Any]:
    fields = [
        {"name": name, "type": ["null", changed_types.get(name, column.avro)], "default": None}
        for name, column in COLUMNS.items()
    ]
    inner = [{"name": name, "type": ["null", COLUMNS[name].avro]} for name in ("d", "i")]
    struct = {"type": "record", "name": "inner", "fields": inner}
    fields.append({"name": "st", "type": ["null", struct]})
    return {"type": "record", "name": "nasty", "fields": [{"name": "id", "type": "long"}, *fields]}


def nasty_rows(random: Random, groups: int, first: int) -> pa.Table:
    """The rows of row groups, from the first to the last number."""
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for _ in range(groups):
        for name, column in COLUMNS.items():
            columns[name] += _group(random, column.values)
        inner = zip(*(_group(random, COLUMNS[name].values) for name in ("d", "i")), strict=True)
        columns["st"] += _group(random, [{"d": d, "i": i} for d, i in inner])
    columns["id"] = list(range(first, first + groups * GROUP_ROWS))
    return pa.table(columns, SCHEMA)


def _group(random: Random, values: Sequence[Any]) -> list[Any]:
    distinct = random.sample([*values, None], random.choice([1, 2, 2, 3]))
    return [random.choice(distinct) for _ in range(GROUP_ROWS)]


#: A triple of a filter list, as pyarrow accepts it.
Triple = tuple[str, str, Any]


def arrow_filters(random: Random) -> Iterator[pc.Expression]:
    """An endless sequence of pyarrow's expressions. pyarrow cannot compute some of them."""
    while True:
        found = _leaf(random)
        for _ in range(random.choice([0, 0, 1, 2])):
            other = _leaf(random)
            found = found & other if random.random() < 0.5 else found | other
        yield ~found if random.random() < 0.4 else found


def _leaf(random: Random) -> Any:
    name = random.choice([*COLUMNS, "d", "f", "st.d", "st.i"])
    column, values = pc.field(*name.split(".")), COLUMNS[name.rpartition(".")[2]].values
    type_ = COLUMNS[name.rpartition(".")[2]].type
    one, two = (pa.scalar(random.choice(values), type_) for _ in range(2))
    kind = random.randrange(12)
    match kind:
        case 0:
            return column.is_null()
        case 1:
            return column.is_valid()
        case 2 if pa.types.is_floating(type_):
            return column.is_null(nan_is_null=True)
        case 3 if pa.types.is_floating(type_):
            return column.is_nan()
        case 4 if pa.types.is_string(type_):
            return pc.starts_with(column, random.choice(values)[:1])
        case 5:
            return pc.coalesce(column, one) == two
        case 6:
            return pc.if_else(column == one, column, two) != one
        case 7 | 8:
            chosen = random.choices([*values, None], k=random.randint(1, 3))
            return column.isin(pa.array(chosen, type_))
    constant = pc.scalar(one)
    left, right = (constant, column) if random.random() < 0.2 else (column, constant)
    compare = random.choice([operator.eq, operator.ne, operator.lt, operator.le, operator.ge])
    return compare(left, right)


def filter_lists(random: Random) -> Iterator[list[Triple] | list[list[Triple]]]:
    """An endless sequence of filter lists."""
    while True:
        lists = [
            [_triple(random) for _ in range(random.randint(1, 2))]
            for _ in range(random.choice([1, 1, 2]))
        ]
        yield lists[0] if len(lists) == 1 else lists


def _triple(random: Random) -> Triple:
    name = random.choice([*COLUMNS, "d", "f"])
    values = COLUMNS[name].values
    sign = random.choice(["=", "==", "!=", "<", "<=", ">", ">=", "in", "not in"])
    if sign.endswith("in"):
        # pyarrow has no type for a list with only NULL.
        more = random.choices([*values, None], k=random.randint(0, 2))
        return name, sign, [random.choice(values), *more]
    return name, sign, random.choice(values)


def sql_texts(random: Random, null_safe: str) -> Iterator[str]:
    """An endless sequence of SQL conditions that all dialects read alike.

    null_safe: the dialect's null-safe equality.
    """
    while True:
        pieces = [_sql_leaf(random, null_safe) for _ in range(random.choice([1, 1, 2, 3]))]
        text = random.choice([" AND ", " OR "]).join(pieces)
        yield f"NOT ({text})" if random.random() < 0.3 else text


def _sql_leaf(random: Random, null_safe: str) -> str:
    name = random.choice([*COLUMNS, "d", "f", "st.d", "st.i"])
    column = COLUMNS[name.rpartition(".")[2]]
    one, two, three = (_sql(random.choice(column.values), column.type) for _ in range(3))
    match random.randrange(9):
        case 0:
            return f"{name} IS {random.choice(['', 'NOT '])}NULL"
        case 1:
            return f"{name} {random.choice(['', 'NOT '])}IN ({one}, {two}, {three})"
        case 2:
            return f"{name} IN ({one}, NULL)"
        case 3:
            return f"{name} {random.choice(['', 'NOT '])}BETWEEN {one} AND {two}"
        case 4 if "NaN" not in one:  # which finds it, as isnan() does
            return f"{name} {null_safe} {random.choice([one, 'NULL'])}"
    return f"{name} {random.choice(['=', '<>', '<', '<=', '>', '>='])} {one}"


def _sql(value: Any, type_: pa.DataType) -> str:
    if isinstance(value, float):
        kind = "double" if math.isfinite(value) else "float"
        return f"CAST('{str(value).replace('inf', 'Infinity').replace('nan', 'NaN')}' AS {kind})"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.replace(tzinfo=None).isoformat(' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return f"'{value}'" if isinstance(value, str) else str(value)
