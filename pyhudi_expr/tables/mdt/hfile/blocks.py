"""Read the blocks of an HFile, within bounds, verified and uncompressed, and the index over them.

A block is a 33-byte header (magic, sizes, checksum type and interval), its content, compressed or
not, and checksums (HBase reference guide, "HFile format").

The index over data blocks is in arrays: a large file has a hundred thousand of them. The root index
is entries of [i64 offset][i32 size][vint key length][key]. If there are more levels, its entries
lead to index blocks of [i32 n][i32 offsets x (n + 1)] and n entries without the length. A key
begins with [u16 row length][row].
"""

from __future__ import annotations

import itertools
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from types import ModuleType
from typing import TypeAlias

import numpy as np

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.bytes import kernel
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.parsing.budget import check_inflated_size, current
from pyhudi_expr.tables.storage import Announced, ManyRanges, RandomAccess


def _zlib() -> ModuleType:
    """Return isal's zlib, which takes about half of the time, or Python's if it is missing."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


_ZLIB = _zlib()

GZIP, UNCOMPRESSED = 1, 2
HEADER = struct.Struct(">8siiqBii")

_TAIL_READ = 64 * 1024
_ANNOUNCED_BYTES = 8 * 1024 * 1024
#: Reading a block that the system has in its memory takes less (10 to 40 microseconds, the copy
#: included), reading one from a disk more.
_SECONDS_OF_MEMORY = 100e-6
_BYTES_AT_ONCE = 32 * 1024 * 1024
_CRC32 = 1


Bytes: TypeAlias = bytes | memoryview


class BlockReader:
    """Reads bytes and blocks of one HFile. All damage is reported as CorruptFile."""

    def __init__(self, source: RandomAccess, size: int, name: str) -> None:
        self.size = size
        self.codec = UNCOMPRESSED
        """Compression of all blocks; the trailer tells."""
        self.bytes_read = 0
        self._source = source
        self._many = source if isinstance(source, ManyRanges) else None
        self._announced = source if isinstance(source, Announced) else None
        self._name = name
        self._counting = threading.Lock()
        # The end of the file is read once: it nearly always holds everything but the data blocks.
        self._tail, self._tail_start = b"", size
        start = max(0, size - _TAIL_READ)
        self._tail, self._tail_start = self.fetch(start, size - start), start

    @property
    def tail(self) -> bytes:
        """The file's last bytes, which are read when it is opened."""
        return self._tail

    def block_at(self, offset: int, magics: frozenset[bytes]) -> bytes:
        """Read the block at an offset, whose magic is one of `magics`."""
        header = self.fetch(offset, HEADER.size)
        on_disk = HEADER.unpack(header)[1]
        if on_disk < 0:
            raise self.corrupt(f"the block at {offset} has a negative size")
        whole = self.fetch(offset, HEADER.size + on_disk)
        return self.open_block(whole, offset, magics)

    def open_block(self, block: Bytes, offset: int, magics: frozenset[bytes]) -> bytes:
        """Verify and uncompress the content of a whole block."""
        magic, on_disk, uncompressed, _, checksum, per_checksum, with_header = HEADER.unpack_from(
            block
        )
        if magic not in magics:
            raise self.corrupt(f"the block at {offset} is of an unexpected kind ({magic!r})")
        if on_disk + HEADER.size != len(block) or not HEADER.size <= with_header <= len(block):
            raise self.corrupt(f"the block at {offset} has sizes that do not fit together")
        if uncompressed < 0:
            raise self.corrupt(f"the block at {offset} claims {uncompressed} bytes")
        if checksum == _CRC32:
            self._check_crc32(block, with_header, per_checksum, offset)
        stored = block[HEADER.size : with_header]
        is_gzip = self.codec == GZIP
        if is_gzip:
            check_inflated_size(self._name, len(stored), uncompressed)
        content = self._gunzip(stored, uncompressed, offset) if is_gzip else bytes(stored)
        if len(content) != uncompressed:
            raise self.corrupt(f"the block at {offset} has not the size that it claims")
        return content

    def _check_crc32(self, block: Bytes, with_header: int, per_checksum: int, offset: int) -> None:
        """Verify one CRC-32 for each started chunk. CRC-32C, HBase's default, is left to gzip."""
        if per_checksum <= 0:
            raise self.corrupt(f"the block at {offset} has no checksum interval")
        at = with_header
        for start in range(0, with_header, per_checksum):
            chunk = block[start : min(start + per_checksum, with_header)]
            if zlib.crc32(chunk) != int.from_bytes(block[at : at + 4], "big"):
                raise self.corrupt(f"the block at {offset} fails its checksum")
            at += 4

    def _gunzip(self, content: Bytes, size: int, offset: int) -> bytes:
        inflate = _ZLIB.decompressobj(wbits=31)
        try:
            plain: bytes = inflate.decompress(content, size + 1)
            # Reads to the end of the stream, where zlib verifies its checksum.
            rest = b"" if inflate.eof else inflate.decompress(inflate.unconsumed_tail, 1)
        except _ZLIB.error as error:
            raise self.corrupt(f"the block at {offset} cannot be uncompressed: {error}") from error
        if rest or not inflate.eof:
            raise self.corrupt(f"the block at {offset} has not the size that it claims")
        return plain

    def fetch(self, offset: int, length: int) -> bytes:
        """Read bytes of the file."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise self.corrupt(f"{length} bytes at {offset} are outside of its {self.size} bytes")
        if offset >= self._tail_start:
            start = offset - self._tail_start
            return self._tail[start : start + length]
        current().read(self._name, length)
        content = bytes(self._source.read_at(length, offset))
        if len(content) != length:
            raise self.corrupt(f"ends early: {len(content)} of {length} bytes at {offset}")
        with self._counting:
            self.bytes_read += length
        return content

    def fetch_many(self, ranges: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        """Read ranges (offset, length) one by one, or some megabytes of them at once."""
        if self._many is None:
            yield from self._fetched_in_turn(ranges)
            return
        at = 0
        while at < len(ranges):
            some, size = [ranges[at]], ranges[at][1]
            while at + len(some) < len(ranges):
                size += ranges[at + len(some)][1]
                if size > _BYTES_AT_ONCE:
                    break
                some.append(ranges[at + len(some)])
            yield from self._fetched(some, self._many)
            at += len(some)

    def _fetched_in_turn(self, ranges: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        """Read ranges one by one; announce those of a look-up as soon as one comes from the disk.

        Announcing takes as long as reading what the system has in its memory. A scan is read ahead
        by the system.
        """
        source = self._announced
        if sum(length for _, length in ranges) > _ANNOUNCED_BYTES:
            source = None
        for number, (offset, length) in enumerate(ranges, 1):
            if source is None:
                yield self.fetch(offset, length)
                continue
            started = perf_counter()
            content = self.fetch(offset, length)
            if perf_counter() - started > _SECONDS_OF_MEMORY:
                source.will_need(ranges[number:])
                source = None
            yield content

    def _fetched(self, ranges: Sequence[tuple[int, int]], source: ManyRanges) -> Sequence[bytes]:
        """Return the contents of ascending ranges; those within the file's end are known."""
        unread = [one for one in ranges if one[0] < self._tail_start]
        current().read(self._name, sum(length for _, length in unread))
        contents = [*source.read_ranges(unread)] if unread else []
        for (offset, length), content in zip(unread, contents, strict=True):
            if len(content) != length:
                raise self.corrupt(f"ends early: {len(content)} of {length} bytes at {offset}")
        with self._counting:
            self.bytes_read += sum(length for _, length in unread)
        return [*contents, *(self.fetch(*one) for one in ranges[len(unread) :])]

    def corrupt(self, reason: str) -> CorruptFile:
        """Return the error for damage."""
        return CorruptFile(self._name, reason)


