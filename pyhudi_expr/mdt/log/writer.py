"""Log blocks of the metadata table, for writing; `reader` has their format.

A log file that is written here is written at once: object stores cannot append, and a file that
appears whole is never seen half written.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import fastavro

from pyhudi_expr.mdt.hfile import writer as hfile_writer
from pyhudi_expr.mdt.log.reader import (
    DELETE_BLOCK_VERSION,
    DELETE_LIST,
    FORMAT_VERSION,
    INSTANT,
    MAGIC,
    BlockKind,
)
from pyhudi_expr.mdt.records.schema import RECORD_SCHEMA

_SCHEMA = 2


def empty_block(instant: str) -> bytes:
    """What every file group begins with: a block that deletes nothing."""
    content = struct.pack(">iib", DELETE_BLOCK_VERSION, 1, 0)
    return block(BlockKind.DELETE, {INSTANT: instant}, content)


def records(instant: str, cells: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A block of records, as `mdt.hfile.writer.write` takes them. instant: that of the delta
    commit.
    """
    content = io.BytesIO()
    hfile_writer.write(content, cells, RECORD_SCHEMA)
    header = {INSTANT: instant, _SCHEMA: RECORD_SCHEMA}
    return block(BlockKind.HFILE, header, content.getvalue())


def deletes(instant: str, keys: Iterable[bytes]) -> bytes:
    """A block that deletes the records of the keys, as `record_index` needs it."""
    content = io.BytesIO()
    fastavro.schemaless_writer(content, DELETE_LIST, {"deleteRecordList": list(_gone(keys))})
    lengths = struct.pack(">ii", DELETE_BLOCK_VERSION, len(content.getvalue()))
    return block(BlockKind.DELETE, {INSTANT: instant}, lengths + content.getvalue())


def _gone(keys: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for key in keys:
        yield {"recordKey": key.decode(), "partitionPath": "", "orderingVal": None}


def block(kind: BlockKind, header: Mapping[int, str], content: bytes) -> bytes:
    """One block with the content. header: texts by Hudi's ordinals of them."""
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
