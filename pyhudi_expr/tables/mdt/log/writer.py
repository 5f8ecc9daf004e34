"""Write log blocks of the metadata table; `reader` has their format.

A log file is written at once: object stores cannot append, and a file that appears whole is never
read half written.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import fastavro

from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.log.reader import (
    DELETE_BLOCK_VERSION,
    DELETE_LIST,
    FORMAT_VERSION,
    INSTANT,
    MAGIC,
    BlockKind,
)
from pyhudi_expr.tables.mdt.records.schema import RECORD_SCHEMA

_SCHEMA = 2
_DELETE_LIST = fastavro.parse_schema(DELETE_LIST)


def empty_block(instant: str) -> bytes:
    """Return the first block of every file group: it deletes nothing."""
    content = struct.pack(">iib", DELETE_BLOCK_VERSION, 1, 0)
    return block(BlockKind.DELETE, {INSTANT: instant}, content)


def records(instant: str, cells: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a block of records of a delta commit, as `mdt.hfile.writer.write` takes them."""
    content = io.BytesIO()
    hfile_writer.write(content, cells, RECORD_SCHEMA)
    header = {INSTANT: instant, _SCHEMA: RECORD_SCHEMA}
    return block(BlockKind.HFILE, header, content.getvalue())


def deletes(instant: str, keys: Iterable[bytes]) -> bytes:
    """Return a block that deletes the records of the keys, as `record_index` needs it."""
    content = io.BytesIO()
    fastavro.schemaless_writer(content, _DELETE_LIST, {"deleteRecordList": list(_deletions(keys))})
    lengths = struct.pack(">ii", DELETE_BLOCK_VERSION, len(content.getvalue()))
    return block(BlockKind.DELETE, {INSTANT: instant}, lengths + content.getvalue())


def _deletions(keys: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for key in keys:
        yield {"recordKey": key.decode(), "partitionPath": "", "orderingVal": None}


def block(kind: BlockKind, header: Mapping[int, str], content: bytes) -> bytes:
    """Return a block; the header has texts by Hudi's ordinals."""
    pairs = b"".join(
        struct.pack(">ii", ordinal, len(encoded)) + encoded
        for ordinal, encoded in ((key, text.encode()) for key, text in header.items())
    )
    body = b"".join(
        (
            struct.pack(">iii", FORMAT_VERSION, kind, len(header)),
            pairs,
            struct.pack(">q", len(content)),
            content,
            struct.pack(">i", 0),  # an empty footer
        )
    )
    length = len(body) + 8  # the total at the end counts, too
    return MAGIC + struct.pack(">q", length) + body + struct.pack(">q", length + len(MAGIC))
