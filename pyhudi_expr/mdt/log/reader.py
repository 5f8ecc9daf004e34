"""Read log files of the metadata table: blocks appended one after another.

`#HUDI#`, i64 length, i32 version, i32 type, header, i64 content length, content, footer, i64 total;
header and footer are {i32 n, n x (i32 key, i32 length, UTF-8)}, the length counts from behind
itself, the total is length + 6 (Hudi's `HoodieLogFormat`). The content of an HFile block is a whole
HFile, that of a delete block a list of keys. A writer that failed can leave an incomplete block.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import fastavro

from pyhudi_expr.table.errors import CorruptFile
from pyhudi_expr.table.storage import RandomAccess

MAGIC = b"#HUDI#"
_PREFIX = struct.Struct(">6sq")
FORMAT_VERSION = 1
_READ_AHEAD = 64 * 1024
_SEARCH_STEP = 1024 * 1024

INSTANT, _TARGET_INSTANT, _SCHEMA, _COMPACTED_INSTANTS, _IS_PARTIAL = 0, 1, 2, 4, 7
DELETE_BLOCK_VERSION = 3


class BlockKind(IntEnum):
    """Hudi's block types."""

    COMMAND = 0
    DELETE = 1
    CORRUPT = 2
    AVRO = 3
    HFILE = 4
    PARQUET = 5
    CDC = 6


@dataclass(frozen=True)
class LogBlock:
    """One block. Its content is bytes [offset, offset + length) of the file."""

    kind: BlockKind
    instant: str | None
    """The instant that wrote the block; None when damage hides it."""
    rolled_back: str | None
    """For a COMMAND block: the instant whose earlier blocks no longer count."""
    replaces: tuple[str, ...]
    """Instants whose blocks were compacted into this one."""
    offset: int
    length: int
    schema: str | None = None
    """The Avro schema, JSON, of a data block's records."""
    is_partial: bool = False
    """Whether its records have the columns only that were updated."""


class LogFile:
    """An open log file: its blocks in order, damaged ranges as CORRUPT blocks."""

    def __init__(self, source: RandomAccess, size: int, name: str) -> None:
        self._source = source
        self._size = size
        self.name = name
        self.bytes_read = 0
        self._window = (0, b"")  # where it starts, and its bytes: replaced as one
        self.blocks = tuple(self._read_blocks())

    def content(self, block: LogBlock) -> bytes:
        """Read the content of a block."""
        return self._fetch(block.offset, block.length)

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Read `nbytes` at an offset."""
        return self._fetch(offset, nbytes)

    def deleted_keys(self, block: LogBlock) -> list[bytes]:
        """Return the keys that a DELETE block deletes. Raises CorruptFile."""
        return [(record["recordKey"] or "").encode() for record in self.deletes(block)]

    def deletes(self, block: LogBlock) -> list[dict[str, Any]]:
        """Return the records of a DELETE block.

        They have `recordKey`, `partitionPath`, and the `orderingVal`, a value in a wrapper.

        Raises:
            CorruptFile: The block is damaged.
        """
        content = self.content(block)
        if len(content) < 8:
            raise CorruptFile(self.name, "a delete block is too short")
        version, length = struct.unpack_from(">ii", content)
        if length == 0:
            return []
        if version != DELETE_BLOCK_VERSION:
            raise CorruptFile(self.name, f"delete block version {version} is not supported")
        if length < 0 or 8 + length > len(content):
            raise CorruptFile(self.name, "a delete block breaks its bounds")
        return _deletes(content[8 : 8 + length], self.name)

    def _read_blocks(self) -> Iterator[LogBlock]:
        at = 0
        while at < self._size:
            try:
                block, end = self._read_block(at)
            except _Damaged as damage:
                end = self._next_magic(at + 1)
                yield LogBlock(BlockKind.CORRUPT, damage.instant, None, (), at, end - at)
                at = end
                continue
            yield block
            at = end

    def _read_block(self, start: int) -> tuple[LogBlock, int]:
        magic, length = _PREFIX.unpack(self._take(start, _PREFIX.size))
        if magic != MAGIC:
            raise _Damaged(None)
        at = start + _PREFIX.size
        end = at + length
        version, kind = struct.unpack(">ii", self._take(at, 8))
        if version != FORMAT_VERSION or kind not in iter(BlockKind):
            raise _Damaged(None)
        header, at = self._read_map(at + 8)
        instant = header.get(INSTANT)
        if length < 0 or end > self._size:
            raise _Damaged(instant)
        (content_length,) = struct.unpack(">q", self._take(at, 8))
        content = at + 8
        if not 0 <= content_length <= end - content - 12:
            raise _Damaged(instant)
        (total,) = struct.unpack(">q", self._take(end - 8, 8))
        if total != length + len(MAGIC) or instant is None:
            raise _Damaged(instant)
        replaces = tuple(filter(None, header.get(_COMPACTED_INSTANTS, "").split(",")))
        target = header.get(_TARGET_INSTANT)
        block = LogBlock(
            BlockKind(kind),
            instant,
            target,
            replaces,
            content,
            content_length,
            header.get(_SCHEMA),
            header.get(_IS_PARTIAL, "").lower() == "true",
        )
        return block, end

    def _read_map(self, at: int) -> tuple[dict[int, str], int]:
        (count,) = struct.unpack(">i", self._take(at, 4))
        at += 4
        found: dict[int, str] = {}
        for _ in range(count):
            key, length = struct.unpack(">ii", self._take(at, 8))
            try:
                found[key] = self._take(at + 8, length).decode()
            except (_Damaged, UnicodeDecodeError):
                raise _Damaged(found.get(INSTANT)) from None
            at += 8 + length
        return found, at

    def _next_magic(self, start: int) -> int:
        while start < self._size:
            length = min(_SEARCH_STEP + len(MAGIC), self._size - start)
            found = self._fetch(start, length).find(MAGIC)
            if found >= 0:
                return start + found
            start += _SEARCH_STEP
        return self._size

    def _take(self, offset: int, length: int) -> bytes:
        """Read bytes of the block's frame; it is damaged if the file does not have so many."""
        if length < 0 or offset + length > self._size:
            raise _Damaged(None)
        return self._fetch(offset, length)

    def _fetch(self, offset: int, length: int) -> bytes:
        start, window = self._window
        if offset < start or offset + length > start + len(window):
            ahead = min(max(length, _READ_AHEAD), self._size - offset)
            start, window = offset, bytes(self._source.read_at(ahead, offset))
            self._window = (start, window)
            self.bytes_read += len(window)
            if len(window) < length:
                raise CorruptFile(self.name, f"ends early: {length} bytes at {offset} wanted")
        return window[offset - start : offset - start + length]


