"""`record_index`: the file group of each record key.

Why an index of locations can lose rows, and when it is trusted
---------------------------------------------------------------

Hudi keeps one location for each key, but a key can be stored twice: `insert` and `bulk_insert` add
rows without a look-up, and then the index names the last place only. A query for the key has to see
all of them. So the index is trusted about a file group only if the group's rows are *accounted
for*:

    entries of the index that name the group = rows that the group has, at most

An entry of the index names a group that has the key: entries are added when the row is written,
moved when it moves, and deleted when the row, its file group or its commit goes. (If an entry is
missing, the group has more rows than entries.) So the keys of a group's entries are among the keys
of its rows, there are not fewer of them than rows, and therefore they are all of them: a key whose
entry does not name the group is not in it. `index.row_counts` gives the number of rows, never too
low. A group that it cannot count, or that has more rows, is read: it is trusted if the index finds
each key of its rows (`slice_proofs`), and else its slices are kept.

This covers, without rules of their own: groups with a key that is stored elsewhere, too; rows that
were inserted into log files, which Hudi does not index; the empty index that Hudi leaves for tables
without meta fields; a delete that came late and did not win, although it removed the entry.

The index describes the newest slices as a snapshot query sees them. It gives no evidence

* for an instant before the newest one, or when the metadata table lacks one of the instants;
* for read-optimised queries of a merge-on-read table, where a base file shows rows that its log
  files have deleted;
* when it has shards for each partition (`isPartitioned`), where a key may be in several.

How it is read
--------------

A small index is read whole, once, and kept as sorted hashes. Two keys with the same hash cost a
slice that is kept in vain. In a larger one each key is looked up in the blocks that may hold it
(`index.lookups.direct_lookups`), and a certificate says how many entries name each group
(`mdt.certificates`). Without one for the index's state all entries are counted once: at once if
that takes a second at most, else in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import (
    BoolArray,
    Int32Array,
    combined,
    dictionary_of,
    numpy_numbers,
    string_list,
    value_list,
)
from pyhudi_expr.computed_once import LazyValue, check_running
from pyhudi_expr.expr.bound import Leaf
from pyhudi_expr.index.lookups import LookupEvidence
from pyhudi_expr.index.lookups.direct_lookups import KeyLookup, listing_groups, look_up_bytes
from pyhudi_expr.index.lookups.key_predicates import equality, exact
from pyhudi_expr.index.lookups.slice_proofs import Finding, IndexedRows, SliceProofs, SliceRows
from pyhudi_expr.index.planner import Answer, CostedSource, LookupCost, Question, StillReadingError
from pyhudi_expr.index.row_counts import Counts, row_counts
from pyhudi_expr.tables.hudi_names import RECORD_INDEX, RECORD_KEY
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import Digests, Hashes, digest_sum, hashes
from pyhudi_expr.tables.mdt.index_definitions import index_definitions
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords
from pyhudi_expr.tables.mdt.store.hashed_records import UNLISTED, HashedEntries, newest
from pyhudi_expr.tables.mdt.store.index_records import group_of, locations
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import TableType

if TYPE_CHECKING:
    from pyhudi_expr.tables.mdt.certificates.certificates import RecordCertificate

IN_MEMORY_BYTES = 1 << 20
"""The largest index that is read into memory rather than looked up: some 200,000 entries."""
AT_ONCE_BYTES = 16 << 20
"""The largest index whose entries a query counts itself: that takes a second."""
QUERY_SECONDS = 5.0
"""How long a query waits at most until they are counted: files may be read in less."""
COUNTING_SECONDS = 60.0
"""How long a report waits until the entries of a large index are counted."""
#: Changes whenever the columns or their meaning change.
_CONTENT = "record_index 2"
_NO_HASHES, _NO_SLICES = np.zeros(0, np.uint64), np.zeros(0, np.int32)


def describes_listing(mdt: MetadataTable, listing: FileListing) -> bool:
    """Return whether indexes of rows describe the listing: all of it, and nothing newer."""
    table = mdt.table
    if listing.instant is None or listing.instant != table.instant:
        return False
    merged = table.properties.table_type is TableType.MERGE_ON_READ
    if merged and listing.view is TableView.READ_OPTIMIZED:
        return False
    return all(mdt.covers(instant.requested) for instant in table.timeline.writes)


def record_index(
    mdt: MetadataTable, listing: FileListing, earlier: SliceRows | None = None
) -> RecordIndex | None:
    """Return the table's record index if it describes the listing.

    Args:
        mdt: The metadata table.
        listing: The files and slices.
        earlier: Rows that were read of an earlier state of the table.
    """
    if (
        RECORD_INDEX not in mdt.partitions
        or unusable_reason(mdt)
        or not describes_listing(mdt, listing)
    ):
        return None
    rows = SliceRows(mdt.table, listing, earlier)
    return RecordIndex(mdt, listing, lambda: row_counts(mdt, listing), rows)


def unusable_reason(mdt: MetadataTable) -> str:
    """Return why no query uses the table's record index, whatever its entries; "" if queries do."""
    if not mdt.table.properties.meta_fields:
        return "the table has no meta fields, and Hudi fills it with nothing then"
    definition = index_definitions(mdt.table).get(RECORD_INDEX)
    if definition is not None and definition.options.get("isPartitioned", "").lower() == "true":
        return "it has shards for each partition, where a key may be in several"
    return ""


