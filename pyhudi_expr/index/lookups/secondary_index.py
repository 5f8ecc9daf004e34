"""`secondary_index_*`: from a value to record keys, and through them to file groups (RFC-77).

An entry is a pair of a value and a record key; a tombstone in a log takes away one pair, not all of
a value. Each value's keys are looked up in the record index once, when the entries are read, so a
query goes from the hash of a value to slices.

When it is believed
-------------------
The rows of all slices have to be accounted for, as those of the record index are:

* the record index is believed about every slice. A key that is stored twice has one entry for each
  of its values at most, and nothing tells which of its rows that is of; where one slice may hold
  such a key, any other one may hold its other row.
* each key of a slice has exactly one entry here. A key without one is a row that the index does not
  know; of a key with two, one is older than the row, and then the right one may be missing too.
* the index describes the slice's files. In a merge-on-read table it may keep one entry for each
  key, which looks right, with an older value (`index.lookups.index_coverage` says which files are
  safe).

Null values have entries (of the value ``\\0``), so IS NULL can be asked. Where two record keys have
one hash, their slices are not believed.

How a column's values are spelled: text as it is, integers in digits, dates as days since 1970,
timestamps in microseconds; in indexes of the extension booleans as `true` and `false`, decimals as
their unscaled integers. What is no number in such an index is noticed, and nothing is looked up
then; floats, whose spelling is Java's own, are not looked up. All shards are read, so it does not
matter that V1 shards by the whole key and V2 by the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.expr.bound import BoundColumn, BoundIsNull, BoundLiteral, Leaf
from pyhudi_expr.expr.domains import Domain, Kind, unscaled
from pyhudi_expr.index.costs import LookupCost
from pyhudi_expr.index.lookups.hashed_entries import UNLISTED, HashedEntries
from pyhudi_expr.index.lookups.index_coverage import covered_slices
from pyhudi_expr.index.lookups.key_predicates import equality, exact
from pyhudi_expr.index.lookups.lazy_value import LazyValue
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
from pyhudi_expr.table.listing import FileListing

TYPE = "secondary_index"
_SPELLED_AS_NUMBERS = frozenset({Kind.INTEGER, Kind.DATE, Kind.INSTANT, Kind.DECIMAL, Kind.FLOAT})
#: Changes whenever the columns or their meaning do.
_CONTENT = "secondary_index 1"
_NO_HASHES, _NO_SLICES = np.zeros(0, np.uint64), np.zeros(0, np.int32)
_MICROS = 10**6

_Text = Callable[[BoundLiteral, Domain], bytes | None]


def secondary_indexes(
    mdt: MetadataTable, listing: FileListing, records: RecordIndex
) -> list[SecondaryIndex]:
    """The table's secondary indexes, for a listing that its record index is about."""
    return [
        SecondaryIndex(definition, mdt, listing, records, _OfHudi(mdt, listing, name))
        for name, definition in sorted(index_definitions(mdt.table).items())
        if definition.type == TYPE and name in mdt.partitions and len(definition.fields) == 1
    ]


class SliceTrust(Protocol):
    """Which slices an index may be believed about."""

    def any(self) -> bool:
        """Whether there may be any. Raises HudiError."""

    def slices(self, records: KeyLocations) -> BoolArray:
        """One flag for each slice: whether the index has all values of the keys that the record
        index places there. Raises HudiError.
        """


@dataclass(frozen=True)
class _OfHudi:
    """An index that Hudi maintains: see above."""

    mdt: MetadataTable
    listing: FileListing
    index: str

    def any(self) -> bool:
        """See `SliceTrust`."""
        return bool(self._covered.any())

    def slices(self, records: KeyLocations) -> BoolArray:
        """See `SliceTrust`."""
        return self._covered & records.believed.all()

    @cached_property
    def _covered(self) -> BoolArray:
        return covered_slices(self.mdt, self.listing, self.index)


