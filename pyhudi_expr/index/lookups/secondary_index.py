r"""`secondary_index_*`: from a value to record keys, and through them to file groups (RFC-77).

An entry is a pair of a value and a record key. A tombstone in a log removes one pair, not all pairs
of a value. Each value's keys are looked up in the record index once, when the entries are read, so
a query goes from the hash of a value to slices.

When it is trusted
------------------

The rows of all slices have to be accounted for, as those of the record index are:

* The record index is trusted about every slice. A key that is stored twice has one entry for each
  of its values at most, and it is unknown which of its rows that is. If one slice may hold such a
  key, any other slice may hold its other row.
* Each key of a slice has exactly one entry here. A key without an entry is a row that the index
  does not know. Of a key with two entries, one is older than the row, and then the right one may be
  missing, too.
* The index describes the slice's files. In a merge-on-read table it may keep one entry for each
  key, which looks right, with an older value (`index.lookups.index_coverage` finds the safe files).

Null values have entries (of the value ``\0``), so IS NULL can be evaluated. If two record keys have
the same hash, their slices are not trusted.

How a column's values are written: text as it is, integers in digits, dates as days since 1970,
timestamps in microseconds; in indexes of the extension also booleans as `true` and `false`, and
decimals as their unscaled integers. If such an index holds text that is not a number, no number is
looked up in it. Floats are not looked up, as their text is Java's own. All shards are read, so it
does not matter that V1 shards by the whole key and V2 by the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray
from pyhudi_expr.expr.bound import BoundColumn, BoundIsNull, BoundLiteral, Leaf
from pyhudi_expr.expr.domains import Domain, Kind, unscaled
from pyhudi_expr.index.costs import LookupCost
from pyhudi_expr.index.lookups.hashed_entries import UNLISTED, HashedEntries
from pyhudi_expr.index.lookups.index_coverage import covered_slices
from pyhudi_expr.index.lookups.key_predicates import equality, exact
from pyhudi_expr.index.lookups.lazy_value import AT_ONCE_BYTES, LazyValue
from pyhudi_expr.index.lookups.lookup_evidence import LookupEvidence
from pyhudi_expr.index.lookups.record_index import MOST_BYTES, KeyLocations, RecordIndex
from pyhudi_expr.index.planner import Answer, CostedSource, Question, StillReadingError
from pyhudi_expr.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.mdt.bytes.key_hashes import Hashes, hashes
from pyhudi_expr.mdt.changes.index_definitions import (
    COLUMN_TYPE,
    IndexDefinition,
    index_definitions,
)
from pyhudi_expr.mdt.store.file_group import EncodedRecords
from pyhudi_expr.mdt.store.hashed_records import newest
from pyhudi_expr.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.mdt.store.secondary_keys import NULL_VALUE, entries
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.table.listing import FileListing

_SPELLED_AS_NUMBERS = frozenset({Kind.INTEGER, Kind.DATE, Kind.INSTANT, Kind.DECIMAL, Kind.FLOAT})
#: Changes whenever the columns or their meaning change.
_CONTENT = "secondary_index 1"
_NO_HASHES, _NO_SLICES = np.zeros(0, np.uint64), np.zeros(0, np.int32)
_MICROS = 10**6

_Text = Callable[[BoundLiteral, Domain], bytes | None]


def secondary_indexes(
    mdt: MetadataTable, listing: FileListing, records: RecordIndex
) -> list[SecondaryIndex]:
    """Return the table's secondary indexes, for a listing that its record index describes."""
    return [
        SecondaryIndex(definition, mdt, listing, records, _OfHudi(mdt, listing, name))
        for name, definition in sorted(index_definitions(mdt.table).items())
        if definition.type == SECONDARY_INDEX
        and name in mdt.partitions
        and len(definition.fields) == 1
    ]


class SliceTrust(Protocol):
    """Decides about which slices an index is trusted."""

    def any(self) -> bool:
        """Return whether there may be any.

        Raises:
            HudiError: The timeline cannot be read.
        """

    def slices(self, records: KeyLocations) -> BoolArray:
        """Return for each slice whether the index has all values of the keys in it.

        The keys are those that the record index places in the slice.

        Raises:
            HudiError: The timeline cannot be read.
        """