@dataclass(frozen=True)
class KeyLocations:
    """The locations of all record keys.

    Attributes:
        entries: The entries of all keys.
        is_trusted: One flag for each slice: whether the index is trusted about it.
    """

    entries: HashedEntries
    is_trusted: BoolArray

    @staticmethod
    def counted(entries: HashedEntries, rows: Counts) -> KeyLocations:
        """Trust the slices that have as many entries as rows.

        Args:
            entries: The entries of all keys.
            rows: Rows of each slice at most, -1 where unknown.
        """
        return KeyLocations(entries, entries.per_slice(len(rows)) == rows)

    def slices_of(self, keys: Hashes) -> BoolArray:
        """Return for each slice whether it may hold one of the keys, given by their hashes."""
        return self.entries.find(keys, len(self.is_trusted)) | ~self.is_trusted

    def numbers_of(self, keys: Sequence[bytes]) -> Int32Array:
        """Return the slices that entries of the keys name, in no order."""
        found = self.entries.find(hashes(ByteStrings.of(keys)), len(self.is_trusted))
        return np.flatnonzero(found).astype(np.int32)

    def find_all(self, keys: ByteStrings, slice_: int) -> bool:
        """Return whether `numbers_of` has the slice for each of the keys."""
        return self.entries.find_all(hashes(keys), slice_)


@dataclass(frozen=True)
class TrustedSlices:
    """For how many slices a query trusts a record index.

    Attributes:
        slices: Number of slices in the table.
        others: Number of slices that it is not trusted about.
        lacking: Of these, the number of slices with rows whose keys it does not find there.
        unreadable: Of these, the number of slices whose rows can neither be counted nor read here.
    """

    slices: int
    others: int
    lacking: int
    unreadable: int

    @property
    def unread(self) -> int:
        """The number of slices that have not been compared with it yet."""
        return self.others - self.lacking - self.unreadable


@dataclass(frozen=True)
class LookedUpKeys:
    """The locations of record keys, looked up one by one.

    Attributes:
        lookup: Finds them.
        is_trusted: One flag for each slice: whether the index is trusted about it.
        digests: For each slice, the sum of the digests of the keys that the index has there.
    """

    lookup: KeyLookup
    is_trusted: BoolArray
    digests: Digests

    def numbers_of(self, keys: Sequence[bytes]) -> Int32Array:
        """Return the slices that entries of the keys name, in no order.

        Raises:
            HudiError: The index cannot be read.
        """
        found = self.lookup.slices_of(keys)
        return found[found != UNLISTED]

    def find_all(self, keys: ByteStrings, slice_: int) -> bool:
        """Return whether `numbers_of` has the slice for each of these keys, and for no other."""
        return bool((digest_sum(keys) == self.digests[slice_]).all())


KeyPlaces = KeyLocations | LookedUpKeys
"""Where record keys are. `is_trusted`: for each slice, whether the index is trusted about it."""