@dataclass(frozen=True)
class ValueLocations:
    """entries: of all values. believed: one flag for each slice. numbers_only: whether all values
    are integers in digits, or null.
    """

    entries: HashedEntries
    believed: BoolArray
    numbers_only: bool

    def slices_of(self, values: Hashes) -> BoolArray:
        """For each slice whether it may hold one of the values, given by their hashes."""
        return self.entries.find(values, len(self.believed)) | ~self.believed


def locate_values(
    pairs: Iterable[tuple[Hashes, Hashes]], records: KeyLocations, trusted: BoolArray
) -> ValueLocations:
    """The values' places. pairs: parallel hashes of values and of their record keys; trusted: see
    `SliceTrust.slices`.
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
    believed = trusted.copy()
    believed[doubtful[doubtful != UNLISTED]] = False
    return ValueLocations(entries, believed, True)


class SecondaryIndex(CostedSource):
    """One secondary index, a source of evidence for its column. Thread safe."""

    def __init__(
        self,
        definition: IndexDefinition,
        mdt: MetadataTable,
        listing: FileListing,
        records: RecordIndex,
        trust: SliceTrust,
    ) -> None:
        """mdt: what holds the index; records: the record index beside it."""
        self.name = definition.name
        self._definition = definition
        self._mdt = mdt
        self._listing = listing
        self._records = records
        self._trust = trust
        self._read = LazyValue(self._entries)

    @property
    def column(self) -> str:
        """The column whose values it has."""
        return self._definition.fields[0]

    @property
    def nbytes(self) -> int:
        """Memory held, bytes."""
        return self._read.made.entries.nbytes if self._read.made else 0

    def look_up(self, question: Question) -> LookupCost | None:
        """See `CostedSource`."""
        values = sum(len(values) for _, (_, values) in self._wanted(question))
        return LookupCost(self._read_bytes, values) if values and self._trust.any() else None

    def answer(self, question: Question) -> Answer | None:
        """See `Source`."""
        wanted = self._wanted(question)
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
        """For each slice whether it may hold one of the values, spelled as the index does."""
        return self.loaded().slices_of(hashes(ByteStrings.of(values)))

    def loaded(self) -> ValueLocations:
        """The entries, read at the first call. Raises HudiError."""
        return self._read.value()

    @property
    def _read_bytes(self) -> int:
        if self._read.made:
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

    def _wanted(self, question: Question) -> list[tuple[Leaf, tuple[BoundColumn, list[bytes]]]]:
        """The leaves that hold the index's column to some values, and these."""
        return [
            (leaf, found)
            for leaf in question.positive_leaves
            if (found := self._values(leaf)) is not None
        ]

    def _values(self, leaf: Leaf) -> tuple[BoundColumn, list[bytes]] | None:
        return lookup_values(leaf, self.column, extension_text if self._is_own else hudi_text)

    @property
    def _is_own(self) -> bool:
        """Whether the index is of the extension; Hudi's are over fewer types."""
        return COLUMN_TYPE in self._definition.options


def lookup_values(leaf: Leaf, column: str, text: _Text) -> tuple[BoundColumn, list[bytes]] | None:
    """The values, as `text` spells them, that a leaf holds the column to; None: it does not."""
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
    """A value as Hudi's indexes spell it; None: of a type that they are not trusted with."""
    match domain.kind:
        case Kind.TEXT:
            return bytes(literal.lower)
        case Kind.INTEGER | Kind.DATE:
            return str(literal.lower).encode()
        case Kind.INSTANT if domain.units == _MICROS:
            return str(literal.lower).encode()
    return None


def extension_text(literal: BoundLiteral, domain: Domain) -> bytes | None:
    """A value as indexes of the extension spell it
    (`spark.entries.secondary_index.value_texts`).
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
    """The records' keys, values and record keys as hashes; whether the value is a number."""
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


def _are_numbers(values: ByteStrings) -> pa.Array:
    """For each value whether it is null or an integer in digits."""
    texts = values.array().cast(pa.large_string())
    digits = pc.ascii_is_decimal(pc.utf8_ltrim(texts, "-"))
    return pc.or_(digits, pc.equal(texts, NULL_VALUE.decode()))
