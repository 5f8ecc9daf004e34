"""Read HFile version 3, the format of the metadata table's base files and log blocks.

A file is data blocks, a tree of index blocks over them, the file info and a 4,096-byte trailer
(HBase reference guide, "HFile format"; Hudi's `hudi-io` writes the same with one index level). Only
the blocks that a look-up needs are read. Everything that can be wrong in a damaged file is checked,
and raises CorruptFile.

After a commit the same blocks of a base file are asked for again, for the keys of one commit more.
To read and to uncompress them takes longer than all else that such a look-up does.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from pyhudi_expr.arrays import Int64Array, runs
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.hfile import protobuf
from pyhudi_expr.tables.mdt.hfile.blocks import (
    GZIP,
    HEADER,
    UNCOMPRESSED,
    BlockIndex,
    BlockReader,
    DamagedIndexError,
    concat_indexes,
    inner_index,
    root_index,
)
from pyhudi_expr.tables.mdt.hfile.cells import Cells, DamagedBlockError, concat_cells, parse
from pyhudi_expr.tables.storage import RandomAccess

#: Numbers of data blocks, and the cells of these blocks.
Chunk: TypeAlias = tuple[Int64Array, Cells]


class RecentCells:
    """Chunks by look-up, those used last, up to a limit of bytes. It is thread safe."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes: Final = most_bytes
        self._held: OrderedDict[Hashable, tuple[Chunk, ...]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def num_bytes(self) -> int:
        """Size of all chunks that are held."""
        return self._bytes

    def get(self, lookup: Hashable) -> tuple[Chunk, ...] | None:
        """Return the chunks of a look-up; None if they are not held (any more)."""
        with self._lock:
            found = self._held.get(lookup)
            if found is not None:
                self._held.move_to_end(lookup)
            return found

    def put(self, lookup: Hashable, chunks: tuple[Chunk, ...]) -> None:
        """Hold the chunks of a look-up, instead of those that were used longest ago."""
        with self._lock:
            self._bytes += _size(chunks) - _size(self._held.pop(lookup, ()))
            self._held[lookup] = chunks
            while self._bytes > self._most_bytes:
                self._bytes -= _size(self._held.popitem(last=False)[1])


def _size(chunks: tuple[Chunk, ...]) -> int:
    return sum(cells.num_bytes for _, cells in chunks)


@dataclass(frozen=True)
class PrefixScan:
    """`HFile.prefix_scan`."""

    prefixes: tuple[bytes, ...]

    def __call__(self, hfile: HFile) -> Iterator[Cells]:
        """Return the pieces of the result."""
        return hfile.prefix_scan(self.prefixes)


@dataclass(frozen=True)
class KeyLookup:
    """`HFile.lookup` of keys (sorted), as a scan of one piece."""

    keys: ByteStrings

    def __call__(self, hfile: HFile) -> Iterator[Cells]:
        """Return the result."""
        yield hfile.lookup(self.keys.to_list())


TRAILER_SIZE = 4096
_RUN_BYTES = 2 * 1024 * 1024
#: Uncompressed bytes of cells that are returned together.
_CHUNK_BYTES = 2 * 1024 * 1024
_MAX_INDEX_LEVELS = 8
#: glibc takes memory of more than this from the kernel, and gives it back, each time; at first
#: that is 128 KB, then as much as was ever freed at once. So pieces of a few megabytes are reused.
_REUSED_BYTES = 8 * 1024 * 1024
np.empty(_REUSED_BYTES, np.uint8)

#: A look-up in more bytes, compressed, is one of many keys, and rarely comes again.
_FEW_BYTES = 1024 * 1024
_RECENT = RecentCells(16 * 1024 * 1024)

_TRAILER_MAGIC = b'TRABLK"$'
_DATA_MAGICS = frozenset({b"DATABLK*", b"DATABLKE"})
_ROOT_INDEX, _LEAF_INDEX, _INNER_INDEX = b"IDXROOT2", b"IDXLEAF2", b"IDXINTE2"
_FILE_INFO = b"FILEINF2"
_FILE_INFO_MAGIC = b"PBUF"

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
        self._index = self._read_index()
        self._identity = object()

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
        for _, cells in self._chunks(np.arange(len(self._index))):
            count += len(cells)
            yield cells
        if count != self.num_cells:
            raise self._file.corrupt(f"holds {count} cells, not {self.num_cells} as it claims")

    def lookup(self, keys: Sequence[bytes]) -> Cells:
        """Return the cells of those keys that the file has, sorted by key."""
        requested = sorted(set(keys))
        if _are_ambiguous(requested):
            return self._filter_all(frozenset(requested).__contains__)
        # The last block whose first row is not greater: a key is less than itself and a zero byte.
        behind = ByteStrings.of([key + b"\0" for key in requested])
        block_of = self._index.first_rows.lower_bound(behind) - 1
        wanted = ByteStrings.of(requested)
        found = []
        for blocks, cells in self._recent_chunks(_distinct(block_of[block_of >= 0])):
            first = np.searchsorted(block_of, blocks[0], "left")
            end = np.searchsorted(block_of, blocks[-1], "right")
            positions = cells.key_strings.search(wanted.take(slice(first, end)))
            # Without the other cells of the blocks, or all of them would be concatenated.
            found.append(cells.take(positions[positions >= 0]).packed())
        return concat_cells(found)

    def prefix(self, prefixes: Sequence[bytes]) -> Cells:
        """Return the cells whose keys begin with one of the prefixes, each once, in order."""
        return concat_cells([cells.packed() for cells in self.prefix_scan(prefixes)])

    def prefix_scan(self, prefixes: Sequence[bytes]) -> Iterator[Cells]:
        """Read the cells of `prefix` some megabytes at a time."""
        requested = _without_covered(prefixes)
        if _are_ambiguous(requested):
            chosen = tuple(requested)
            yield self._filter_all(lambda key: key.startswith(chosen))
            return
        start, end = self._blocks_of(requested)
        for blocks, cells in self._recent_chunks(_distinct(runs(start, end - start))):
            first = np.searchsorted(end, blocks[0], "right")
            last = np.searchsorted(start, blocks[-1], "right")
            yield cells.with_prefixes(requested[first:last])

    def prefix_bytes(self, prefixes: Sequence[bytes]) -> int:
        """Return the size of the blocks that `prefix_scan` reads, which the index tells."""
        requested = _without_covered(prefixes)
        if _are_ambiguous(requested):
            return int(self._index.size.sum())
        start, end = self._blocks_of(requested)
        return int(self._index.size[np.unique(runs(start, end - start))].sum())

    def _blocks_of(self, prefixes: Sequence[bytes]) -> tuple[Int64Array, Int64Array]:
        """Return the first block that may hold keys of each prefix, and the one behind the last.

        No prefix begins with another one, and they are sorted, so both ascend.
        """
        start, end = self._index.first_rows.prefix_bounds(prefixes)
        # Cells with the prefix can begin in the block before the first row that is not less.
        return np.maximum(start - 1, 0), end

    def _filter_all(self, chosen: Callable[[bytes], bool]) -> Cells:
        return concat_cells(
            [cells.take(np.array(list(map(chosen, cells.keys)), np.bool_)) for cells in self.scan()]
        )

    def _recent_chunks(self, numbers: Int64Array) -> Iterable[Chunk]:
        """Return the chunks of few blocks as they were read last, if they are still held."""
        # Look-ups without a block take no bytes, so that no limit would ever end what is held.
        if not 0 < int(self._index.size[numbers].sum()) <= _FEW_BYTES:
            return self._chunks(numbers)
        lookup = self._identity, numbers.tobytes()
        found = _RECENT.get(lookup)
        if found is None:
            found = tuple(self._chunks(numbers))
            _RECENT.put(lookup, found)
        return found

    def _chunks(self, numbers: Int64Array) -> Iterator[Chunk]:
        """Read data blocks by ascending numbers; return some at a time with their cells."""
        contents: list[bytes] = []
        start = size = 0
        for number, content in enumerate(self._blocks(numbers), 1):
            contents.append(content)
            size += len(content)
            if size >= _CHUNK_BYTES or number == len(numbers):
                chunk = numbers[start:number]
                yield chunk, self._cells(chunk, contents)
                contents, start, size = [], number, 0

    def _blocks(self, numbers: Int64Array) -> Iterator[bytes]:
        """Return the uncompressed contents of data blocks; neighbours are read together."""
        offsets, sizes = self._index.offset[numbers].tolist(), self._index.size[numbers].tolist()
        chosen = list(_neighbours(offsets, sizes))
        ranges = [(offsets[run.start], sum(sizes[run])) for run in chosen]
        for run, fetched in zip(chosen, self._file.fetch_many(ranges), strict=True):
            if run.stop - run.start == 1:
                yield self._file.open_block(fetched, offsets[run.start], _DATA_MAGICS)
                continue
            content, start = memoryview(fetched), 0
            for offset, size in zip(offsets[run], sizes[run], strict=True):
                yield self._file.open_block(content[start : start + size], offset, _DATA_MAGICS)
                start += size

    def _cells(self, numbers: Int64Array, contents: Sequence[bytes]) -> Cells:
        try:
            return parse(contents)
        except DamagedBlockError as error:
            offset = self._index.offset[numbers[error.block]]
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

    def _read_index(self) -> BlockIndex:
        if not self._trailer.data_entries:
            if self._trailer.cells:
                raise self._file.corrupt(f"{self._trailer.cells} cells and no index")
            return concat_indexes([])
        root = self._file.block_at(self._trailer.load_on_open, frozenset({_ROOT_INDEX}))
        try:
            index = root_index(root, self._trailer.data_entries)
            for _ in range(self._trailer.levels - 1):
                parts = [inner_index(self._inner(at)) for at in index.offset.tolist()]
                index = concat_indexes(parts)
        except DamagedIndexError as error:
            raise self._file.corrupt("an entry of the index breaks its bounds") from error
        if np.any((index.offset < 0) | (index.size < HEADER.size)):
            raise self._file.corrupt("the index points outside the file")
        if np.any(index.offset > self._trailer.load_on_open - index.size):
            raise self._file.corrupt("the index points behind the data blocks")
        last = self._trailer.last_block
        if last is not None and len(index) and index.offset[-1] != last:
            raise self._file.corrupt("the index does not reach the last data block")
        return index

    def _inner(self, offset: int) -> bytes:
        return self._file.block_at(offset, frozenset({_LEAF_INDEX, _INNER_INDEX}))


def _neighbours(offsets: Sequence[int], sizes: Sequence[int]) -> Iterator[slice]:
    """Return the slices of ascending blocks that follow one another in the file."""
    start = length = 0
    for at in range(1, len(offsets) + 1):
        length += sizes[at - 1]
        is_last = at == len(offsets)
        if (
            is_last
            or offsets[at] != offsets[at - 1] + sizes[at - 1]
            or length + sizes[at] > _RUN_BYTES
        ):
            yield slice(start, at)
            start, length = at, 0


def _distinct(ascending: Int64Array) -> Int64Array:
    """Return each number once, as numpy's `unique` does for numbers in any order."""
    differs = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=differs[1:])
    return ascending[differs]


def _are_ambiguous(keys: Sequence[bytes]) -> bool:
    return max(b"".join(keys), default=0) >= _FIRST_AMBIGUOUS_BYTE


def _without_covered(prefixes: Sequence[bytes]) -> list[bytes]:
    """Return the prefixes sorted, without those that begin with another one of them."""
    kept: list[bytes] = []
    for prefix in sorted(set(prefixes)):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return kept
