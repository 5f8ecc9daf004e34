r"""`secondary_index_*`: from a value to record keys, and through them to file groups (RFC-77).

An entry is a pair of a value and a record key. A tombstone in a log removes one pair, not all pairs
of a value. Each value's keys are looked up in the record index once, when the entries are read, so
a query goes from the hash of a value to slices.

When it is trusted
------------------

The rows of the slices have to be accounted for, as those of the record index are:

* The record index is trusted about the slice, and about every other one that was written since
  the index was built. A key that is stored twice has one entry for each of its values at most, and
  it is unknown which of its rows that is. If one slice may hold such a key, any other slice may
  hold its other row. (So may one that is as a build of the index read it: an insert of one of its
  keys later makes the second row, whose value Hudi 1.2 does not write.)
* Each key of a slice has exactly one entry here. A key without an entry is a row that the index
  does not know. Of a key with two entries, one is older than the row, and then the right one may be
  missing, too.
* The index describes the slice's files. In a merge-on-read table it may keep one entry for each
  key, which looks right, with an older value (`slice_proofs` finds the safe files).

A slice that is not accounted for so is read, if the index is one of Hudi's: the index is trusted
about it, whatever is known of others, if it finds the value of each of its rows (`slice_proofs`).
If the record index names this slice for each of its keys, no other slice that is accounted for has
one of them, so it does the others no harm.

Null values have entries (of the value ``\0``), so IS NULL can be evaluated. If two record keys have
the same hash, their slices are not trusted.

A small index is read whole, once. In a larger one a value's entries are looked up by their prefix,
and their record keys in the record index (`index.lookups.direct_lookups`); that each key has
exactly one entry is known from a certificate (`mdt.certificates`), as with the record index.

`index.lookups.value_places` has how a column's values are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.computed_once import LazyValue, check_running, computed_once
from pyhudi_expr.expr.bound import BoundColumn, Leaf
from pyhudi_expr.expr.domains import Kind
from pyhudi_expr.index.lookups import LookupEvidence
from pyhudi_expr.index.lookups.direct_lookups import ValueLookup, look_up_bytes
from pyhudi_expr.index.lookups.record_index import (
    AT_ONCE_BYTES,
    COUNTING_SECONDS,
    IN_MEMORY_BYTES,
    QUERY_SECONDS,
    RecordIndex,
)
from pyhudi_expr.index.lookups.slice_proofs import (
    Finding,
    IndexedRows,
    SliceProofs,
    covered_slices,
)
from pyhudi_expr.index.lookups.value_places import (
    AnsweredSlices,
    LookedUpValues,
    ValueLocations,
    ValuePlaces,
    WantedValues,
    extension_text,
    hudi_text,
    locate_values,
    lookup_values,
)
from pyhudi_expr.index.planner import Answer, CostedSource, LookupCost, Question, StillReadingError
from pyhudi_expr.tables.hudi_names import RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.keys import Digests, Hashes, hashes
from pyhudi_expr.tables.mdt.index_definitions import COLUMN_TYPE, IndexDefinition, index_definitions
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords
from pyhudi_expr.tables.mdt.store.hashed_records import newest
from pyhudi_expr.tables.mdt.store.index_records import entries, number_flags
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

if TYPE_CHECKING:
    from pyhudi_expr.tables.mdt.certificates.certificates import ValueCertificate

_SPELLED_AS_NUMBERS = frozenset({Kind.INTEGER, Kind.DATE, Kind.INSTANT, Kind.DECIMAL, Kind.FLOAT})
#: Changes whenever the columns or their meaning change.
_CONTENT = "secondary_index 1"
_SHARDS_BY_VALUE = "V2"


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

    def slices(self, accounted: BoolArray) -> BoolArray:
        """Return for each slice whether the index has all values of the keys in it.

        Args:
            accounted: One flag for each slice: whether the record index is trusted about it.

        Raises:
            HudiError: The timeline cannot be read.
        """

    def harmful(self, accounted: BoolArray) -> BoolArray:
        """Return for each slice whether others are trusted only if it is compared with the index.

        The argument and the errors are those of `slices`.
        """


@dataclass(frozen=True)
class _OfHudi:
    """Trust in an index that Hudi maintains; see the module."""

    mdt: MetadataTable
    listing: FileListing
    index: str

    def slices(self, accounted: BoolArray) -> BoolArray:
        """Return the slices that the index describes, see `SliceTrust`."""
        return self._covered & accounted

    def harmful(self, accounted: BoolArray) -> BoolArray:
        """Return the slices that may hold rows of other slices' keys, see `SliceTrust`."""
        return ~accounted

    @computed_once
    def _covered(self) -> BoolArray:
        return covered_slices(self.mdt, self.listing, self.index)


