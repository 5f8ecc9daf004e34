"""HFile version 3, the format of the metadata table's base files and log blocks, for writing.

What `hfile` reads and Hudi 1.x accepts: gzip'd data blocks under one level of index, no Bloom
filter (Hudi does without one), empty checksums (gzip has its own). The layout is that of the HBase
reference guide, "HFile format"; the trailer's and the file info's fields are those that Hudi's
`hudi-io` writes.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyhudi_expr.mdt import protobuf
from pyhudi_expr.mdt.hfile import TRAILER_SIZE

_BLOCK_BYTES = 1 << 20
_MAX_ROW_BYTES = 2**15 - 1
_COMPRESSION_LEVEL = 6

_HEADER = struct.Struct(">8siiqBii")
_CELL = struct.Struct(">iiH")
# Behind the row: an empty family, the latest timestamp, the type "put".
_KEY_SUFFIX = b"\0" + b"\x7f" + b"\xff" * 7 + b"\x04"
_ROW_LENGTH_BYTES = 2
_MVCC = b"\0"

_NO_CHECKSUM, _BYTES_PER_CHECKSUM, _CHECKSUM_BYTES = 0, 16384, 4
_NO_PREVIOUS_BLOCK = -1
_GZIP = 1
_INDEX_LEVELS = 1
_MAJOR_VERSION = 3
_COMPARATOR = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator"


class Sink(Protocol):
    """What a binary file and io.BytesIO offer."""

    def write(self, content: bytes, /) -> object: ...


def write(sink: Sink, cells: Iterable[tuple[bytes, bytes]], schema: str) -> int:
    """Writes a whole HFile and returns its length in bytes.

    cells: distinct keys (a record's key as UTF-8, at most 32,767 bytes) by ascending bytes, with
    their values (Avro, without a schema). schema: the values' Avro schema, as JSON.
    Raises ValueError for a key that is out of order or too long.
    """
    writer = _Writer(sink)
    for key, value in cells:
        writer.add(key, value)
    return writer.finish(schema.encode())


@dataclass
class _Writer:
    sink: Sink
    offset: int = 0
    cells: int = 0
    row_bytes: int = 0
    value_bytes: int = 0
    content_bytes: int = 0
    last_block: int = 0
    first_row: bytes | None = None
    last_row: bytes | None = None
    pending: list[bytes] = field(default_factory=list)
    pending_bytes: int = 0
    pending_row: bytes = b""
    index: list[bytes] = field(default_factory=list)

    def add(self, row: bytes, value: bytes) -> None:
        if self.last_row is None:
            self.first_row = row
        elif row <= self.last_row:
            raise ValueError(f"the key {row!r} does not sort behind {self.last_row!r}")
        if len(row) > _MAX_ROW_BYTES:
            raise ValueError(f"a key of {len(row)} bytes; HFiles take {_MAX_ROW_BYTES}")
        if not self.pending:
            self.pending_row = row
        key_length = _ROW_LENGTH_BYTES + len(row) + len(_KEY_SUFFIX)
        lengths = _CELL.pack(key_length, len(value), len(row))
        cell = b"".join((lengths, row, _KEY_SUFFIX, value, _MVCC))
        self.pending.append(cell)
        self.pending_bytes += len(cell)
        self.last_row = row
        self.cells += 1
        self.row_bytes += len(row)
        self.value_bytes += len(value)
        if self.pending_bytes >= _BLOCK_BYTES:
            self._end_block()

    def finish(self, schema: bytes) -> int:
        self._end_block()
        data_index = self._block(b"IDXROOT2", b"".join(self.index))
        self._block(b"IDXROOT2", b"")  # of meta blocks: there are none
        info = self._block(b"FILEINF2", _file_info(self._facts(schema)))
        self._write(self._trailer(data_index, info))
        return self.offset

    def _end_block(self) -> None:
        if not self.pending:
            return
        self.last_block = start = self._block(b"DATABLK*", b"".join(self.pending))
        key = _with_length(self.pending_row)
        entry = struct.pack(">qi", start, self.offset - start)
        self.index.append(entry + _vint(len(key)) + key)
        self.content_bytes += self.pending_bytes
        self.pending, self.pending_bytes = [], 0

    def _block(self, magic: bytes, content: bytes) -> int:
        """Writes a block and returns where it begins."""
        start = self.offset
        packed = gzip.compress(content, _COMPRESSION_LEVEL, mtime=0)
        data = _HEADER.size + len(packed)
        checksums = bytes(-(-data // _BYTES_PER_CHECKSUM) * _CHECKSUM_BYTES)
        header = _HEADER.pack(
            magic,
            len(packed) + len(checksums),
            len(content),
            _NO_PREVIOUS_BLOCK,
            _NO_CHECKSUM,
            _BYTES_PER_CHECKSUM,
            data,
        )
        self._write(header + packed + checksums)
        return start

    def _facts(self, schema: bytes) -> Mapping[str, bytes]:
        facts = {
            "schema": schema,
            "KEY_VALUE_VERSION": struct.pack(">i", 1),  # cells end with their read point ...
            "MAX_MEMSTORE_TS_KEY": struct.pack(">q", 0),  # ... which is 0 in all of them
            "hfile.AVG_KEY_LEN": struct.pack(">i", self.row_bytes // max(self.cells, 1)),
            "hfile.AVG_VALUE_LEN": struct.pack(">i", self.value_bytes // max(self.cells, 1)),
        }
        if self.first_row is None or self.last_row is None:
            return facts
        return facts | {
            "hfile.LASTKEY": _with_length(self.last_row),
            "minRecordKey": self.first_row,
            "maxRecordKey": self.last_row,
        }

    def _trailer(self, data_index: int, info: int) -> bytes:
        message = protobuf.encode(
            [
                (1, info),
                (2, data_index),  # from here on a reader loads everything when it opens the file
                (3, sum(map(len, self.index))),
                (4, self.content_bytes),
                (5, len(self.index)),
                (6, 0),  # meta blocks
                (7, self.cells),
                (8, _INDEX_LEVELS),
                (9, 0),  # the first data block
                (10, self.last_block),
                (11, _COMPARATOR),
                (12, _GZIP),
            ]
        )
        version = _MAJOR_VERSION.to_bytes(4, "big")
        trailer = b'TRABLK"$' + protobuf.delimited(message)
        return trailer.ljust(TRAILER_SIZE - len(version), b"\0") + version

    def _write(self, content: bytes) -> None:
        self.sink.write(content)
        self.offset += len(content)


def _file_info(facts: Mapping[str, bytes]) -> bytes:
    pairs = [
        (1, protobuf.encode([(1, name.encode()), (2, value)])) for name, value in facts.items()
    ]
    return b"PBUF" + protobuf.delimited(protobuf.encode(pairs))


def _with_length(row: bytes) -> bytes:
    return len(row).to_bytes(_ROW_LENGTH_BYTES, "big") + row


def _vint(number: int) -> bytes:
    """One of Hadoop's variable-length numbers; not negative."""
    if number <= 127:
        return bytes([number])
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([256 - 112 - len(content)]) + content