@dataclass(frozen=True)
class _OfHudi:
    """Trust in an index that Hudi maintains; see the module."""

    mdt: MetadataTable
    listing: FileListing
    index: str

    def any(self) -> bool:
        """Return whether there may be any, see `SliceTrust`."""
        return bool(self._covered.any())

    def slices(self, records: KeyLocations) -> BoolArray:
        """Return the trusted slices, see `SliceTrust`."""
        return self._covered & records.is_trusted.all()

    @cached_property
    def _covered(self) -> BoolArray:
        return covered_slices(self.mdt, self.listing, self.index)


@dataclass(frozen=True)
class ValueLocations:
    """The locations of all values.

    Attributes:
        entries: The entries of all values.
        is_trusted: One flag for each slice: whether the index is trusted about it.
        numbers_only: Whether all values are integers in digits, or null.
    """

    entries: HashedEntries
    is_trusted: BoolArray
    numbers_only: bool

    def slices_of(self, values: Hashes) -> BoolArray:
        """Return for each slice whether it may hold one of the values, given by their hashes."""
        return self.entries.find(values, len(self.is_trusted)) | ~self.is_trusted


def locate_values(
    pairs: Iterable[tuple[Hashes, Hashes]], records: KeyLocations, trusted: BoolArray
) -> ValueLocations:
    """Look up the slices of all values.

    Args:
        pairs: Parallel hashes of values and of their record keys.
        records: The locations of the record keys.
        trusted: One flag for each slice, see `SliceTrust.slices`.
    """
    found_hashes, found_slices = [_NO_HASHES], [_NO_SLICES]
    of_key = np.zeros(len(records.entries.hashes), np.int32)
    for values, keys in pairs:
        row, known = records.entries.rows_of(keys)
        np.add.at(of_key, row[known], 1)
        found_hashes.append(values[known])
        found_slices.append(records.entries.slices[row[known]])
    entries = HashedEntries.of(np.concatenate(found_hashes), np.concatenate(found_slices))
    doubtful = records.entries.slices[(of_key != 1) | records.entries.shared]
    is_trusted = trusted.copy()
    is_trusted[doubtful[doubtful != UNLISTED]] = False
    return ValueLocations(entries, is_trusted, True)


class SecondaryIndex(CostedSource):
    """One secondary index, a source of evidence about its column. Thread safe."""

    def __init__(
        self,
        definition: IndexDefinition,
        mdt: MetadataTable,
        listing: FileListing,
        records: RecordIndex,
        trust: SliceTrust,
    ) -> None:
        """Open an index for a listing.

        Args:
            definition: The definition of the index.
            mdt: The metadata table that holds the index.
            listing: The files and slices.
            records: The record index of the same metadata table.
            trust: Decides about which slices the index is trusted.
        """
        self.name = definition.name
        self._definition = definition
        self._mdt = mdt
        self._listing = listing
        self._records = records
        self._trust = trust
        self._read = LazyValue(self._entries)

    @property
    def column(self) -> str:
        """The column of the index."""
        return self._definition.fields[0]

    def announce(self, question: Question) -> None:
        """Announce the index and the record index, if they will be read at once."""
        if self._read_bytes <= AT_ONCE_BYTES and self._value_equalities(question):
            self._mdt.announce(self.name)
            self._mdt.announce(RECORD_INDEX)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._read.computed.entries.nbytes if self._read.computed else 0

    def estimate_cost(self, question: Question) -> LookupCost | None:
        """Estimate the cost, see `CostedSource`."""
        values = sum(len(values) for _, (_, values) in self._value_equalities(question))
        return LookupCost(self._read_bytes, values) if values and self._trust.any() else None

    def answer(self, question: Question) -> Answer | None:
        """Look up the values of the leaves over the column, see `Source`."""
        wanted = self._value_equalities(question)
        if not wanted or not self._trust.any():
            return None
        if self._read_bytes > MOST_BYTES:
            raise HudiError("it is too large to be read into memory")
        if not self._read.is_ready(self._read_bytes, question.footer_wait):
            raise StillReadingError
        loaded = self.loaded()
        answers = LookupEvidence(self._listing)
        for leaf, (column, values) in wanted:
            if column.domain.kind not in _SPELLED_AS_NUMBERS or loaded.numbers_only:
                answers.add(leaf, self.slices_of(values))
        return Answer(answers)

    def slices_of(self, values: Sequence[bytes]) -> BoolArray:
        """Return for each slice whether it may hold one of the values, written as in the index."""
        return self.loaded().slices_of(hashes(ByteStrings.of(values)))

    def loaded(self) -> ValueLocations:
        """Return the entries, read at the first call.

        Raises:
            HudiError: The index cannot be read.
        """
        return self._read.value()

    @property
    def _read_bytes(self) -> int:
        if self._read.computed:
            return 0
        return self._records.read_bytes + self._mdt.stored_bytes(self.name)

    def _entries(self) -> ValueLocations:
        numbers_only = True

        def pairs() -> Iterator[tuple[Hashes, Hashes]]:
            nonlocal numbers_only
            for group in self._mdt.groups(self.name):
                for table in newest(group, _CONTENT, _rows, self._mdt.cache):
                    numbers_only &= bool(np.all(table.column("number")))
                    yield table.column("value").to_numpy(), table.column("key").to_numpy()

        records = self._records.loaded()
        found = locate_values(pairs(), records, self._trust.slices(records))
        return replace(found, numbers_only=numbers_only)

    def _value_equalities(
        self, question: Question
    ) -> list[tuple[Leaf, tuple[BoundColumn, list[bytes]]]]:
        """Return the leaves that hold the index's column to certain values, and these values."""
        return [
            (leaf, found)
            for leaf in question.positive_leaves
            if (found := self._values(leaf)) is not None
        ]

    def _values(self, leaf: Leaf) -> tuple[BoundColumn, list[bytes]] | None:
        return lookup_values(leaf, self.column, extension_text if self._is_own else hudi_text)

    @property
    def _is_own(self) -> bool:
        """Return whether the index is of the extension; Hudi's support fewer types."""
        return COLUMN_TYPE in self._definition.options


