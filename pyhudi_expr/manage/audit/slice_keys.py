"""The keys and values of slices' rows as 64-bit hashes, to compare with indexes of rows.

Hashes take 8 bytes for each row whatever its key. Two keys with the same hash could hide a fault;
they never make one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int32Array, Int64Array, value_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Kind
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.audit.column_facts import point_bounds
from pyhudi_expr.manage.audit.findings import Fault
from pyhudi_expr.rows.key_columns import KeyColumns
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.generators import JavaText
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import Hashes, hashes
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.slices.slice_files import FileSlice, file_slices
from pyhudi_expr.tables.slices.slice_rows import SliceReader

Spelling: TypeAlias = Callable[[AnyArray, BoundColumn], AnyArray]
_THREADS = 4
_LARGE = pa.large_binary()
_NULL = b"\0"


@dataclass(frozen=True)
class SliceNames:
    """Slices by number."""

    slices: Sequence[FileSlice]

    @staticmethod
    def of(listing: FileListing) -> SliceNames:
        """Return the slices of a listing, in the order of `slice_files.file_slices`."""
        return SliceNames(list(file_slices(listing)))

    def __len__(self) -> int:
        return len(self.slices)

    @computed_once
    def numbers(self) -> Mapping[tuple[str, str], int]:
        """The number of each file group (partition path, file id)."""
        return {(one.partition, one.file_id): at for at, one in enumerate(self.slices)}

    def numbers_of(self, listing: FileListing) -> Int64Array:
        """Return the number of each slice of a listing, in its order."""
        partitions = listing.partitions.take(listing.slice_partition).to_pylist()
        groups = zip(partitions, listing.slice_file_id.to_pylist(), strict=True)
        return np.array([self.numbers[str(path), str(one)] for path, one in groups], np.int64)

    def path(self, number: int) -> str:
        """Return a slice's base file, or its first log file, from the table's base path."""
        one = self.slices[number]
        return one.path(one.base or one.logs[0])


@dataclass(frozen=True)
class RowEntries:
    """The entries that rows should have in an index of values.

    Attributes:
        hash: The hash of each row's entry.
        is_optional: Whether the index may be without it.
    """

    hash: Hashes
    is_optional: BoolArray

    @staticmethod
    def joined(parts: Sequence[RowEntries]) -> RowEntries:
        """Concatenate the entries of several rows, of no or more parts."""
        return RowEntries(
            joined_hashes([one.hash for one in parts]),
            np.concatenate([np.zeros(0, np.bool_), *(one.is_optional for one in parts)]),
        )


@dataclass(frozen=True)
class SliceKeys:
    """The rows of slices, as parallel arrays.

    Attributes:
        names: The slices.
        slice: The slice of each row.
        key: The hash of each row's key.
        entry: For each index of values, the rows' entries.
        failures: Why slices could not be read; they have no rows here.
        unread: The numbers of these slices.
    """

    names: SliceNames
    slice: Int32Array
    key: Hashes
    entry: Mapping[str, RowEntries]
    failures: tuple[str, ...]
    unread: frozenset[int]

    @computed_once
    def rows(self) -> Int64Array:
        """The number of rows of each slice."""
        return np.bincount(self.slice, minlength=len(self.names)).astype(np.int64)


@dataclass(frozen=True)
class EntryTexts:
    """The keys of entries that rows should have in an index (large_binary), see `RowEntries`."""

    text: AnyArray
    is_optional: BoolArray


@dataclass(frozen=True)
class RowReader:
    """Reads the keys of a slice's rows, and the entries of indexes of values.

    Attributes:
        values: The indexed columns, by the names of their indexes.
        spell: Returns values of such a column as these indexes write them.
        lacking_nulls: The indexes that may be without entries of NULL.
    """

    reader: SliceReader
    keys: KeyColumns
    values: Mapping[str, BoundColumn]
    spell: Spelling
    lacking_nulls: frozenset[str]

    @staticmethod
    def of(
        table: HudiTable,
        instant: str | None,
        values: Mapping[str, BoundColumn],
        store: Store,
        lacking_nulls: frozenset[str],
    ) -> RowReader:
        """Prepare. Raises HudiError if the table's keys are not supported."""
        reader, keys = SliceReader.of(table, instant), KeyColumns.of(table)
        return RowReader(reader, keys, values, _SPELLINGS[store], lacking_nulls)

    def batches(self, one: FileSlice) -> Iterator[tuple[AnyArray, Mapping[str, EntryTexts]]]:
        """Return the keys (large_binary) and the entries of a slice's rows, in batches.

        Raises:
            HudiError: The slice cannot be read.
        """
        names = [*self.keys.columns, *(column.name for column in self.values.values())]
        own = len(self.keys.columns)
        for columns in self.reader.columns(one, names):
            keys = self.keys.keys(columns[:own]).cast(_LARGE)
            yield (
                keys,
                {
                    index: EntryTexts(
                        _entries(self.spell(column, of), keys),
                        self._is_optional(index, column),
                    )
                    for (index, of), column in zip(self.values.items(), columns[own:], strict=True)
                },
            )

    def _is_optional(self, index: str, column: AnyArray) -> BoolArray:
        if index not in self.lacking_nulls:
            return np.zeros(len(column), np.bool_)
        return np.asarray(column.is_null())