def trusted_slices(accounted: BoolArray, compared: BoolArray, harmful: BoolArray) -> BoolArray:
    """Return the slices that an index is trusted about, see the module.

    Args:
        accounted: Whether the index has one value for each key of the slice, as others tell.
        compared: Whether the index finds all values of the rows that were read of the slice.
        harmful: Whether the slice may hold rows of other slices' keys.
    """
    return compared if harmful.any() else accounted | compared


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
        self._proofs = SliceProofs(listing)
        self._read = LazyValue(self._entries)
        self._certified = LazyValue(self._certify)
        self._certificate = LazyValue(self._known_certificate)
        self._looked_up = LazyValue(self._certified_values)

    @property
    def column(self) -> str:
        """The column of the index."""
        return self._definition.fields[0]

    def is_about(self, question: Question) -> bool:
        """Return whether the predicate has the column, see `CostedSource`."""
        return any(column.name == self.column for column in question.columns)

    def announce(self, question: Question) -> None:
        """Announce the index and the record index, if they will be read at once."""
        if self.is_small and self.wanted(question):
            self._mdt.announce(self.name)
            self._mdt.announce(RECORD_INDEX)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._read.computed.entries.nbytes if self._read.computed else 0

    def estimate_cost(self, question: Question) -> LookupCost | None:
        """Estimate the cost, see `CostedSource`."""
        values = sum(len(one.values) for one in self.wanted(question))
        if not values:
            return None
        # A block for the value, and one for a record key at least.
        return LookupCost(look_up_bytes(2 * values, self._read_bytes), values)

    def answer(self, question: Question) -> Answer | None:
        """Look up the values of the leaves over the column, see `Source`."""
        wanted = self.wanted(question)
        if not wanted:
            return None
        answers = LookupEvidence(self._listing)
        patience = min(question.footer_wait, QUERY_SECONDS)
        places = self._proved(self.places(patience), question.slices, patience)
        notes = [*self._partial_notes(places.is_trusted, question)]
        for one in wanted:
            if one.are_numbers and not places.numbers_only:
                continue
            if self._are_too_many(places, one.values, question):
                notes.append(f"{self.name} is not asked: the values are in too many rows")
            else:
                answers.add(one.leaf, places.slices_with(one.values))
        return Answer(answers, tuple(notes))

    def _proved(self, places: ValuePlaces, slices: BoolArray, patience: float) -> ValuePlaces:
        """Trust the slices in which the index finds all values, and others if none does harm."""
        end = monotonic() + patience
        known, accounted = places.is_trusted, self._records.places(patience).is_trusted
        found = self._compared(places, slices & ~known, patience)
        harmful = self._trust.harmful(accounted)
        harmful &= ~self._records.compared_slices(harmful, self.column, end - monotonic())
        if harmful.any():
            found |= self._compared(places, slices & ~found, end - monotonic())
        return replace(places, is_trusted=trusted_slices(known, found, harmful))

    def _compared(self, places: ValuePlaces, slices: BoolArray, patience: float) -> BoolArray:
        """Return for each slice whether it was read, and the index finds all of its values."""
        keys = self._records.places(patience)

        def finds_all(found: IndexedRows, slice_: int) -> bool:
            return keys.find_all(found.keys, slice_) and places.find_all(found, slice_)

        rows = self._records.slice_rows
        return self._proofs.found(finds_all, rows, self.column, slices, patience)

    def _partial_notes(self, is_trusted: BoolArray, question: Question) -> tuple[str, ...]:
        """Say for how many of the remaining slices the index answers, if not for all."""
        left = int(question.slices.sum())
        answered = int((is_trusted & question.slices).sum())
        if answered == left:
            return ()
        return (
            f"{self.name} answers for {answered:,} of {left:,} file slices, and the others are "
            "read; SHOW INDEXES says why",
        )

    def places(self, patience: float) -> ValuePlaces:
        """Return where values are: in memory, or in the index's files.

        Args:
            patience: Seconds to wait until the entries have been checked.

        Raises:
            HudiError: An index cannot be read.
            StillReadingError: Its entries are being checked in the background.
        """
        if self._read.computed or self.is_small:
            return self._read.value()
        self._records.places(patience)
        if (
            self._looked_up.computed is None
            and self._certificate.value() is None
            and self._stored_bytes > AT_ONCE_BYTES
            and not self._certified.wait(patience)
        ):
            raise StillReadingError
        return self._looked_up.value()

    def _certify(self) -> ValueCertificate:
        from pyhudi_expr.tables.mdt.certificates.stored import certify_values  # on use

        return certify_values(self._mdt, self.name, check_running)

    def _known_certificate(self) -> ValueCertificate | None:
        from pyhudi_expr.tables.mdt.certificates.stored import value_certificate  # on use

        return value_certificate(self._mdt, self.name)

    def _certified_values(self) -> LookedUpValues:
        certificate = self._certificate.value() or self._certified.value()
        doubtful = np.asarray(pc.is_in(self._records.lookup.groups, certificate.doubtful))
        accounted = self._records.places(COUNTING_SECONDS).is_trusted
        is_trusted = self._trust.slices(accounted) & ~doubtful
        lookup, digests = self.open_lookup(), LazyValue(self._entry_digests)
        return LookedUpValues(lookup, digests, is_trusted, certificate.numbers_only)

    def _entry_digests(self) -> Digests | None:
        """Return the digests of each slice's entries; reads all of them if they are not known."""
        known = self._certificate.value()
        sums = known.sums if known and known.sums else self._certified.value().sums
        return None if sums is None else sums.digests_of(self._records.lookup.groups)

    def account(self) -> AnsweredSlices:
        """Return for how many slices queries trust the index. Reads all entries, if need be.

        Raises:
            HudiError: An index cannot be read.
        """
        with_keys = self._records.trusted_slices()
        known = self.places(COUNTING_SECONDS)
        answered = self._proved(known, np.ones_like(with_keys), QUERY_SECONDS).is_trusted
        return AnsweredSlices(
            slices=len(answered),
            answered=int(answered.sum()),
            lacking=int((self._proofs.are(Finding.LACKING) & with_keys).sum()),
            unreadable=int(self._proofs.are(Finding.UNREADABLE).sum()),
            unread=int((self._proofs.are(Finding.NOTHING) & ~answered).sum()),
        )

    def loaded(self) -> ValueLocations:
        """Return the entries, read at the first call.

        Raises:
            HudiError: The index cannot be read.
        """
        return self._read.value()

    def open_lookup(self) -> ValueLookup:
        """Return what looks values up in the index's files."""
        by_value = self._definition.version == _SHARDS_BY_VALUE
        return ValueLookup(self._mdt, self.name, by_value, self._records.lookup.by_key)

    def _are_too_many(
        self, places: ValuePlaces, values: Sequence[bytes], question: Question
    ) -> bool:
        """Return whether looking up the values reads more than the files that remain."""
        if not isinstance(places, LookedUpValues):
            return False
        most = question.remaining.bytes
        return self._stored_bytes > most and places.lookup.read_bytes(values) > most

    @property
    def _stored_bytes(self) -> int:
        return self._records.stored_bytes + self._mdt.stored_bytes(self.name)

    @property
    def is_small(self) -> bool:
        """Whether the index is read whole instead of looked up in."""
        return self._stored_bytes <= 2 * IN_MEMORY_BYTES

    @property
    def _read_bytes(self) -> int:
        return 0 if self._read.computed else self._stored_bytes

    def _entries(self) -> ValueLocations:
        numbers_only = True

        def pairs() -> Iterator[tuple[Hashes, Hashes]]:
            nonlocal numbers_only
            for group in self._mdt.groups(self.name):
                for table in newest(group, _CONTENT, _rows, self._mdt.cache):
                    numbers_only &= bool(np.all(table.column("number")))
                    yield table.column("value").to_numpy(), table.column("key").to_numpy()

        records = self._records.loaded()
        found = locate_values(pairs(), records, self._trust.slices(records.is_trusted))
        return replace(found, numbers_only=numbers_only)

    def wanted(self, question: Question) -> list[WantedValues]:
        """Return what to look up: the leaves that hold the index's column to certain values."""
        return [
            WantedValues(leaf, found[1], found[0].domain.kind in _SPELLED_AS_NUMBERS)
            for leaf in question.positive_leaves
            if (found := self._values(leaf)) is not None
        ]

    def _values(self, leaf: Leaf) -> tuple[BoundColumn, list[bytes]] | None:
        return lookup_values(leaf, self.column, extension_text if self._is_own else hudi_text)

    @property
    def _is_own(self) -> bool:
        """Return whether the index is of the extension; Hudi's support fewer types."""
        return COLUMN_TYPE in self._definition.options


def _rows(records: EncodedRecords) -> pa.Table:
    """Return the records' values and record keys as hashes, and whether the value is a number."""
    tables = [
        pa.table(
            {
                "id": hashes(part.records),
                "deleted": part.deleted,
                "value": hashes(part.values),
                "key": hashes(part.keys),
                "number": number_flags(part.values),
            }
        )
        for part in entries(records)
    ]
    return pa.concat_tables(tables)
