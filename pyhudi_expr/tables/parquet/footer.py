"""A file's footer: its metadata as pyarrow shows them, and the places that it does not show."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.tables.parquet.compact_protocol import Fields, NotParquetError, read_struct
from pyhudi_expr.tables.storage.entries import ManyRanges, RandomAccess

if TYPE_CHECKING:
    import pyarrow.parquet as pq


#: Reading so many bytes too many takes less than another request.
_GAP_BYTES = 64 * 1024
#: An offset and a length.
Range = tuple[int, int]


def read_ranges(file: RandomAccess, wanted: Iterable[Range]) -> Mapping[Range, bytes]:
    """Return the bytes of ranges; near ones are read together.

    A range that the file does not have whole is cut off or empty.

    Raises:
        OSError, ArrowException: They cannot be read.
    """
    ranges = sorted(set(wanted))
    joined: list[Range] = []
    for offset, length in ranges:
        if joined and offset <= sum(joined[-1]) + _GAP_BYTES:
            start = joined[-1][0]
            joined[-1] = start, max(sum(joined[-1]), offset + length) - start
        else:
            joined.append((offset, length))
    if not joined:
        return {}
    if isinstance(file, ManyRanges):
        parts = file.read_ranges(joined)
    else:
        parts = [file.read_at(length, offset) for offset, length in joined]
    found, at = {}, 0
    for offset, length in ranges:
        while offset >= sum(joined[at]):
            at += 1
        start = offset - joined[at][0]
        found[offset, length] = parts[at][start : start + length]
    return found


MAGIC = b"PAR1"
#: What is read first of a file: most footers, with the page indexes of small files.
TAIL_BYTES = 64 * 1024
_LENGTH_BYTES = 8
_MOST_FOOTER_BYTES = 64 << 20
#: What fields of another type than the format's raise.
_NOT_AS_EXPECTED = (KeyError, TypeError, AttributeError, IndexError, OverflowError)

#: Fields of FileMetaData, RowGroup, ColumnChunk, ColumnMetaData and PageEncodingStats.
_ROW_GROUPS, _COLUMN_ORDERS = 4, 7
_COLUMNS, _GROUP_ROWS = 1, 3
_FILE_PATH, _META_DATA = 1, 3
_OFFSET_INDEX, _COLUMN_INDEX, _CRYPTO, _ENCRYPTED = (4, 5), (6, 7), 8, 9
_TYPE, _CODEC, _VALUES, _COMPRESSED = 1, 4, 5, 7
_DATA_PAGE, _DICTIONARY_PAGE, _ENCODINGS = 9, 11, 13
_STATISTICS, _BLOOM_FILTER, _SIZES = 12, 14, 16
#: Bounds in Statistics, the former ones first.
_BOUNDS = (1, 2, 5, 6)
#: SizeStatistics.
_TEXT_BYTES, _REPETITIONS, _DEFINITIONS = 1, 2, 3
_PAGE_TYPE, _ENCODING = 1, 2
#: ColumnOrder: the order of the column's type.
_TYPE_ORDER = 1
_TYPES = (
    *("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE"),
    *("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
)
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_DATA_PAGES = frozenset({0, 3})
_DICTIONARY_ENCODINGS = frozenset({2, 8})


@dataclass(frozen=True)
class ChunkPlaces:
    """Where the parts of a column chunk are in its file.

    Attributes:
        chunk: Its first byte, and the first one behind it.
        values: Its values, nulls included.
        column_index: The offset and length of the index of its pages' statistics.
        offset_index: The same of their locations.
        dictionary: The offset and length of its dictionary page, if all its data pages are encoded
            by it.
        codec: The number of its compression.
        bloom_filter: The offset of its Bloom filter.
    """

    chunk: tuple[int, int]
    values: int
    column_index: tuple[int, int] | None
    offset_index: tuple[int, int] | None
    dictionary: tuple[int, int] | None
    codec: int
    bloom_filter: int | None


@dataclass(frozen=True, eq=False)
class ParquetFooter:
    """The footer of one file.

    Attributes:
        size: The file's length in bytes.
        digest: The SHA-256 of its metadata (FileMetaData), as they are stored.
        metadata: As pyarrow shows them.
        group_rows: The rows of each row group.
        group_offsets: The byte at which each begins.
        group_bytes: Its compressed size.
        is_alone: Whether all its columns are in this file.
        has_type_order: For each column whether bounds are by the order of its type.
        _groups: The row groups as stored.
    """

    size: int
    digest: bytes
    metadata: pq.FileMetaData
    group_rows: Int64Array
    group_offsets: Int64Array
    group_bytes: Int64Array
    is_alone: bool
    has_type_order: Sequence[bool]
    nbytes: int
    _groups: Sequence[Sequence[Fields]]

    @property
    def num_rows(self) -> int:
        """Rows of the file."""
        return int(self.group_rows.sum())

    def places(self, group: int, column: int) -> ChunkPlaces | None:
        """Return the places of a column chunk; None if it is not in this file."""
        chunk = self._groups[group][column]
        if _FILE_PATH in chunk:
            return None
        try:
            return self._places(chunk)
        except _NOT_AS_EXPECTED:
            return None

    def _places(self, chunk: Fields) -> ChunkPlaces:
        known: Fields = chunk[_META_DATA]
        start = _start(known)
        return ChunkPlaces(
            (start, start + known[_COMPRESSED]),
            known[_VALUES],
            self._range(chunk, *_COLUMN_INDEX),
            self._range(chunk, *_OFFSET_INDEX),
            _dictionary(known) if _is_dictionary_encoded(known) else None,
            known[_CODEC],
            known.get(_BLOOM_FILTER),
        )

    def _range(self, chunk: Fields, offset: int, length: int) -> tuple[int, int] | None:
        found = chunk.get(offset), chunk.get(length)
        if not all(isinstance(number, int) and number > 0 for number in found):
            return None
        return found if sum(found) <= self.size else None  # type: ignore[arg-type, return-value]


def read_footer(file: RandomAccess, size: int) -> ParquetFooter:
    """Read the footer of a file of so many bytes; one read if it is not large.

    Raises:
        NotParquetError: It is no Parquet file, or its metadata are encrypted.
        OSError, ArrowException: It cannot be read.
    """
    tail = file.read_at(min(size, TAIL_BYTES), max(size - TAIL_BYTES, 0))
    if len(tail) < min(size, TAIL_BYTES) or tail[-4:] != MAGIC or len(tail) < _LENGTH_BYTES:
        raise NotParquetError("the file does not end as a Parquet file of its size does")
    length = int.from_bytes(tail[-_LENGTH_BYTES:-4], "little")
    if length > min(size - _LENGTH_BYTES, _MOST_FOOTER_BYTES):
        raise NotParquetError("the file's footer is longer than the file")
    if length + _LENGTH_BYTES > len(tail):
        tail = file.read_at(length + _LENGTH_BYTES, size - length - _LENGTH_BYTES)
    return parse_footer(tail[-length - _LENGTH_BYTES : -_LENGTH_BYTES], size)


def parse_footer(content: bytes, size: int) -> ParquetFooter:
    """Parse the metadata of a file of so many bytes, see `read_footer`."""
    import pyarrow.parquet as pq  # on use: most requests read no footer

    fields, _ = read_struct(content)
    ending = len(content).to_bytes(4, "little") + MAGIC
    metadata = pq.read_metadata(pa.BufferReader(MAGIC + content + ending))
    try:
        return _footer(fields, metadata, content, size)
    except _NOT_AS_EXPECTED as error:
        raise NotParquetError(f"the file's metadata lack a field: {error!r}") from error


def _footer(fields: Fields, metadata: pq.FileMetaData, content: bytes, size: int) -> ParquetFooter:
    stored = fields[_ROW_GROUPS]
    groups = [group[_COLUMNS] for group in stored]
    if len(groups) != metadata.num_row_groups or any(
        len(chunks) != metadata.num_columns for chunks in groups
    ):
        raise NotParquetError("the file's row groups lack columns")
    _check_chunks(groups, metadata)
    orders = fields.get(_COLUMN_ORDERS) or [{}] * metadata.num_columns
    sizes = [[chunk[_META_DATA][_COMPRESSED] for chunk in chunks] for chunks in groups]
    return ParquetFooter(
        size=size,
        digest=hashlib.sha256(content).digest(),
        metadata=metadata,
        group_rows=np.array([group[_GROUP_ROWS] for group in stored], np.int64),
        group_offsets=np.array([_start(chunks[0][_META_DATA]) for chunks in groups], np.int64),
        group_bytes=np.array([sum(of_group) for of_group in sizes], np.int64),
        is_alone=not any(_FILE_PATH in chunk for chunks in groups for chunk in chunks),
        has_type_order=[_TYPE_ORDER in order for order in orders],
        nbytes=_MEMORY * len(content),
        _groups=groups,
    )


def _check_chunks(groups: Sequence[Sequence[Fields]], metadata: pq.FileMetaData) -> None:
    """Refuse chunks for which pyarrow ends the process.

    These are encrypted ones, and those of another type than their column's.
    """
    if any(_CRYPTO in chunk or _ENCRYPTED in chunk for chunks in groups for chunk in chunks):
        raise NotParquetError("columns of the file are encrypted")
    for position in range(metadata.num_columns):
        leaf = metadata.schema.column(position)
        type_ = _TYPES.index(leaf.physical_type)
        levels = {0, leaf.max_repetition_level + 1}, {0, leaf.max_definition_level + 1}
        for chunks in groups:
            known = chunks[position][_META_DATA]
            sizes = known.get(_SIZES, {})
            lengths = len(sizes.get(_REPETITIONS, ())), len(sizes.get(_DEFINITIONS, ()))
            of_bytes = _TEXT_BYTES not in sizes or leaf.physical_type == "BYTE_ARRAY"
            has_levels = all(n in allowed for n, allowed in zip(lengths, levels, strict=True))
            bounds = [known.get(_STATISTICS, {}).get(bound) for bound in _BOUNDS]
            width = _WIDTHS.get(leaf.physical_type, leaf.length or 0)
            is_whole = leaf.physical_type == "BYTE_ARRAY" or all(
                bound is None or len(bound) == width for bound in bounds
            )
            if known[_TYPE] != type_ or not (of_bytes and has_levels and is_whole):
                raise NotParquetError(f"a chunk of column {leaf.path} is of another type")


#: Python's objects for a byte of metadata, with pyarrow's.
_MEMORY = 12


def _start(known: Mapping[int, Any]) -> int:
    """Return the first byte of a column chunk: its dictionary, or its first data page."""
    data, dictionary = known[_DATA_PAGE], known.get(_DICTIONARY_PAGE)
    return min(data, dictionary) if dictionary else data  # some writers write 0 for none


def _dictionary(known: Fields) -> tuple[int, int] | None:
    """Return the offset and length of the dictionary, which is before the first data page."""
    offset, end = known.get(_DICTIONARY_PAGE), known[_DATA_PAGE]
    return (offset, end - offset) if offset and offset < end else None


def _is_dictionary_encoded(known: Fields) -> bool:
    """Return whether each data page is encoded by the dictionary, by what the chunk counts."""
    pages = [one for one in known.get(_ENCODINGS, ()) if one.get(_PAGE_TYPE) in _DATA_PAGES]
    return bool(pages) and all(one.get(_ENCODING) in _DICTIONARY_ENCODINGS for one in pages)
