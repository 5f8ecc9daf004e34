"""Read footers and page indexes of base files: a request for each file, all files at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyhudi_expr.arrays import DAMAGE_ERRORS
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.index.rows.known_file import Chunk, FileCache, KnownFile
from pyhudi_expr.index.rows.page_bounds import Pages, are_pages_believed, read_pages
from pyhudi_expr.index.statistics.stored_bounds import StoredColumn
from pyhudi_expr.tables.parquet.compact_protocol import NotParquetError
from pyhudi_expr.tables.parquet.footer import Range, read_footer, read_ranges
from pyhudi_expr.tables.parquet.value_sets import (
    BLOCK_BYTES,
    HEADER_BYTES,
    MOST_BYTES,
    BloomHeader,
    read_dictionary,
)
from pyhudi_expr.tables.storage import Storage

#: A dictionary of so many bytes takes about as long to read as its header.
_SMALL_BYTES = 64 * 1024
#: A larger one is read only if it is at most one in so many bytes of what it may skip.
_DICTIONARY_SHARE = 16
#: A block of a Bloom filter, by the filter's column chunk and the block's number.
Block = tuple[Chunk, int]

UNREADABLE = (HudiError, *DAMAGE_ERRORS)
"""What reading a file raises; the query that reads it will report what is wrong with it."""


@dataclass(frozen=True)
class _MissingPages:
    """The indexes of a column's pages in one row group, to be read."""

    group: int
    column: StoredColumn
    column_index: Range
    offset_index: Range


