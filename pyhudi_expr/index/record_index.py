"""`record_index`: for each record key the file group that holds it.

Why an index of locations can lose rows, and when it is believed
-----------------------------------------------------------------
Hudi keeps one location for each key, but nothing keeps a key from being stored twice: `insert` and
`bulk_insert` add rows without looking, and then the index names the last place only. A query of the
key has to see all of them. So what the index says about a file group counts only where the group's
rows are *accounted for*:

    entries of the index that name the group = rows that the group has, at most

An entry of the index names a group that has the key: entries are added when the row is written,
moved when it moves, and deleted when the row, its file group or its commit goes. (Where an entry is
missing, the group has more rows than entries.) So the keys of a group's entries are among the keys
of its rows, there are not fewer of them than rows, and therefore they are all of them: a key whose
entry does not name the group is not in it. `index.row_counts` gives the number of rows, never too
low; a group that it cannot count is not believed, and all its slices are kept.

What follows from this, without a rule of its own: groups with a key that is elsewhere too; rows
that were inserted into log files, which Hudi does not index; the empty index that Hudi leaves for
tables without meta fields; a delete that came late and did not win, though it took the entry.

The index describes the newest slices as a snapshot query sees them. It says nothing

* of an instant before the newest one, or when the metadata table lacks one of the instants;
* of read-optimised queries of a merge-on-read table, where a base file shows rows that its log
  files have deleted;
* when it has shards for each partition (`isPartitioned`), where a key may be in several.

All entries are read once, those of a large index in the background, and kept as sorted hashes. Two
keys with one hash cost a slice that is kept for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.expr.evaluate import Evidence
from pyhudi_expr.index.hashed_entries import UNLISTED, HashedEntries
from pyhudi_expr.index.leaf_answers import LeafAnswers
from pyhudi_expr.index.once import Once
from pyhudi_expr.index.planner import Question, StillReadingError, is_worth
from pyhudi_expr.index.record_keys import RECORD_KEY, equality, exact
from pyhudi_expr.index.row_counts import Counts, row_counts
from pyhudi_expr.mdt.byte_strings import ByteStrings
from pyhudi_expr.mdt.file_group import EncodedRecords
from pyhudi_expr.mdt.hashed_records import newest
from pyhudi_expr.mdt.index_definitions import index_definitions
from pyhudi_expr.mdt.key_hashes import Hashes, hashes
from pyhudi_expr.mdt.reader import RECORD_INDEX, MetadataTable
from pyhudi_expr.mdt.record_locations import group_of, locations
from pyhudi_expr.table.listing import FileListing, TableView
from pyhudi_expr.table.properties import TableType

_Flags = npt.NDArray[np.bool_]

#: Changes whenever the columns or their meaning do.
_CONTENT = "record_index 1"
_NO_HASHES, _NO_SLICES = np.zeros(0, np.uint64), np.zeros(0, np.int32)


def describes(mdt: MetadataTable, listing: FileListing) -> bool:
    """Whether indexes of rows are about what the listing shows: all of it, and nothing newer."""
    table = mdt.table
    if listing.instant is None or listing.instant != table.instant:
        return False
    merged = table.properties.table_type is TableType.MERGE_ON_READ
    if merged and listing.view is TableView.READ_OPTIMIZED:
        return False
    return all(mdt.covers(instant.requested) for instant in table.timeline.writes)


def record_index(mdt: MetadataTable, listing: FileListing) -> RecordIndex | None:
    """The table's record index, if it has one that can be asked about the listing."""
    if RECORD_INDEX not in mdt.partitions or not mdt.table.properties.meta_fields:
        return None
    definition = index_definitions(mdt.table).get(RECORD_INDEX)
    if definition is not None and definition.options.get("isPartitioned", "").lower() == "true":
        return None
    return RecordIndex(mdt, listing) if describes(mdt, listing) else None


@dataclass(frozen=True)
class KeyLocations:
    """entries: of all keys. believed: one flag for each slice."""

    entries: HashedEntries
    believed: _Flags

    @staticmethod
    def counted(entries: HashedEntries, rows: Counts) -> KeyLocations:
        """rows: of each slice, at most; -1 where that is unknown."""
        return KeyLocations(entries, entries.per_slice(len(rows)) == rows)

    def slices_of(self, keys: Hashes) -> _Flags:
        """For each slice whether it may hold one of the keys, given by their hashes."""
        return self.entries.find(keys, len(self.believed)) | ~self.believed


class RecordIndex:
    """The entries of `record_index`, and a source of evidence for record keys. Thread safe."""

    name = RECORD_INDEX

    def __init__(self, mdt: MetadataTable, listing: FileListing) -> None:
        self._mdt = mdt
        self._listing = listing
        self._read = Once(self._entries)

    @property
    def nbytes(self) -> int:
        """Memory held, bytes."""
        return self._read.made.entries.nbytes if self._read.made else 0

    def answer(self, question: Question) -> Evidence | None:
        """See `Source`."""
        asked = [(leaf, equality(leaf)) for leaf in question.positive_leaves]
        wanted = [
            (leaf, found[1])
            for leaf, found in asked
            if found and found[0].name == RECORD_KEY and all(map(exact, found[1]))
        ]
        if not wanted or not is_worth(question, self.read_bytes):
            return None
        if not self._read.is_ready(self.read_bytes, question.footer_wait):
            raise StillReadingError
        answers = LeafAnswers(self._listing)
        for leaf, options in wanted:
            keys = ByteStrings.of([option.lower for option in options])
            answers.add(leaf, self.slices_of(hashes(keys)))
        return answers

    @property
    def read_bytes(self) -> int:
        """What the next look-up reads: the whole index, or nothing."""
        return 0 if self._read.made else self._mdt.stored_bytes(RECORD_INDEX)

    def slices_of(self, keys: Hashes) -> _Flags:
        """For each slice whether it may hold one of the keys, given by their hashes."""
        return self.loaded().slices_of(keys)

    def loaded(self) -> KeyLocations:
        """The entries, read at the first call. Raises HudiError."""
        return self._read.value()

    def _entries(self) -> KeyLocations:
        numbers = dict(_listed_groups(self._listing))
        found_hashes, found_slices = [_NO_HASHES], [_NO_SLICES]
        for group in self._mdt.groups(RECORD_INDEX):
            for table in newest(group, _CONTENT, _rows, self._mdt.cache):
                places = table.column("place").combine_chunks()
                known = [group_of(place) for place in places.dictionary.to_pylist()]
                slices = np.array([numbers.get(place, UNLISTED) for place in known], np.int32)
                found_slices.append(slices[places.indices.to_numpy()])
                found_hashes.append(table.column("id").to_numpy())
        entries = HashedEntries.of(np.concatenate(found_hashes), np.concatenate(found_slices))
        return KeyLocations.counted(entries, row_counts(self._mdt, self._listing))


def _rows(records: EncodedRecords) -> pa.Table:
    """The records' keys as hashes, and their places."""
    ids = hashes(records.cells.key_strings)
    nothing = np.zeros(len(ids), np.bool_)
    return pa.table({"id": ids, "deleted": nothing, "place": locations(records)})


def _listed_groups(listing: FileListing) -> Iterator[tuple[tuple[str, str], int]]:
    partitions = listing.partitions.take(pa.array(listing.slice_partition)).to_pylist()
    ids = listing.slice_file_id.to_pylist()
    for number, group in enumerate(zip(partitions, ids, strict=True)):
        yield group, number
