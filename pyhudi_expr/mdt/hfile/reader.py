"""Read HFile version 3, the format of the metadata table's base files and log blocks.

A file is data blocks, a tree of index blocks over them, the file info and a 4,096-byte trailer
(HBase reference guide, "HFile format"; Hudi's `hudi-io` writes the same with one index level). Only
the blocks that a look-up needs are read. Everything that can be wrong in a damaged file is checked,
and raises CorruptFile.
"""

from __future__ import annotations

import itertools
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.mdt.hfile import protobuf
from pyhudi_expr.mdt.hfile.blocks import GZIP, HEADER, UNCOMPRESSED, BlockReader, vint
from pyhudi_expr.mdt.hfile.cells import Cells, DamagedBlockError, concat_cells, parse
from pyhudi_expr.table.storage import RandomAccess

TRAILER_SIZE = 4096
_RUN_BYTES = 2 * 1024 * 1024
#: Uncompressed bytes of cells that are returned together.
_CHUNK_BYTES = 2 * 1024 * 1024
_MAX_INDEX_LEVELS = 8
#: glibc takes memory of more than this from the kernel, and gives it back, each time; at first
#: that is 128 KB, then as much as was ever freed at once. So pieces of a few megabytes are reused.
_REUSED_BYTES = 8 * 1024 * 1024
np.empty(_REUSED_BYTES, np.uint8)

_TRAILER_MAGIC = b'TRABLK"$'
_DATA_MAGICS = frozenset({b"DATABLK*", b"DATABLKE"})
_ROOT_INDEX, _LEAF_INDEX, _INNER_INDEX = b"IDXROOT2", b"IDXLEAF2", b"IDXINTE2"
_FILE_INFO = b"FILEINF2"
_FILE_INFO_MAGIC = b"PBUF"
# Cells end with a variable-length number, HBase's read point.
_WITH_MVCC = b"\0\0\0\1"

# Writers may have sorted keys as UTF-16; that differs from the order of bytes only between
# characters whose UTF-8 begins with one of these bytes or a greater one.
_FIRST_AMBIGUOUS_BYTE = 0xEE


@dataclass(frozen=True)
class _Trailer:
    file_info: int
    load_on_open: int
    data_entries: int
    cells: int
    levels: int
    codec: int
    last_block: int | None


@dataclass(frozen=True)
class _IndexEntry:
    first_row: bytes
    offset: int
    size: int


