"""`bloom_filters`: a Bloom filter of the record keys of each base file.

A filter shows that a key is surely not in the file that it was written with, whatever happened to
the table since. It is valid for any view and any instant at which the file is read. It says nothing
about log files. A filter that is missing, empty or of an unknown kind gives no evidence.

Filters are large (some 300 KB for each file by default). They are read only for the files that
remain after all other evidence, and only for a limited number of files.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np

from pyhudi_expr.arrays import Int64Array, string_list
from pyhudi_expr.expr.bound import Leaf
from pyhudi_expr.expr.evaluate import Evidence
from pyhudi_expr.index.lookups import LookupEvidence
from pyhudi_expr.index.lookups.key_predicates import equality, exact
from pyhudi_expr.index.planner import Answer, CostedSource, LookupCost, Question
from pyhudi_expr.tables.hudi_names import BLOOM_FILTERS, RECORD_KEY
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import bloom_filter_key
from pyhudi_expr.tables.mdt.records.bloom_filter import (
    BloomFilter,
    HashedKeys,
    UnreadableFilterError,
    parse,
)
from pyhudi_expr.tables.mdt.records.metadata_records import Payload
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

#: A filter takes some milliseconds to read; this is how many a query can wait for.
MOST_FILES = 500
_FILES_AT_ONCE = 32
_CACHE_BYTES = 64 << 20

WantedValues = Sequence[tuple[Leaf, Sequence[bytes]]]
"""Leaves, each with the values that it holds something to."""


class BloomFilters(CostedSource):
    """Evidence about record keys from filters that are read on demand."""

    def __init__(self, mdt: MetadataTable, listing: FileListing, name: str = BLOOM_FILTERS) -> None:
        """Open the filters of a metadata partition for the files of a listing."""
        self.name = name
        self._mdt = mdt
        self._listing = listing
        self._lock = threading.Lock()
        self._known: OrderedDict[int, BloomFilter | None] = OrderedDict()
        self._held = 0

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._held

    def estimate_cost(self, question: Question) -> LookupCost | None:
        """Estimate the cost, see `CostedSource`."""
        return self.cost(question, _wanted_keys(question))

    def answer(self, question: Question) -> Answer | None:
        """Evaluate the leaves over the record key, see `Source`."""
        values_of_leaves = _wanted_keys(question)
        return Answer(self.evidence(question, values_of_leaves)) if values_of_leaves else None

    def cost(self, question: Question, values_of_leaves: WantedValues) -> LookupCost | None:
        """Estimate the cost of `evidence`; None if there are no leaves, or too many files."""
        files = len(self._remaining_base_files(question))
        values = sum(len(of_leaf) for _, of_leaf in values_of_leaves)
        if not values or files > MOST_FILES:
            return None
        return LookupCost(self._read_bytes(files), values)

    def evidence(self, question: Question, values_of_leaves: WantedValues) -> Evidence:
        """Return for each leaf the files whose filter may hold one of its values.

        Raises:
            HudiError: The index cannot be read.
        """
        files = self._remaining_base_files(question)
        keys = [HashedKeys(ByteStrings.of(list(values))) for _, values in values_of_leaves]
        possible = [np.ones(self._listing.num_files, np.bool_) for _ in values_of_leaves]
        with self._lock:
            for file, bloom in self._filters(files.tolist()):
                for flags, hashed in zip(possible, keys, strict=True):
                    flags[file] = bloom.may_hold_any(hashed)
        answers = LookupEvidence(self._listing)
        for (leaf, _), flags in zip(values_of_leaves, possible, strict=True):
            answers.add_files(leaf, flags)
        return answers

    def _remaining_base_files(self, question: Question) -> Int64Array:
        """Return the base files that remain."""
        return np.flatnonzero(question.files & ~self._listing.file_is_log)

    def _read_bytes(self, files: int) -> int:
        """Estimate the size of so many files' filters in the index."""
        base_files = int(np.count_nonzero(~self._listing.file_is_log))
        return self._mdt.stored_bytes(self.name) * files // max(base_files, 1)

    def _filters(self, files: Sequence[int]) -> Iterator[tuple[int, BloomFilter]]:
        """Read the usable filters of the files."""
        for at in range(0, len(files), _FILES_AT_ONCE):
            chosen = files[at : at + _FILES_AT_ONCE]
            missing = [file for file in chosen if file not in self._known]
            self._read(missing)
            for file in chosen:
                found = self._known[file]
                if found is not None:
                    yield file, found
            self._forget()

    def _read(self, files: Sequence[int]) -> None:
        listing = self._listing
        names = string_list(listing.file_name.take(list(files))) if files else []
        partitions = string_list(listing.partitions)
        keys = {
            bloom_filter_key(partitions[listing.file_partition[file]], name): file
            for file, name in zip(files, names, strict=True)
        }
        records = self._mdt.lookup(self.name, keys)
        found = dict(zip(records.keys, records.payloads, strict=True))
        for key, file in keys.items():
            bloom = _filter(found[key]) if key in found else None
            self._known[file] = bloom
            self._held += bloom.nbytes if bloom else 0

    def _forget(self) -> None:
        while self._held > _CACHE_BYTES:
            _, oldest = self._known.popitem(last=False)
            self._held -= oldest.nbytes if oldest else 0


def _wanted_keys(question: Question) -> WantedValues:
    return [
        (leaf, [option.lower for option in found[1]])
        for leaf in question.positive_leaves
        if (found := equality(leaf)) is not None
        and found[0].name == RECORD_KEY
        and all(map(exact, found[1]))
    ]


def _filter(payload: Payload) -> BloomFilter | None:
    """Return the record's filter; None if it gives no evidence."""
    metadata = payload["BloomFilterMetadata"]
    try:
        found = parse(metadata["type"], metadata["bloomFilter"])
    except UnreadableFilterError:
        return None
    return None if found.is_empty else found