@dataclass(frozen=True, eq=False)
class FileReader:
    """Reads what is known of files, until a point in time.

    Attributes:
        storage: The table's storage.
        cache: Files that were read before.
        deadline: When reading ends, by `time.monotonic`; what was not read is not known.
    """

    storage: Storage
    cache: FileCache
    deadline: float
    _late: list[str] = field(default_factory=list)

    @property
    def is_late(self) -> bool:
        """Whether something was not read, as the time was over."""
        return bool(self._late)

    def files(self, wanted: Sequence[tuple[str, int]]) -> list[KnownFile | None]:
        """Return files by their paths and sizes; None for those that cannot be evaluated."""
        table = self.storage.uri
        found = [self.cache.get(table, path, size) for path, size in wanted]
        missing = [key for key, known in zip(wanted, found, strict=True) if known is None]
        read = iter(self.storage.at_once(self._file, missing))
        return [next(read) if known is None else known for known in found]

    def read_pages(
        self, wanted: Sequence[tuple[KnownFile, Sequence[int]]], columns: Sequence[BoundColumn]
    ) -> None:
        """Read the page indexes of columns in some row groups of files, into the files."""
        missing = [
            (file, needed)
            for file, groups in wanted
            if (needed := list(_missing_pages(file, groups, columns)))
        ]
        self.storage.at_once(self._read_pages, missing)

    def read_filters(self, wanted: Sequence[tuple[KnownFile, Sequence[Chunk]]]) -> None:
        """Read the headers of Bloom filters, and the dictionaries of column chunks without one."""
        missing = [
            (file, needed)
            for file, chunks in wanted
            if (
                needed := [
                    chunk
                    for chunk in dict.fromkeys(chunks)
                    if chunk not in file.bloom_filters or chunk not in file.dictionaries
                ]
            )
        ]
        self.storage.at_once(self._read_filters, missing)

    def read_blocks(self, wanted: Sequence[tuple[KnownFile, Sequence[Block]]]) -> None:
        """Read blocks of Bloom filters."""
        missing = [
            (file, needed)
            for file, blocks in wanted
            if (needed := [block for block in blocks if block not in file.filter_blocks])
        ]
        self.storage.at_once(self._read_blocks, missing)

    def _is_time_over(self, path: str) -> bool:
        if time.monotonic() < self.deadline:
            return False
        self._late.append(path)
        return True

    def _file(self, key: tuple[str, int]) -> KnownFile | None:
        path, size = key
        if self._is_time_over(path):
            return None
        try:
            file = KnownFile(path, read_footer(self.storage.open_ranges(path, size), size))
        except UNREADABLE:
            return None
        self.cache.keep(self.storage.uri, file)
        return file

    def _read_pages(self, wanted: tuple[KnownFile, Sequence[_MissingPages]]) -> None:
        file, missing = wanted
        found = self._read(
            file, [range_ for one in missing for range_ in (one.column_index, one.offset_index)]
        )
        if found is None:
            return
        for one in missing:
            key = (one.group, one.column.position), one.column.domain
            file.pages[key] = _decoded(file, one, found[one.column_index], found[one.offset_index])
        self.cache.keep(self.storage.uri, file)

    def _read_filters(self, wanted: tuple[KnownFile, Sequence[Chunk]]) -> None:
        file, chunks = wanted
        places = {chunk: file.footer.places(*chunk) for chunk in chunks}
        filters = {
            chunk: (place.bloom_filter, HEADER_BYTES)
            for chunk, place in places.items()
            if place is not None and place.bloom_filter is not None
        }
        # A writer that made a filter found too many distinct values for a dictionary.
        dictionaries = {
            chunk: place.dictionary
            for chunk, place in places.items()
            if place is not None
            and place.dictionary is not None
            and chunk not in filters
            and place.dictionary[1] <= _most_bytes(int(file.footer.group_bytes[chunk[0]]))
        }
        found = self._read(file, [*filters.values(), *dictionaries.values()])
        if found is None:
            return
        for chunk in chunks:
            place = places[chunk]
            header = filters.get(chunk)
            values = dictionaries.get(chunk)
            file.bloom_filters[chunk] = header and _header(found[header], header[0])
            file.dictionaries[chunk] = (
                None if values is None or place is None else _dictionary(found[values], place.codec)
            )
        self.cache.keep(self.storage.uri, file)

    def _read_blocks(self, wanted: tuple[KnownFile, Sequence[Block]]) -> None:
        file, blocks = wanted
        headers = [(block, file.bloom_filters[block[0]]) for block in blocks]
        ranges = {
            block: (header.offset + BLOCK_BYTES * block[1], BLOCK_BYTES)
            for block, header in headers
            if header is not None
        }
        found = self._read(file, list(ranges.values()))
        if found is None:
            return
        for block, range_ in ranges.items():
            if len(found[range_]) == BLOCK_BYTES:
                file.filter_blocks[block] = found[range_]
        self.cache.keep(self.storage.uri, file)

    def _read(self, file: KnownFile, ranges: Sequence[Range]) -> Mapping[Range, bytes] | None:
        """Return bytes of a file; None if they cannot be read, or the time is over."""
        if self._is_time_over(file.path):
            return None
        try:
            size = file.footer.size
            within = [range_ for range_ in ranges if range_[0] < size]
            found = read_ranges(self.storage.open_ranges(file.path, size), within)
        except UNREADABLE:
            return None
        return {range_: found.get(range_, b"") for range_ in ranges}


def _most_bytes(of_group: int) -> int:
    """Return how large a dictionary may be to be read, to skip a row group of so many bytes."""
    return min(MOST_BYTES, max(_SMALL_BYTES, of_group // _DICTIONARY_SHARE))


def _header(data: bytes, offset: int) -> BloomHeader | None:
    try:
        return BloomHeader.read(data, offset)
    except NotParquetError:
        return None


def _dictionary(data: bytes, codec: int) -> bytes | None:
    try:
        return read_dictionary(data, codec)
    except NotParquetError:
        return None


def _missing_pages(
    file: KnownFile, groups: Sequence[int], columns: Sequence[BoundColumn]
) -> Iterator[_MissingPages]:
    for column in columns:
        stored = file.column(column)
        if stored is None:
            continue
        for group in groups:
            if ((group, stored.position), stored.domain) in file.pages:
                continue
            places = file.footer.places(group, stored.position)
            if places is None or places.column_index is None or places.offset_index is None:
                continue
            if are_pages_believed(file.footer, group, stored):
                yield _MissingPages(group, stored, places.column_index, places.offset_index)


def _decoded(
    file: KnownFile, wanted: _MissingPages, column_index: bytes, offset_index: bytes
) -> Pages | None:
    try:
        return read_pages(file.footer, wanted.group, wanted.column, column_index, offset_index)
    except (NotParquetError, ValueError, OverflowError):
        return None