def lookup_values(leaf: Leaf, column: str, text: _Text) -> tuple[BoundColumn, list[bytes]] | None:
    """Return the column and values of an equality over the column, written by `text`; else None."""
    match leaf:
        case BoundIsNull(term=BoundColumn() as bound) if _is_over(bound, column):
            return bound, [NULL_VALUE]
    found = equality(leaf)
    if found is None or not _is_over(found[0], column):
        return None
    values = [text(one, found[0].domain) if exact(one) else None for one in found[1]]
    spelled = [value for value in values if value is not None]
    return (found[0], spelled) if len(spelled) == len(values) else None


def _is_over(bound: BoundColumn, column: str) -> bool:
    return bound.name == column and bound.char is None


def hudi_text(literal: BoundLiteral, domain: Domain) -> bytes | None:
    """Return a value as Hudi's indexes write it; None for types whose text is not trusted."""
    match domain.kind:
        case Kind.TEXT:
            return bytes(literal.lower)
        case Kind.INTEGER | Kind.DATE:
            return str(literal.lower).encode()
        case Kind.INSTANT if domain.units == _MICROS:
            return str(literal.lower).encode()
    return None


def extension_text(literal: BoundLiteral, domain: Domain) -> bytes | None:
    """Return a value as indexes of the extension write it.

    See `spark.entries.secondary_index.value_texts`.
    """
    match domain.kind:
        case Kind.FLOAT:
            return str(literal.lower).encode()
        case Kind.DECIMAL:
            number = literal.lower if domain.is_ordinal else unscaled(literal.lower, domain.scale)
            return str(number).encode()
        case Kind.BOOLEAN:
            return b"true" if literal.lower else b"false"
        case Kind.BINARY:
            return bytes(literal.lower).hex().encode()
    return hudi_text(literal, domain)


def _rows(records: EncodedRecords) -> pa.Table:
    """Return the records' values and record keys as hashes, and whether the value is a number."""
    tables = [
        pa.table(
            {
                "id": hashes(part.records),
                "deleted": part.deleted,
                "value": hashes(part.values),
                "key": hashes(part.keys),
                "number": _are_numbers(part.values),
            }
        )
        for part in entries(records)
    ]
    return pa.concat_tables(tables)


def _are_numbers(values: ByteStrings) -> AnyArray:
    """Return for each value whether it is null or an integer in digits."""
    texts = values.array().cast(pa.large_string())
    digits = pc.ascii_is_decimal(pc.utf8_ltrim(texts, "-"))
    return pc.or_(digits, pc.equal(texts, NULL_VALUE.decode()))
