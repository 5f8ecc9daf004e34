"""Read and write log files of the metadata table: blocks appended one after another.

`#HUDI#`, i64 length, i32 version, i32 type, header, i64 content length, content, footer, i64 total;
header and footer are {i32 n, n x (i32 key, i32 length, UTF-8)}, the length counts from behind
itself, the total is length + 6 (Hudi's `HoodieLogFormat`). The content of an HFile block is a whole
HFile, that of a delete block a list of keys. A writer that failed can leave an incomplete block.
What follows the next `#HUDI#` then is read as blocks, so a crafted file could have headers that
overlap: all of them together are read up to twice the file's size.

A log file is written at once: object stores cannot append, and a file that appears whole is never
read half written.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

import fastavro

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.parsing.avro_schemas import AvroSchema
from pyhudi_expr.tables.parsing.avro_values import record_reader
from pyhudi_expr.tables.parsing.budget import OverBudgetError, current
from pyhudi_expr.tables.storage import RandomAccess

_T = TypeVar("_T")

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


def without_rolled_back(found: Sequence[_T], block_of: Callable[[_T], LogBlock]) -> list[_T]:
    """Leave out COMMAND blocks, and the blocks whose instant a later one of them names.

    Args:
        found: What has a block each, in the order of the blocks.
        block_of: Returns its block.
    """
    rolled_back = set[str | None]()
    kept: list[_T] = []
    for one in reversed(found):
        block = block_of(one)
        if block.kind is BlockKind.COMMAND:
            rolled_back.add(block.rolled_back)
        elif block.instant not in rolled_back:
            kept.append(one)
    return kept[::-1]


class LogFile:
    """An open log file: its blocks in order, damaged ranges as CORRUPT blocks."""

    def __init__(self, source: RandomAccess, size: int, name: str) -> None:
        self._source = source
        self._size = size
        self.name = name
        self.bytes_read = 0
        self._window = (0, b"")  # where it starts, and its bytes: replaced as one
        self._header_bytes_left = 2 * size
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
        decoded = _DELETE_LISTS.read(content[8 : 8 + length], self.name)
        deletes: list[dict[str, Any]] = decoded["deleteRecordList"]
        return deletes

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
        header, at = self._read_map(at + 8, min(end, self._size))
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

    def _read_map(self, at: int, end: int) -> tuple[dict[int, str], int]:
        (count,) = struct.unpack(">i", self._take(at, 4))
        at += 4
        found: dict[int, str] = {}
        for _ in range(count):
            key, length = struct.unpack(">ii", self._take(at, 8))
            try:
                if not 0 <= length <= end - at - 8:
                    raise _Damaged(None)
                self._spend_header_bytes(8 + length)
                found[key] = self._take(at + 8, length).decode()
            except (_Damaged, UnicodeDecodeError):
                raise _Damaged(found.get(INSTANT)) from None
            at += 8 + length
        return found, at

    def _spend_header_bytes(self, nbytes: int) -> None:
        self._header_bytes_left -= nbytes
        if self._header_bytes_left < 0:
            raise OverBudgetError(self.name, "is no log file: headers of its blocks overlap")

    def _next_magic(self, start: int) -> int:
        while start < self._size:
            window_start, window = self._window_at(start, len(MAGIC), _SEARCH_STEP)
            found = window.find(MAGIC, start - window_start)
            if found >= 0:
                return window_start + found
            start = max(start, window_start + len(window) - len(MAGIC)) + 1
        return self._size

    def _take(self, offset: int, length: int) -> bytes:
        """Read bytes of the block's frame; it is damaged if the file does not have so many."""
        if length < 0 or offset + length > self._size:
            raise _Damaged(None)
        return self._fetch(offset, length)

    def _fetch(self, offset: int, length: int) -> bytes:
        start, window = self._window_at(offset, length, _READ_AHEAD)
        return window[offset - start : offset - start + length]

    def _window_at(self, offset: int, length: int, ahead: int) -> tuple[int, bytes]:
        """Return where a window starts, and its bytes, which has those wanted that the file has."""
        start, window = self._window
        wanted = min(length, self._size - offset)
        if offset < start or offset + wanted > start + len(window):
            nbytes = min(max(wanted, ahead), self._size - offset)
            current().read(self.name, nbytes)
            start, window = offset, bytes(self._source.read_at(nbytes, offset))
            self._window = (start, window)
            self.bytes_read += len(window)
            if len(window) < wanted:
                raise CorruptFile(self.name, f"ends early: {wanted} bytes at {offset} wanted")
        return start, window


class _Damaged(Exception):  # noqa: N818 - a finding, caught here
    def __init__(self, instant: str | None) -> None:
        super().__init__()
        self.instant = instant


def _wrapper(name: str, data_type: object) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": "value", "type": data_type}]}


# HoodieDeleteRecordList: the ordering value is a union of wrapped values, read and dropped.
DELETE_LIST: AvroSchema = {
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
_DELETE_LISTS = record_reader(DELETE_LIST)


_DELETE_LIST = fastavro.parse_schema(DELETE_LIST)


def empty_block(instant: str) -> bytes:
    """Return the first block of every file group: it deletes nothing."""
    content = struct.pack(">iib", DELETE_BLOCK_VERSION, 1, 0)
    return block(BlockKind.DELETE, {INSTANT: instant}, content)


def records(instant: str, cells: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a block of records of a delta commit, as `mdt.hfile.writer.write` takes them."""
    # On use: a question writes none.
    from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
    from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA

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
