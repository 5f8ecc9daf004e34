"""Rows of an Arrow table as a SELECT of Trino or Presto that returns exactly these values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

#: The column that numbers the rows, from 0.
ROW = "row"
_NULL = "~"
_INTEGERS = {
    **{pa.int8(): "tinyint", pa.int16(): "smallint"},
    **{pa.int32(): "integer", pa.int64(): "bigint"},
}

#: A value as text without separators, and the SQL that decodes it.
_Form = tuple[Callable[[Any], str], str]


def select_of(rows: pa.Table, to_millis: Callable[[int], int]) -> str:
    """The SELECT for at least one row.

    All values are in one constant, because analysing a thousand constants takes a second. Texts,
    bytes and floats are encoded by their bits. Times must have microseconds, with or without a
    zone: the engines read their wall clock in UTC, converted by `to_millis`.
    """
    columns = [_column(rows.column(name), to_millis) for name in rows.column_names]
    texts = zip(map(str, range(rows.num_rows)), *(texts for texts, _ in columns), strict=True)
    terms = [f'CAST(c[1] AS integer) AS "{ROW}"']
    for number, (name, (_, sql)) in enumerate(zip(rows.column_names, columns, strict=True), 2):
        cell = f"nullif(c[{number}], '{_NULL}')"
        terms.append(f"{sql.format(cell)} AS {_quoted(name)}")
    values = ";".join(map(",".join, texts))
    lines = f"SELECT split(line, ',') AS c FROM UNNEST(split('{values}', ';')) AS lines(line)"
    return f"SELECT {', '.join(terms)} FROM ({lines})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _column(values: pa.ChunkedArray, to_millis: Callable[[int], int]) -> tuple[list[str], str]:
    form, sql = _form(values.type, to_millis)
    if pa.types.is_temporal(values.type):
        stored = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
        values = values.cast(stored)
    return [_NULL if value is None else form(value) for value in values.to_pylist()], sql


def _form(type_: pa.DataType, to_millis: Callable[[int], int]) -> _Form:
    if type_ in _INTEGERS:
        return str, f"CAST({{}} AS {_INTEGERS[type_]})"
    if type_ == pa.bool_():
        return str, "CAST({} AS boolean)"
    if type_ == pa.float32():
        return lambda value: struct.pack(">f", value).hex(), "from_ieee754_32(from_hex({}))"
    if type_ == pa.float64():
        return lambda value: struct.pack(">d", value).hex(), "from_ieee754_64(from_hex({}))"
    if pa.types.is_decimal128(type_):
        return _plain, f"CAST({{}} AS decimal({type_.precision}, {type_.scale}))"
    if type_ == pa.string():
        return lambda value: value.encode().hex(), "from_utf8(from_hex({}))"
    if type_ == pa.binary():
        return bytes.hex, "from_hex({})"
    if type_ == pa.date32():
        return str, "date_add('day', CAST({} AS bigint), DATE '1970-01-01')"
    if pa.types.is_timestamp(type_) and type_.unit == "us":
        epoch = "TIMESTAMP '1970-01-01 00:00:00.000'"
        return _by(to_millis), f"{epoch} + CAST({{}} AS bigint) * INTERVAL '0.001' SECOND"
    raise TypeError(f"no values of {type_} for Trino and Presto")


def _plain(value: Decimal) -> str:
    return f"{value:f}"


def _by(function: Callable[[int], int]) -> Callable[[int], str]:
    return lambda value: str(function(value))