class HFile:
    """An open HFile. It is as thread safe as its source."""

    def __init__(self, source: RandomAccess, size: int, name: str) -> None:
        """Read the trailer, the file info and the index.

        Args:
            source: The file.
            size: Its length in bytes.
            name: Its name in errors.

        Raises:
            CorruptFile: The file is damaged.
        """
        self._file = BlockReader(source, size, name)
        self._trailer = self._read_trailer()
        self._file.codec = self._trailer.codec
        self.info = self._read_file_info()
        if self.info.get(b"hfile.MAX_TAGS_LEN") is not None:
            raise self._file.corrupt("cells with tags are not supported")
        self._has_mvcc = self.info.get(b"KEY_VALUE_VERSION") == _WITH_MVCC
        self._index = self._read_index()
        self._first_rows = [entry.first_row for entry in self._index]

    @property
    def schema(self) -> str:
        """The Avro schema of the values, as JSON."""
        schema = self.info.get(b"schema")
        if schema is None:
            raise self._file.corrupt("the file info holds no Avro schema")
        try:
            return schema.decode()
        except UnicodeDecodeError as error:
            raise self._file.corrupt(f"the Avro schema is not UTF-8: {error}") from error

    @property
    def tail(self) -> bytes:
        """The end of the file as it was read: trailer, file info and, mostly, the whole index."""
        return self._file.tail

    @property
    def bytes_read(self) -> int:
        """Bytes read from the source so far."""
        return self._file.bytes_read

    @property
    def num_cells(self) -> int:
        """Number of cells in the file."""
        return self._trailer.cells

    def scan(self) -> Iterator[Cells]:
        """Read all cells in order, some megabytes at a time.

        This reads millions of cells without an object for each: every piece has its keys and values
        as arrays over one buffer (`Cells.key_strings`, `Cells.value_strings`).
        """
        count = 0
        for _, cells in self._chunks(range(len(self._index))):
            count += len(cells)
            yield cells
        if count != self.num_cells:
            raise self._file.corrupt(f"holds {count} cells, not {self.num_cells} as it claims")

    def lookup(self, keys: Sequence[bytes]) -> Cells:
        """Return the cells of those keys that the file has, sorted by key."""
        requested = sorted(set(keys))
        if any(_is_ambiguous(key) for key in requested):
            return self._filter_all(frozenset(requested).__contains__)
        by_block: dict[int, list[bytes]] = {}
        for key in requested:
            block = bisect_right(self._first_rows, key) - 1
            if block >= 0:
                by_block.setdefault(block, []).append(key)
        found = []
        for blocks, cells in self._chunks(list(by_block)):
            chosen = ByteStrings.of([key for block in blocks for key in by_block[block]])
            positions = cells.key_strings.search(chosen)
            found.append(cells.take(positions[positions >= 0]))
        return concat_cells(found)

    def prefix(self, prefixes: Sequence[bytes]) -> Cells:
        """Return the cells whose keys begin with one of the prefixes, each once, in order."""
        return concat_cells(list(self.prefix_scan(prefixes)))

    def prefix_scan(self, prefixes: Sequence[bytes]) -> Iterator[Cells]:
        """Read the cells of `prefix` some megabytes at a time."""
        requested = _without_covered(prefixes)
        if any(_is_ambiguous(prefix) for prefix in requested):
            chosen = tuple(requested)
            yield self._filter_all(lambda key: key.startswith(chosen))
            return
        by_block = self._blocks_of(requested)
        for blocks, cells in self._chunks(sorted(by_block)):
            here = dict.fromkeys(prefix for block in blocks for prefix in by_block[block])
            yield cells.with_prefixes(list(here))

    def prefix_bytes(self, prefixes: Sequence[bytes]) -> int:
        """Return the size of the blocks that `prefix_scan` reads, which the index tells."""
        requested = _without_covered(prefixes)
        if any(_is_ambiguous(prefix) for prefix in requested):
            return sum(entry.size for entry in self._index)
        return sum(self._index[number].size for number in self._blocks_of(requested))

    def _blocks_of(self, prefixes: Sequence[bytes]) -> dict[int, list[bytes]]:
        """Return the numbers of the blocks that may hold keys of the prefixes, with these."""
        by_block: dict[int, list[bytes]] = {}
        for prefix in prefixes:
            # Cells with the prefix can begin in the block before the first row that is not less.
            block = max(bisect_left(self._first_rows, prefix) - 1, 0)
            while block < len(self._index):
                first = self._first_rows[block]
                if first > prefix and not first.startswith(prefix):
                    break
                by_block.setdefault(block, []).append(prefix)
                block += 1
        return by_block

    def _filter_all(self, chosen: Callable[[bytes], bool]) -> Cells:
        return concat_cells(
            [cells.take(np.array(list(map(chosen, cells.keys)), np.bool_)) for cells in self.scan()]
        )

    def _chunks(self, numbers: Sequence[int]) -> Iterator[tuple[list[int], Cells]]:
        """Read data blocks by ascending numbers; return some at a time with their cells."""
        chunk: list[int] = []
        contents: list[bytes] = []
        size = 0
        for number, content in self._blocks(numbers):
            chunk.append(number)
            contents.append(content)
            size += len(content)
            if size >= _CHUNK_BYTES:
                yield chunk, self._cells(chunk, contents)
                chunk, contents, size = [], [], 0
        if chunk:
            yield chunk, self._cells(chunk, contents)

    def _blocks(self, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Return numbers and uncompressed contents of data blocks; neighbours are read together."""
        runs = list(self._runs(numbers))
        ranges = [
            (self._index[run[0]].offset, sum(self._index[number].size for number in run))
            for run in runs
        ]
        for run, fetched in zip(runs, self._file.fetch_many(ranges), strict=True):
            content, start = memoryview(fetched), 0
            for number in run:
                entry = self._index[number]
                block = content[start : start + entry.size]
                yield number, self._file.open_block(block, entry.offset, _DATA_MAGICS)
                start += entry.size

    def _runs(self, numbers: Sequence[int]) -> Iterator[Sequence[int]]:
        """Return the numbers of blocks that are neighbours in the file together."""
        at = 0
        while at < len(numbers):
            end, length = at + 1, self._index[numbers[at]].size
            while end < len(numbers):
                before, entry = self._index[numbers[end - 1]], self._index[numbers[end]]
                length += entry.size
                if entry.offset != before.offset + before.size or length > _RUN_BYTES:
                    break
                end += 1
            yield numbers[at:end]
            at = end

    def _cells(self, numbers: Sequence[int], contents: Sequence[bytes]) -> Cells:
        try:
            return parse(contents, self._has_mvcc)
        except DamagedBlockError as error:
            offset = self._index[numbers[error.block]].offset
            raise self._file.corrupt(
                f"a cell of the block at {offset} breaks its bounds"
            ) from error

    def _read_trailer(self) -> _Trailer:
        trailer = self._file.fetch(self._file.size - TRAILER_SIZE, TRAILER_SIZE)
        if not trailer.startswith(_TRAILER_MAGIC):
            raise self._file.corrupt("no HFile trailer")
        major = int.from_bytes(trailer[-3:], "big")
        if major != 3:
            raise self._file.corrupt(f"HFile version {major} is not supported (supported: 3)")
        try:
            numbers, _ = protobuf.delimited_fields(trailer, len(_TRAILER_MAGIC))
        except ValueError as error:
            raise self._file.corrupt(f"the trailer cannot be read: {error}") from error

        def number(tag: int, default: int = 0) -> int:
            value = numbers.get(tag, [default])[-1]
            if not isinstance(value, int):
                raise self._file.corrupt(f"field {tag} of the trailer is not a number")
            return value

        found = _Trailer(
            file_info=number(1),
            load_on_open=number(2),
            data_entries=number(5),
            cells=number(7),
            levels=number(8, 1),
            codec=number(12),
            last_block=number(10) if 10 in numbers else None,
        )
        if found.codec not in (GZIP, UNCOMPRESSED):
            raise self._file.corrupt(f"compression {found.codec} is not supported (gzip, none)")
        if not 0 <= found.load_on_open <= found.file_info < self._file.size:
            raise self._file.corrupt("the trailer points outside the file")
        if not 1 <= found.levels <= _MAX_INDEX_LEVELS:
            raise self._file.corrupt(f"{found.levels} index levels")
        return found

    def _read_file_info(self) -> dict[bytes, bytes]:
        block = self._file.block_at(self._trailer.file_info, frozenset({_FILE_INFO}))
        if not block.startswith(_FILE_INFO_MAGIC):
            raise self._file.corrupt("the file info is not a protocol buffer")
        try:
            entries, _ = protobuf.delimited_fields(block, len(_FILE_INFO_MAGIC))
            pairs = [protobuf.fields(entry) for entry in protobuf.messages(entries, 1)]
            return {protobuf.text(pair, 1): protobuf.text(pair, 2) for pair in pairs}
        except ValueError as error:
            raise self._file.corrupt(f"the file info cannot be read: {error}") from error

    def _read_index(self) -> list[_IndexEntry]:
        if not self._trailer.data_entries:
            if self._trailer.cells:
                raise self._file.corrupt(f"{self._trailer.cells} cells and no index")
            return []
        root = self._file.block_at(self._trailer.load_on_open, frozenset({_ROOT_INDEX}))
        entries = self._root_entries(root)
        for _ in range(self._trailer.levels - 1):
            entries = [leaf for entry in entries for leaf in self._inner_entries(entry)]
        for entry in entries:
            if entry.offset < 0 or entry.size < HEADER.size:
                raise self._file.corrupt("the index points outside the file")
            if entry.offset + entry.size > self._trailer.load_on_open:
                raise self._file.corrupt("the index points behind the data blocks")
        last = self._trailer.last_block
        if last is not None and entries and entries[-1].offset != last:
            raise self._file.corrupt("the index does not reach the last data block")
        return entries

    def _root_entries(self, block: bytes) -> list[_IndexEntry]:
        """Parse as many entries of [i64 offset][i32 size][vint length][key] as the trailer says."""
        entries, at = [], 0
        try:
            for _ in range(self._trailer.data_entries):
                offset, size = struct.unpack_from(">qi", block, at)
                length, at = vint(block, at + 12)
                entries.append(self._entry(block[at : at + length], offset, size))
                at += length
                if length < 0 or at > len(block):
                    raise self._file.corrupt("the root index breaks its bounds")
        except (struct.error, IndexError) as error:
            raise self._file.corrupt("the root index ends within an entry") from error
        return entries

    def _inner_entries(self, parent: _IndexEntry) -> list[_IndexEntry]:
        """Parse [i32 n][i32 offsets x (n + 1)], then entries of [i64 offset][i32 size][key]."""
        block = self._file.block_at(parent.offset, frozenset({_LEAF_INDEX, _INNER_INDEX}))
        try:
            (count,) = struct.unpack_from(">i", block)
            if not 0 <= count <= len(block) // 12:
                raise self._file.corrupt(f"an index block with {count} entries")
            starts = struct.unpack_from(f">{count + 1}i", block, 4)
            base, entries = 8 + 4 * count, []
            for start, end in itertools.pairwise(starts):
                offset, size = struct.unpack_from(">qi", block, base + start)
                entries.append(self._entry(block[base + start + 12 : base + end], offset, size))
        except struct.error as error:
            raise self._file.corrupt(f"the index block at {parent.offset} is damaged") from error
        return entries

    def _entry(self, key: bytes, offset: int, size: int) -> _IndexEntry:
        row_length = int.from_bytes(key[:2], "big")
        if len(key) < 2 + row_length:
            raise self._file.corrupt("an index key breaks its bounds")
        return _IndexEntry(key[2 : 2 + row_length], offset, size)


def _is_ambiguous(key: bytes) -> bool:
    return bool(key) and max(key) >= _FIRST_AMBIGUOUS_BYTE


def _without_covered(prefixes: Sequence[bytes]) -> list[bytes]:
    """Return the prefixes sorted, without those that begin with another one of them."""
    kept: list[bytes] = []
    for prefix in sorted(set(prefixes)):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return kept
