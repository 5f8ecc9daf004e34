"""How secondary indexes write the values of a column, and where these are: in memory, in files.

Text is written as it is, integers in digits, dates as days since 1970,
timestamps in microseconds; in indexes of the extension also booleans as `true` and `false`, and
decimals as their unscaled integers. If such an index holds text that is not a number, no number is
looked up in it. Floats are not looked up, as their text is Java's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.computed_once import LazyValue
from pyhudi_expr.expr.bound import BoundColumn, BoundIsNull, BoundLiteral, Leaf
from pyhudi_expr.expr.domains import Domain, Kind, unscaled
from pyhudi_expr.index.lookups.direct_lookups import ValueLookup
from pyhudi_expr.index.lookups.key_predicates import equality, exact
from pyhudi_expr.index.lookups.record_index import KeyLocations
from pyhudi_expr.index.lookups.slice_proofs import IndexedRows
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import Digests, Hashes, digest_sum, hashes
from pyhudi_expr.tables.mdt.store.hashed_records import UNLISTED, HashedEntries
from pyhudi_expr.tables.mdt.store.index_records import NULL_VALUE, joined_keys

_MICROS = 10**6

_Text = Callable[[BoundLiteral, Domain], bytes | None]


@dataclass(frozen=True)
class WantedValues:
    """Values to look up, for evidence about a leaf.

    Attributes:
        values: The values, written as in the index.
        are_numbers: Whether they are found only if the index holds numbers in digits alone.
    """

    leaf: Leaf
    values: Sequence[bytes]
    are_numbers: bool


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

    See `mdt.store.index_records.value_texts`.
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


_NO_HASHES, _NO_SLICES = np.zeros(0, np.uint64), np.zeros(0, np.int32)


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

    def slices_with(self, values: Sequence[bytes]) -> BoolArray:
        """Return for each slice whether it may hold one of the values, written as in the index."""
        return self.slices_of(hashes(ByteStrings.of(values)))

    def find_all(self, rows: IndexedRows, slice_: int) -> bool:
        """Return whether an entry of each row's value leads to the slice."""
        return self.entries.find_all(hashes(rows.values), slice_)


@dataclass(frozen=True)
class LookedUpValues:
    """The locations of values, looked up one by one.

    The attributes are those of `ValueLocations`, and:
        digests: For each slice, the sum of the digests of the entries of its keys. None: unknown.
    """

    lookup: ValueLookup
    digests: LazyValue[Digests | None]
    is_trusted: BoolArray
    numbers_only: bool

    def slices_with(self, values: Sequence[bytes]) -> BoolArray:
        """Return for each slice whether it may hold one of the values, written as in the index.

        Raises:
            HudiError: The index cannot be read.
        """
        found = self.lookup.slices_of(values)
        flags = ~self.is_trusted
        flags[found[found != UNLISTED]] = True
        return flags

    def find_all(self, rows: IndexedRows, slice_: int) -> bool:
        """Return whether there is the entry of each row, and no other of the slice's keys.

        Raises:
            HudiError: The index cannot be read.
        """
        known = self.digests.value()
        if known is None:
            return False
        return bool((digest_sum(joined_keys(rows.values, rows.keys)) == known[slice_]).all())


ValuePlaces = ValueLocations | LookedUpValues
"""Where values are."""


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


@dataclass(frozen=True)
class AnsweredSlices:
    """For how many slices a query trusts a secondary index.

    Attributes:
        slices: Number of slices in the table.
        answered: Number of slices that it is trusted about.
        lacking: Number of slices with rows that it does not find there, though the record index
            has their keys.
        unreadable: Number of slices whose rows cannot be read here.
        unread: Number of other slices whose rows have not been compared with it.
    """

    slices: int
    answered: int
    lacking: int
    unreadable: int
    unread: int

    @property
    def is_repaired_by_building(self) -> bool:
        """Whether building the index anew makes it answer for more slices."""
        return self.lacking > 0