def vint_length(first: int) -> int:
    """Return the length in bytes of a Hadoop variable-length number, by its first byte."""
    signed = first - 256 if first > 127 else first
    if signed >= -112:
        return 1
    return (-119 if signed < -120 else -111) - signed


def vint(block: bytes, at: int) -> tuple[int, int]:
    """Return a variable-length number and the position behind it."""
    length = vint_length(block[at])
    first = block[at] - 256 if block[at] > 127 else block[at]
    if length == 1:
        return first, at + 1
    value = int.from_bytes(block[at + 1 : at + length], "big")
    return (~value if first < -120 else value), at + length


_ENTRY = struct.Struct(">qi")
_ROW_LENGTH = struct.Struct(">H")


class DamagedIndexError(ValueError):
    """An entry of the index exceeds its block."""


@dataclass(frozen=True, eq=False)
class BlockIndex:
    """Blocks in the order of their keys.

    Attributes:
        first_rows: The first row key of each.
        offset: Where each begins in the file, in bytes.
        size: The length of each with its header and checksums, in bytes.
    """

    first_rows: ByteStrings
    offset: Int64Array
    size: Int64Array

    def __len__(self) -> int:
        return len(self.offset)


def concat_indexes(parts: Sequence[BlockIndex]) -> BlockIndex:
    """Concatenate parts of one index, in their order."""
    if len(parts) == 1:
        return parts[0]
    none = np.zeros(0, np.int64)
    return BlockIndex(
        concat_byte_strings([part.first_rows for part in parts]),
        np.concatenate([none, *(part.offset for part in parts)]),
        np.concatenate([none, *(part.size for part in parts)]),
    )