def _hudi_texts(values: AnyArray, column: BoundColumn) -> AnyArray:
    """Return values as Hudi's secondary indexes have them, see `_extension_texts`.

    Hudi writes floats as Java does, such as `101.0`.

    Raises:
        HudiError: The text of a value is not certain.
    """
    if column.domain.kind is Kind.FLOAT:
        return JavaText().of(values.cast(column.type), column.name).cast(_LARGE)
    return _extension_texts(values, column)


def _extension_texts(values: AnyArray, column: BoundColumn) -> AnyArray:
    """Return values as the extension's indexes have them (large_binary); nulls stay null.

    Raises:
        pyarrow.ArrowException: The values are not of the column's type.
    """
    typed = values.cast(column.type)
    kind = column.domain.kind
    if kind is Kind.TEXT:
        return typed.cast(_LARGE)
    if kind is Kind.BOOLEAN:
        return typed.cast(pa.string()).cast(_LARGE)
    if kind is Kind.BINARY:
        texts = [None if value is None else value.hex().encode() for value in value_list(typed)]
        return pa.array(texts, _LARGE)
    bounds = point_bounds(typed, column)
    assert bounds is not None
    if isinstance(bounds.lower, np.ndarray):
        nulls = typed.is_null().to_numpy(zero_copy_only=False)
        return pa.array(bounds.lower, mask=nulls).cast(pa.string()).cast(_LARGE)
    scale = column.domain.scale
    digits = [None if v is None else str(int(v.scaleb(scale))) for v in value_list(typed)]
    return pa.array(digits, pa.string()).cast(_LARGE)


_SPELLINGS: Mapping[Store, Spelling] = {
    Store.HUDI: _hudi_texts,
    Store.EXTENSION: _extension_texts,
}


def _entries(texts: AnyArray, keys: AnyArray) -> AnyArray:
    prefixes = pc.fill_null(_escaped(texts), pa.scalar(_NULL, _LARGE))
    return pc.binary_join_element_wise(prefixes, _escaped(keys), pa.scalar(b"$", _LARGE))


def _escaped(texts: AnyArray) -> AnyArray:
    doubled = pc.replace_substring(texts, b"\\", b"\\\\")
    return pc.replace_substring(doubled, b"$", b"\\$")


def read_keys(
    rows: RowReader, listing: FileListing, advance: Callable[[int], None] = lambda _: None
) -> SliceKeys:
    """Read the rows of a listing's slices.

    Args:
        rows: What to read.
        listing: The slices.
        advance: Called with the number of slices that were read.
    """
    names = SliceNames.of(listing)
    keys: list[Hashes] = []
    of: list[Int32Array] = []
    entries: dict[str, list[RowEntries]] = {index: [] for index in rows.values}
    failures: list[str] = []
    unread: set[int] = set()
    with ThreadPoolExecutor(_THREADS) as pool:
        for number, found in enumerate(pool.map(lambda one: hashed(rows, one), names.slices)):
            advance(1)
            if isinstance(found, str):
                failures.append(found)
                unread.add(number)
                continue
            keys.append(found[0])
            of.append(np.full(len(found[0]), number, np.int32))
            for index, own in found[1].items():
                entries[index].append(own)
    return SliceKeys(
        names,
        np.concatenate([np.zeros(0, np.int32), *of]),
        joined_hashes(keys),
        {index: RowEntries.joined(parts) for index, parts in entries.items()},
        tuple(failures),
        frozenset(unread),
    )