class _Damaged(Exception):  # noqa: N818 - a finding, caught here
    def __init__(self, instant: str | None) -> None:
        super().__init__()
        self.instant = instant


def _wrapper(name: str, data_type: object) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": "value", "type": data_type}]}


# HoodieDeleteRecordList: the ordering value is a union of wrapped values, read and dropped.
DELETE_LIST = fastavro.parse_schema(
    {
        "type": "record",
        "name": "HoodieDeleteRecordList",
        "fields": [
            {
                "name": "deleteRecordList",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "HoodieDeleteRecord",
                        "fields": [
                            {"name": "recordKey", "type": ["null", "string"]},
                            {"name": "partitionPath", "type": ["null", "string"]},
                            {
                                "name": "orderingVal",
                                "type": [
                                    "null",
                                    _wrapper("BooleanWrapper", "boolean"),
                                    _wrapper("IntWrapper", "int"),
                                    _wrapper("LongWrapper", "long"),
                                    _wrapper("FloatWrapper", "float"),
                                    _wrapper("DoubleWrapper", "double"),
                                    _wrapper("BytesWrapper", "bytes"),
                                    _wrapper("StringWrapper", "string"),
                                    _wrapper("DateWrapper", "int"),
                                    _wrapper("DecimalWrapper", "bytes"),
                                    _wrapper("TimeMicrosWrapper", "long"),
                                    _wrapper("TimestampMicrosWrapper", "long"),
                                ],
                            },
                        ],
                    },
                },
            }
        ],
    }
)


def _deletes(content: bytes, name: str) -> list[dict[str, Any]]:
    try:
        decoded: Any = fastavro.schemaless_reader(io.BytesIO(content), DELETE_LIST, None)
        deletes: list[dict[str, Any]] = decoded["deleteRecordList"]
        return deletes
    except Exception as error:
        # The Avro reader raises almost any exception for a damaged list.
        raise CorruptFile(name, f"a delete block cannot be read: {error!r}") from error
