"""Find the files that statistics entries describe."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, Int64Array, string_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.keys import id64, partition_key
from pyhudi_expr.tables.mdt.bytes.string_index import StringIndex


class EntryPositions:
    """The positions of a listing's files by their partitions and names."""

    def __init__(self, listing: FileListing) -> None:
        """Take a listing; what finds its files is made at the first use."""
        self._listing = listing

    def prepare(self) -> None:
        """Make what finds the files: once, and not by several threads."""
        self._names  # noqa: B018

    def of(self, keys: AnyArray, file_names: AnyArray) -> Int64Array:
        """Return for each entry the position of its file in the listing; -1 if it is not listed.

        Args:
            keys: The keys of the entries.
            file_names: The names of the files that they describe.
        """
        if not self._listing.num_files:
            return np.full(len(keys), -1, np.int64)
        # Bytes, not characters: a key in another form is found nowhere.
        found = pc.index_in(pc.binary_slice(keys.cast(pa.binary()), 12, 24), self._partition_ids)
        partition = np.asarray(found.fill_null(-1).to_numpy(), dtype=np.int64)
        if not self._names.are_distinct:
            entries = _qualified(pa.array(partition), file_names)
            return self._qualified_names.find(entries)
        positions = self._names.find(file_names.fill_null(""))
        # A name that is not listed gets any partition here, and stays -1.
        positions[self._listing.file_partition[positions] != partition] = -1
        return positions

    @computed_once
    def _partition_ids(self) -> AnyArray:
        paths = string_list(self._listing.partitions)
        return pa.array([id64(partition_key(path)).encode() for path in paths], pa.binary())

    @computed_once
    def _names(self) -> StringIndex:
        return StringIndex(self._listing.file_name)

    @computed_once
    def _qualified_names(self) -> StringIndex:
        """The index of names with partitions, where files of different partitions share a name."""
        partition = pa.array(self._listing.file_partition)
        return StringIndex(_qualified(partition, self._listing.file_name))


def _qualified(partition: AnyArray, name: AnyArray) -> AnyArray:
    return pc.binary_join_element_wise(pc.cast(partition, pa.string()), name.fill_null(""), "/")
