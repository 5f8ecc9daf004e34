"""Thrift's compact protocol, as far as Parquet's metadata use it.

Structs become dicts by field number, lists become lists, integers of all widths int, texts and
binaries bytes. https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

#: A struct's fields by their numbers.
Fields: TypeAlias = dict[int, Any]

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(
    13
)
_LONG_LIST = 15
_MOST_BITS = 70
_DEEPEST = 32


class NotParquetError(ValueError):
    """Bytes are not what Parquet's format wants there."""


def read_struct(data: bytes) -> tuple[Fields, int]:
    """Return the struct that bytes begin with, and the position behind it.

    Raises:
        NotParquetError: There is no struct.
    """
    try:
        return _struct(data, 0, 0)
    except (IndexError, struct.error) as error:
        raise NotParquetError("a Thrift struct is cut off") from error


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
        if shift >= _MOST_BITS:
            raise NotParquetError("a Thrift integer is too long")


def _struct(data: bytes, at: int, depth: int) -> tuple[Fields, int]:
    fields: Fields = {}
    number = 0
    while True:
        head = data[at]
        at += 1
        kind = head & 0x0F
        if kind == _STOP:
            return fields, at
        if head >> 4:
            number += head >> 4
        else:
            raw, at = _varint(data, at)
            number = (raw >> 1) ^ -(raw & 1)
        if kind <= _FALSE:
            fields[number] = kind == _TRUE
        else:
            fields[number], at = _value(data, at, kind, depth)


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if _I16 <= kind <= _I64:
        raw, at = _varint(data, at)
        return (raw >> 1) ^ -(raw & 1), at
    if kind == _BINARY:
        length, at = _varint(data, at)
        if at + length > len(data):
            raise NotParquetError("a Thrift text is cut off")
        return data[at : at + length], at + length
    if kind in (_STRUCT, _LIST, _SET):
        if depth == _DEEPEST:
            raise NotParquetError("Thrift structs and lists are nested too deep")
        nested = _struct if kind == _STRUCT else _list
        return nested(data, at, depth + 1)
    if kind in (_TRUE, _FALSE):  # an element of a list
        return data[at] == _TRUE, at + 1
    if kind == _BYTE:
        return data[at], at + 1
    if kind == _DOUBLE:
        return struct.unpack_from("<d", data, at)[0], at + 8
    raise NotParquetError(f"no Thrift type of Parquet's has the number {kind}")


def _list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    head = data[at]
    at += 1
    length, kind = head >> 4, head & 0x0F
    if length == _LONG_LIST:
        length, at = _varint(data, at)
    if length > len(data) - at:  # each element takes a byte at least
        raise NotParquetError("a Thrift list is cut off")
    found = []
    for _ in range(length):
        value, at = _value(data, at, kind, depth)
        found.append(value)
    return found, at
