"""What is known of one base file, and a cache of such files up to a limit of memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pyarrow as pa

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds, Domain
from pyhudi_expr.index.rows.page_bounds import Pages
from pyhudi_expr.index.statistics.column_bounds import bounds_bytes
from pyhudi_expr.index.statistics.parquet_footers import NULLS, UNKNOWN, as_bounds, chunk_ranges
from pyhudi_expr.index.statistics.stored_bounds import FooterColumns, StoredColumn
from pyhudi_expr.tables.parquet.footer import ParquetFooter
from pyhudi_expr.tables.parquet.value_sets import BloomHeader

#: A column chunk: the row group, and the position of the column in it.
Chunk = tuple[int, int]


@dataclass(frozen=True, eq=False)
class KnownFile:
    """A base file. Thread safe: what was read once is only added.

    Attributes:
        path: Relative to the table's base path.
        footer: Its footer.
        pages: The pages of column chunks in the form of a domain; None: not trusted.
        bloom_filters: The headers of the chunks' Bloom filters; None: not usable.
        filter_blocks: Blocks of these, by their number.
        dictionaries: The decompressed dictionaries of chunks; None: not usable.
        former: Columns by today's names, as they were named when the file was written; None:
            nothing is known of them. Others have kept their names.
    """

    path: str
    footer: ParquetFooter
    pages: dict[tuple[Chunk, Domain], Pages | None] = field(default_factory=dict)
    bloom_filters: dict[Chunk, BloomHeader | None] = field(default_factory=dict)
    filter_blocks: dict[tuple[Chunk, int], bytes] = field(default_factory=dict)
    dictionaries: dict[Chunk, bytes | None] = field(default_factory=dict)
    former: Mapping[str, BoundColumn | None] = field(default_factory=dict)
    _columns: dict[BoundColumn, StoredColumn | None] = field(default_factory=dict)
    _bounds: dict[StoredColumn, Bounds] = field(default_factory=dict)
    _arrow: list[FooterColumns | None] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def key(self) -> tuple[str, int]:
        """The path and the size, by which the file is cached."""
        return self.path, self.footer.size

    @property
    def nbytes(self) -> int:
        """Memory in bytes (estimated)."""
        pages = sum(found.nbytes for found in list(self.pages.values()) if found is not None)
        bounds = sum(bounds_bytes(found) for found in list(self._bounds.values()))
        blocks = sum(map(len, list(self.filter_blocks.values())))
        values = sum(len(found) for found in list(self.dictionaries.values()) if found is not None)
        return self.footer.nbytes + pages + bounds + blocks + values

    def column(self, column: BoundColumn) -> StoredColumn | None:
        """Return a column whose bounds are trusted; None if there is none."""
        then = self.former.get(column.name, column)
        if then is None:
            return None
        if then not in self._columns:
            self._columns[then] = self._stored(then)
        return self._columns[then]

    def with_names(self, former: Mapping[str, BoundColumn | None]) -> KnownFile:
        """Return the file with the names that columns had; it shares what is read of it."""
        return replace(self, former=former)

    def group_bounds(self, column: BoundColumn) -> Bounds:
        """Return the bounds of the row groups; arrays."""
        stored, footer = self.column(column), self.footer.metadata
        if stored is None:
            missing = NULLS if self._lacks(column) else UNKNOWN
            return as_bounds([missing] * footer.num_row_groups, column.domain)
        known = self._bounds.get(stored)
        if known is None:
            known = self._bounds[stored] = self._group_bounds(stored, column.domain)
        return known

    def _lacks(self, column: BoundColumn) -> bool:
        """Return whether readers show NULL in all rows, as there is no such column."""
        then, columns = self.former.get(column.name, column), self._arrow_columns()
        if then is None or columns is None:
            return False
        return then.null_if_absent and columns.lack(then.name)

    def _group_bounds(self, stored: StoredColumn, domain: Domain) -> Bounds:
        footer = self.footer.metadata
        groups = range(footer.num_row_groups)
        chunks = [footer.row_group(group).column(stored.position) for group in groups]
        return as_bounds(chunk_ranges(chunks, stored), domain)

    def _stored(self, column: BoundColumn) -> StoredColumn | None:
        found = None
        with suppress(ValueError, pa.ArrowException):  # if the file does not have the column, say
            columns = self._arrow_columns()
            if columns is not None:
                found = StoredColumn.of(self.footer.metadata, columns, column)
        return found

    def _arrow_columns(self) -> FooterColumns | None:
        with self._lock:
            if not self._arrow:
                columns = None
                with suppress(ValueError, pa.ArrowException):
                    columns = FooterColumns.of(self.footer.metadata)
                self._arrow.append(columns)
            return self._arrow[0]


_Key = tuple[str, str, int]


class FileCache:
    """Files by their table, path and size. Thread safe.

    Hudi writes another file under another name. If one of the same path and size had another
    content, its reader would see that by the digest of its footer.
    """

    def __init__(self, limit: int) -> None:
        """Create an empty cache of so many bytes."""
        self._limit = limit
        self._lock = threading.Lock()
        self._files: OrderedDict[_Key, tuple[KnownFile, int]] = OrderedDict()
        self._held = 0

    @property
    def nbytes(self) -> int:
        """Memory of the files in bytes (estimated)."""
        return self._held

    def get(self, table: str, path: str, size: int) -> KnownFile | None:
        """Return a file; None if it is not kept."""
        key = table, path, size
        with self._lock:
            known = self._files.get(key)
            if known is None:
                return None
            self._files.move_to_end(key)
            return known[0]

    def keep(self, table: str, file: KnownFile) -> None:
        """Keep a file, with what was read of it so far; the least recently used ones go."""
        key, size = (table, *file.key), file.nbytes
        with self._lock:
            _, before = self._files.pop(key, (file, 0))
            self._files[key] = file, size
            self._held += size - before
            while self._held > self._limit and self._files:
                _, (_, freed) = self._files.popitem(last=False)
                self._held -= freed