def slices_with(places: KeyPlaces, keys: Sequence[bytes]) -> BoolArray:
    """Return for each slice whether it may hold one of the keys.

    Raises:
        HudiError: The index cannot be read.
    """
    flags = ~places.is_trusted
    flags[places.numbers_of(keys)] = True
    return flags


class RecordIndex(CostedSource):
    """The entries of `record_index`, a source of evidence about record keys. Thread safe."""

    name = RECORD_INDEX

    def __init__(
        self,
        mdt: MetadataTable,
        listing: FileListing,
        rows: Callable[[], Counts],
        slice_rows: SliceRows | None = None,
    ) -> None:
        """Open the index for a listing.

        Args:
            mdt: The metadata table that holds the index.
            listing: The files and slices.
            rows: Rows of each slice at most, -1 where unknown.
            slice_rows: Reads slices that are not accounted for by the number of their rows. None:
                these are not trusted.
        """
        self.slice_rows = slice_rows
        self._proofs = SliceProofs(listing)
        self._mdt = mdt
        self._listing = listing
        self._counted = LazyValue(rows)
        self._read = LazyValue(self._entries)
        self._certified = LazyValue(self._certify)
        self._certificate = LazyValue(self._known_certificate)
        self._looked_up = LazyValue(self._certified_keys)
        self._lookup = LazyValue(lambda: KeyLookup(mdt, listing_groups(listing)))

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        of_slices = 0 if self.slice_rows is None else self.slice_rows.nbytes
        return of_slices + (self._read.computed.entries.nbytes if self._read.computed else 0)

    def announce(self, question: Question) -> None:
        """Announce the index, if it will be read at once."""
        if self.is_small and _key_equalities(question):
            self._mdt.announce(RECORD_INDEX)

    def estimate_cost(self, question: Question) -> LookupCost | None:
        """Estimate the cost, see `CostedSource`."""
        keys = sum(len(of_leaf) for _, of_leaf in _key_equalities(question))
        return LookupCost(self._expected_bytes(keys), keys) if keys else None

    def answer(self, question: Question) -> Answer | None:
        """Look up the keys of the leaves over the record key, see `Source`."""
        wanted = _key_equalities(question)
        if not wanted:
            return None
        patience = min(question.footer_wait, QUERY_SECONDS)
        places = self._proved(self.places(patience), question.slices, patience)
        answers = LookupEvidence(self._listing)
        for leaf, keys in wanted:
            answers.add(leaf, slices_with(places, keys))
        return Answer(answers)

    def places(self, patience: float) -> KeyPlaces:
        """Return where keys are: in memory, or in the index's files.

        Args:
            patience: Seconds to wait until the entries are counted.

        Raises:
            HudiError: The index cannot be read.
            StillReadingError: Its entries are being counted in the background.
        """
        if self._read.computed or self.is_small:
            return self._read.value()
        if (
            self._looked_up.computed is None
            and self._certificate.value() is None
            and self.stored_bytes > AT_ONCE_BYTES
            and not self._certified.wait(patience)
        ):
            raise StillReadingError
        return self._looked_up.value()

    def _proved(self, places: KeyPlaces, slices: BoolArray, patience: float) -> KeyPlaces:
        """Trust those of the slices, too, in which the index finds all keys."""
        found = self.compared_slices(slices & ~places.is_trusted, None, patience)
        return replace(places, is_trusted=places.is_trusted | found)

    def compared_slices(self, slices: BoolArray, column: str | None, patience: float) -> BoolArray:
        """Return for each slice whether it was read, and the index finds all of its keys there.

        Args:
            slices: The slices that are asked for; other flags are False.
            column: A column that is read with the keys, as it is wanted next.
            patience: Seconds to wait, see `SliceProofs.found`.

        Raises:
            HudiError: The index cannot be read.
        """
        rows, places = self.slice_rows, self.places(patience)

        def finds_all(found: IndexedRows, slice_: int) -> bool:
            return places.find_all(found.keys, slice_)

        return self._proofs.found(finds_all, rows, column, slices, patience)

    def _certify(self) -> RecordCertificate:
        from pyhudi_expr.tables.mdt.certificates.stored import certify_records  # on use

        return certify_records(self._mdt, check_running)

    def _known_certificate(self) -> RecordCertificate | None:
        from pyhudi_expr.tables.mdt.certificates.stored import record_certificate  # on use

        return record_certificate(self._mdt)

    def _certified_keys(self) -> LookedUpKeys:
        certificate = self._certificate.value() or self._certified.value()
        sums, groups = certificate.sums, self.lookup.groups
        is_trusted = sums.counts_of(groups) == self._counted.value()
        return LookedUpKeys(self.lookup, is_trusted, sums.digests_of(groups))

    def _expected_bytes(self, keys: int) -> int:
        """Estimate the bytes that a look-up of so many keys reads."""
        return int(look_up_bytes(keys, self.read_bytes))

    @property
    def lookup(self) -> KeyLookup:
        """Finds keys in the index's files."""
        return self._lookup.value()

    @property
    def stored_bytes(self) -> int:
        """The size of the index."""
        return self._mdt.stored_bytes(RECORD_INDEX)

    @property
    def is_small(self) -> bool:
        """Whether the index is read into memory."""
        return self.stored_bytes <= IN_MEMORY_BYTES

    @property
    def read_bytes(self) -> int:
        """Return what reading the index into memory reads: all of it, or nothing."""
        return 0 if self._read.computed else self.stored_bytes

    def loaded(self) -> KeyLocations:
        """Return the entries, read at the first call.

        Raises:
            HudiError: The index cannot be read.
        """
        return self._read.value()

    def account(self) -> TrustedSlices:
        """Return for how many slices queries trust the index.

        Raises:
            HudiError: The index cannot be read.
        """
        others = ~self.trusted_slices()
        return TrustedSlices(
            slices=len(others),
            lacking=int(self._proofs.are(Finding.LACKING).sum()),
            unreadable=int(self._proofs.are(Finding.UNREADABLE).sum()),
            others=int(others.sum()),
        )

    def trusted_slices(self) -> BoolArray:
        """Return for each slice whether queries trust the index; reads them for some seconds.

        Raises:
            HudiError: The index cannot be read.
        """
        counted = self.places(COUNTING_SECONDS)
        every = np.ones_like(counted.is_trusted)
        return self._proved(counted, every, QUERY_SECONDS).is_trusted

    def _entries(self) -> KeyLocations:
        numbers = dict(_listed_groups(self._listing))
        found_hashes, found_slices = [_NO_HASHES], [_NO_SLICES]
        for group in self._mdt.groups(RECORD_INDEX):
            for table in newest(group, _CONTENT, _rows, self._mdt.cache):
                places = dictionary_of(table.column("place"))
                known = [group_of(place) for place in value_list(places.dictionary)]
                slices = np.array([numbers.get(place, UNLISTED) for place in known], np.int32)
                found_slices.append(slices[numpy_numbers(places.indices)])
                found_hashes.append(numpy_numbers(combined(table.column("id"))))
        entries = HashedEntries.of(np.concatenate(found_hashes), np.concatenate(found_slices))
        return KeyLocations.counted(entries, self._counted.value())


def _key_equalities(question: Question) -> list[tuple[Leaf, list[bytes]]]:
    """Return the leaves that hold the record key to certain values, and these values."""
    equalities = [(leaf, equality(leaf)) for leaf in question.positive_leaves]
    return [
        (leaf, [option.lower for option in found[1]])
        for leaf, found in equalities
        if found and found[0].name == RECORD_KEY and all(map(exact, found[1]))
    ]


def _rows(records: EncodedRecords) -> pa.Table:
    """Return the records' keys as hashes, and their locations."""
    ids = hashes(records.cells.key_strings)
    nothing = np.zeros(len(ids), np.bool_)
    return pa.table(
        {"id": ids, "deleted": nothing, "place": locations(records).dictionary_encode()}
    )


def _listed_groups(listing: FileListing) -> Iterator[tuple[tuple[str, str], int]]:
    partitions = string_list(listing.partitions.take(listing.slice_partition))
    ids = string_list(listing.slice_file_id)
    for number, group in enumerate(zip(partitions, ids, strict=True)):
        yield group, number