def hashed(rows: RowReader, one: FileSlice) -> tuple[Hashes, Mapping[str, RowEntries]] | str:
    """Return the hashes of a slice's keys and entries, or why it cannot be read."""
    keys: list[Hashes] = []
    entries: dict[str, list[RowEntries]] = {index: [] for index in rows.values}
    try:
        for own, values in rows.batches(one):
            keys.append(hashes(ByteStrings.from_arrow(own)))
            for index, texts in values.items():
                own_hashes = hashes(ByteStrings.from_arrow(texts.text))
                entries[index].append(RowEntries(own_hashes, texts.is_optional))
    except (HudiError, pa.ArrowException) as error:
        return f"{one.name}: {error}"
    joined = {index: RowEntries.joined(parts) for index, parts in entries.items()}
    return joined_hashes(keys), joined


def joined_hashes(parts: Sequence[Hashes]) -> Hashes:
    """Concatenate hashes, of no or more parts."""
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def is_among(wanted: Hashes, known: Hashes) -> BoolArray:
    """Return for each hash whether it is among sorted ones."""
    if not len(known):
        return np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    flags: BoolArray = known[place] == wanted
    return flags


def texts_of(
    rows: RowReader, one: FileSlice, wanted: Hashes, index: str | None, most: int
) -> list[str]:
    """Return the first texts of a slice's keys, or of its entries, that have one of the hashes."""
    found: list[str] = []
    ordered = np.sort(wanted)
    for keys, entries in rows.batches(one):
        texts = keys if index is None else entries[index].text
        flags = is_among(hashes(ByteStrings.from_arrow(texts)), ordered)
        chosen = texts.filter(pa.array(flags)).slice(0, most - len(found))
        found += [text.decode(errors="replace") for text in value_list(chosen)]
        if len(found) >= most:
            break
    return found


ELSEWHERE = -1
"""The number of a slice that is not among the checked ones."""
EXAMPLES = 3


@dataclass(frozen=True)
class RowFault:
    """Rows of one slice, or entries that name it, that are wrong in one way.

    Attributes:
        slice: The slice, by its number in `SliceNames`; -1: none of them.
        examples: The hashes of some of the keys, or entries.
        loses_ours: Whether this package loses rows by it.
    """

    fault: Fault
    slice: int
    count: int
    examples: tuple[int, ...]
    loses_ours: bool = False


def summarised(
    fault: Fault, slices: Int32Array, keys: Hashes, wrong: BoolArray, ours: BoolArray | None = None
) -> Iterator[RowFault]:
    """Return the flagged rows by slice.

    Args:
        fault: What is wrong.
        slices: The slice of each row.
        keys: The hash of each row's key, or entry.
        wrong: The flags.
        ours: Flags for the rows by which this package loses rows; None: none.
    """
    rows = np.flatnonzero(wrong)
    rows = rows[np.argsort(slices[rows], kind="stable")]
    numbers, starts, counts = np.unique(slices[rows], return_index=True, return_counts=True)
    for number, start, count in zip(
        numbers.tolist(), starts.tolist(), counts.tolist(), strict=True
    ):
        own = rows[start : start + count]
        lost = ours is not None and bool(ours[own].any())
        yield RowFault(fault, number, count, tuple(keys[own[:EXAMPLES]].tolist()), lost)


def key_texts(records: MetadataTable, partition: str, faults: Sequence[RowFault]) -> dict[int, str]:
    """Return the keys of an index that are examples of faults, by their hashes.

    Raises:
        HudiError: The index cannot be read.
    """
    wanted = np.array([key for one in faults for key in one.examples], np.uint64)
    if not len(wanted):
        return {}
    found: dict[int, str] = {}
    ordered = np.sort(wanted)
    for part in records.newest(partition):
        own = hashes(part.cells.key_strings)
        for row in np.flatnonzero(is_among(own, ordered)).tolist():
            found[int(own[row])] = part.cells.key_strings[row].decode(errors="replace")
    return found
