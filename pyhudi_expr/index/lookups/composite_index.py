"""Secondary indexes over several columns, which only the extension has.

What a predicate says of the columns is in `index.lookups.composite_values`. An entry's value is the
values of all columns, so those of the first ones are the beginning of it: the shard follows from
the first column, and the entries are adjacent. They are looked up directly, also in a small index.

When the index is trusted is the same as for one column: it has one entry for each record key
(`index.lookups.secondary_index`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import takewhile

from pyhudi_expr.expr.bound import Leaf
from pyhudi_expr.index.lookups.composite_values import composite_lookups
from pyhudi_expr.index.lookups.direct_lookups import ValueLookup, by_shard
from pyhudi_expr.index.lookups.secondary_index import SecondaryIndex
from pyhudi_expr.index.lookups.value_texts import WantedValues, extension_text, lookup_values
from pyhudi_expr.index.planner import Question
from pyhudi_expr.tables.mdt.bytes.keys import (
    composite_beginnings,
    composite_parts,
    escape,
    secondary_shard_key,
)
from pyhudi_expr.tables.mdt.store.file_group import FileGroup


class BeginningLookup(ValueLookup):
    """Finds the record keys of values that begin with those of the first columns."""

    def asked(self, values: Sequence[bytes]) -> Iterator[tuple[FileGroup, list[bytes]]]:
        """Return the shards to ask, with the prefixes of the entries to read there."""
        texts = [value.decode() for value in values]
        shard_keys = (secondary_shard_key(composite_parts(text)[0]).encode() for text in texts)
        prefixes = (escape(text).encode() for text in texts)
        return by_shard(self.mdt.groups(self.index), zip(shard_keys, prefixes, strict=True))

    def asked_value(self, found: bytes, asked: Container[bytes]) -> bytes:
        """Return the asked beginning of a value."""
        beginnings = (text.encode() for text in composite_beginnings(found.decode()))
        return next(beginning for beginning in beginnings if beginning in asked)


class CompositeIndex(SecondaryIndex):
    """One index over several columns, a source of evidence about conjunctions. Thread safe."""

    def wanted(self, question: Question) -> list[WantedValues]:
        """Return what to look up: the beginnings of values that conjunctions imply."""
        # A reader may take other values of such columns from paths than the index has from files.
        disputed = question.reading.disputed
        fields = tuple(takewhile(lambda field: field not in disputed, self._definition.fields))
        return [
            WantedValues(found.leaf, found.beginnings, False)
            for found in composite_lookups(question.predicate, fields, _values_of)
        ]

    def open_lookup(self) -> ValueLookup:
        """Return what looks values up in the index's files."""
        return BeginningLookup(self._mdt, self.name, True, self._records.lookup.by_key)

    @property
    def is_small(self) -> bool:
        """False: what is read whole finds whole values only."""
        return False


def _values_of(leaf: Leaf, field: str) -> Sequence[bytes] | None:
    found = lookup_values(leaf, field, extension_text)
    return None if found is None else found[1]
