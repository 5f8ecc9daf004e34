"""The subset of protocol buffers that HFiles need: delimited messages of numbers and bytes.

See the protocol buffers encoding guide. Every reader raises ValueError for damaged bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

Fields = dict[int, list["int | bytes"]]
"""The values of a message by field number, in their order."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


def delimited_fields(content: bytes, start: int) -> tuple[Fields, int]:
    """Return the message whose length and bytes begin at `start`, and the position behind it."""
    length, at = varint(content, start)
    end = at + length
    if end > len(content):
        raise ValueError("a message is longer than its container")
    return fields(content[at:end]), end


def fields(message: bytes) -> Fields:
    """Parse the fields of a message."""
    found: Fields = {}
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = varint(message, at)
            found.setdefault(tag >> 3, []).append(value)
            continue
        if kind == _BYTES:
            length, at = varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {kind}")
        if at + length > len(message):
            raise ValueError("a field is longer than its message")
        found.setdefault(tag >> 3, []).append(message[at : at + length])
        at += length
    return found


def messages(found: Fields, number: int) -> list[bytes]:
    """Return all values of a bytes field."""
    values = found.get(number, [])
    texts = [value for value in values if isinstance(value, bytes)]
    if len(texts) != len(values):
        raise ValueError(f"field {number} does not hold bytes")
    return texts


def text(found: Fields, number: int) -> bytes:
    """Return the last value of a bytes field; empty if it is missing."""
    values = messages(found, number)
    return values[-1] if values else b""


def varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a variable-length number and the position behind it."""
    value = 0
    for i in range(_MAX_VARINT_BYTES):
        if at + i >= len(content):
            raise ValueError("ends within a number")
        byte = content[at + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, at + i + 1
    raise ValueError("a number is too long")


def encode(values: Iterable[tuple[int, int | bytes]]) -> bytes:
    """Encode a message of fields in their order: number and value; integers are not negative."""
    parts = []
    for number, value in values:
        if isinstance(value, int):
            parts += [encode_varint(number << 3 | _VARINT), encode_varint(value)]
        else:
            parts += [encode_varint(number << 3 | _BYTES), encode_varint(len(value)), value]
    return b"".join(parts)


def delimited(message: bytes) -> bytes:
    """Return the message behind its length, as `delimited_fields` reads it."""
    return encode_varint(len(message)) + message


def encode_varint(value: int) -> bytes:
    """Encode a number that is not negative."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
