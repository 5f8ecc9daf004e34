"""Avro files as an attacker writes them, whatever their schema says."""

from __future__ import annotations

import json
import zlib

SYNC = b"S" * 16


def number(value: int) -> bytes:
    """Encode an int or a long."""
    value = (value << 1) ^ (value >> 63)
    encoded = b""
    while value & ~0x7F:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


def text(content: bytes) -> bytes:
    """Encode bytes or a text."""
    return number(len(content)) + content


def avro_file(schema: object, record: bytes, codec: str = "null") -> bytes:
    """Return a file with one record, whose bytes are compressed already."""
    meta = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": codec.encode()}
    entries = b"".join(text(key) + text(value) for key, value in meta.items())
    header = b"Obj\x01" + number(len(meta)) + entries + number(0) + SYNC
    return header + number(1) + text(record) + SYNC


def commit(junk: object, record: bytes, codec: str = "null") -> bytes:
    """Return a commit whose record has a field of another type first."""
    fields = [{"name": "junk", "type": junk}, {"name": "operationType", "type": ["null", "string"]}]
    schema = {"type": "record", "name": "HoodieCommitMetadata", "fields": fields}
    return avro_file(schema, record, codec)


def deflated_zeros(megabytes: int, before: bytes = b"") -> bytes:
    """Return some bytes and so many megabytes of zeros, deflated."""
    deflate = zlib.compressobj(9, wbits=-15)
    parts = [deflate.compress(before)]
    parts += [deflate.compress(bytes(1 << 20)) for _ in range(megabytes)]
    return b"".join(parts) + deflate.flush()