def root_index(block: bytes, count: int) -> BlockIndex:
    """Parse that many entries of an uncompressed root index.

    Raises:
        DamagedIndexError: There are fewer, or one exceeds the block.
    """
    if not 0 <= count <= len(block) // _ENTRY.size:
        raise DamagedIndexError
    library = kernel.library()
    if library is None:
        return _root_index(block, count)
    offset, size, start, end = columns = [np.empty(count, np.int64) for _ in range(4)]
    targets = [kernel.pointer(column) for column in columns]
    if library.kernel_block_index(
        kernel.pointer(kernel.as_bytes(block)), len(block), count, *targets
    ):
        raise DamagedIndexError
    return BlockIndex(ByteStrings(block, start, end).packed(), offset, size)


def _root_index(block: bytes, count: int) -> BlockIndex:
    """Parse the root index without the kernel."""
    places, at = [], 0
    try:
        for _ in range(count):
            length, key = vint(block, at + _ENTRY.size)
            places.append((at, key, key + length))
            at = key + length
            if length < 0 or at > len(block):
                raise DamagedIndexError
    except IndexError as error:
        raise DamagedIndexError from error
    return _entries(block, places)


def inner_index(block: bytes) -> BlockIndex:
    """Parse an uncompressed index block below the root.

    Raises:
        DamagedIndexError: It is shorter than its entries.
    """
    try:
        (count,) = struct.unpack_from(">i", block)
        if not 0 <= count <= len(block) // _ENTRY.size:
            raise DamagedIndexError
        starts = struct.unpack_from(f">{count + 1}i", block, 4)
    except struct.error as error:
        raise DamagedIndexError from error
    base = 8 + 4 * count
    places = [
        (base + start, base + start + _ENTRY.size, base + end)
        for start, end in itertools.pairwise(starts)
    ]
    return _entries(block, places)


def _entries(block: bytes, places: Sequence[tuple[int, int, int]]) -> BlockIndex:
    """Parse entries, each with where it starts, and where its key starts and ends."""
    blocks, rows = [], []
    try:
        for start, key, end in places:
            (length,) = _ROW_LENGTH.unpack_from(block, key)
            row = key + _ROW_LENGTH.size
            if start < 0 or row + length > min(end, len(block)):
                raise DamagedIndexError
            blocks.append(_ENTRY.unpack_from(block, start))
            rows.append(block[row : row + length])
    except struct.error as error:
        raise DamagedIndexError from error
    numbers = np.array(blocks, np.int64).reshape(-1, 2)
    return BlockIndex(
        ByteStrings.of(rows),
        np.ascontiguousarray(numbers[:, 0]),
        np.ascontiguousarray(numbers[:, 1]),
    )
