"""Decode messages with a limit for all structs in their lists and maps together.

Thrift limits the items of one list. A struct without fields is one byte in a message, and hundreds
as an object, so a message of many lists would take a thousand times its size. Decoders call the
class of each struct, so the classes here count.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from thrift.protocol import fastbinary
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

#: What Thrift's specifications say of a type beside its number.
_Type: TypeAlias = Any


class TooManyStructsError(ValueError):
    """A message has more structs than it may have."""


class _Left(threading.local):
    structs = 0


_left = _Left()


def counting_protocol(
    frame: bytes, most_structs: int, most_items: int
) -> TBinaryProtocolAccelerated:
    """Return a protocol that reads a frame.

    Args:
        frame: The frame.
        most_structs: Limit of structs in all lists and maps together; beyond it decoding raises.
        most_items: Limit of items in one list or map, as well.
    """
    # Neither a string nor a list can have more items than the frame has bytes.
    protocol = TBinaryProtocolAccelerated(
        TMemoryBuffer(frame),
        strictRead=True,
        string_length_limit=len(frame),
        container_length_limit=min(len(frame), most_items),
    )

    def decode(target: object, source: object, spec: Sequence[Any]) -> None:
        _left.structs = most_structs
        fastbinary.decode_binary(target, source, [spec[0], _fields(spec[0])])

    protocol._fast_decode = decode
    return protocol


@cache
def _fields(struct: type[Any]) -> tuple[Any, ...]:
    """Return the specification of a struct's fields, with classes that count."""
    return tuple(field and _field(*field) for field in struct.thrift_spec)


def _field(number: int, kind: int, name: str, of: _Type, default: object) -> tuple[Any, ...]:
    return number, kind, name, _single(of) if kind == TType.STRUCT else _items(kind, of), default


def _single(of: Sequence[Any]) -> Sequence[Any]:
    return [of[0], _fields(of[0])]


def _items(kind: int, of: _Type) -> _Type:
    """Return the specification of what a list or a map holds; that of other types as it is."""
    match kind:
        case TType.STRUCT:
            return [_counted(of[0]), _fields(of[0])]
        case TType.LIST | TType.SET:
            return of[0], _items(of[0], of[1]), of[2]
        case TType.MAP:
            return of[0], _items(of[0], of[1]), of[2], _items(of[2], of[3]), of[4]
    return of


@cache
def _counted(struct: type[Any]) -> type[Any]:
    """Return a class of a struct whose objects are counted; they hold only what was sent."""

    def count(_: object) -> None:
        _left.structs -= 1
        if _left.structs < 0:
            raise TooManyStructsError("the message has more structs than are decoded")

    absent = {field[2]: field[4] for field in struct.thrift_spec if field}
    return type(struct.__name__, (struct,), {**absent, "__init__": count})
