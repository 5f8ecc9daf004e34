"""Secondary indexes over several columns, which only the extension has.

Such an index knows the values that one row has in all of its columns, and it is sorted by them. So
equalities on the first column, or on the first two, and so on, name adjacent entries. They have to
be of one conjunction, which is TRUE only for rows that make each part TRUE: values of different
rows are never put together. AND below OR is looked up by itself; what is below NOT, and OR below
AND, says nothing of the conjunction.

What is found is evidence about one leaf of the conjunction: a slice without a row of these values
has none for which the whole conjunction is TRUE, so there it does not matter what the leaf is. That
holds only if the leaf occurs nowhere else in the predicate, as sources are asked leaf by leaf.

An entry's value is the
values of all columns, so those of the first ones are the beginning of it: the shard follows from
the first column, and the entries are adjacent. They are looked up directly, also in a small index.

When the index is trusted is the same as for one column: it has one entry for each record key
(`index.lookups.secondary_index`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundExpression,
    BoundIsNull,
    BoundNot,
    BoundOr,
    Leaf,
    walk,
)
from pyhudi_expr.expr.nodes import Constant, Unknown
from pyhudi_expr.index.lookups.direct_lookups import ValueLookup, by_shard
from pyhudi_expr.index.lookups.secondary_index import SecondaryIndex
from pyhudi_expr.index.lookups.value_places import WantedValues, extension_text, lookup_values
from pyhudi_expr.index.planner import Question
from pyhudi_expr.tables.mdt.bytes.keys import (
    composite_beginnings,
    composite_parts,
    composite_value,
    escape,
    secondary_shard_key,
)
from pyhudi_expr.tables.mdt.store.file_group import FileGroup

MOST_COMBINATIONS = 1000
"""Of the values of several columns; of more, fewer columns are looked up."""

ValuesOf = Callable[[Leaf, str], Sequence[bytes] | None]
"""The values, written as in the index, that a leaf holds a column to; None if it does not."""

_Held = tuple[Leaf, Sequence[bytes | None]]


@dataclass(frozen=True)
class CompositeLookup:
    """A look-up that a conjunction implies.

    Attributes:
        leaf: The leaf of the conjunction that the evidence is about.
        beginnings: Of values in the index (`mdt.bytes.keys.composite_value`): each row that makes
            the conjunction TRUE has one of them. None is the beginning of another one.
    """

    leaf: Leaf
    beginnings: tuple[bytes, ...]


def composite_lookups(
    predicate: BoundExpression, fields: Sequence[str], values_of: ValuesOf
) -> list[CompositeLookup]:
    """Return what an index can look up: one look-up for each conjunction with values for it.

    Args:
        predicate: The bound predicate.
        fields: The columns of the index, in its order.
        values_of: See `ValuesOf`.
    """
    found = []
    for leaf, values in held_values(predicate, fields, values_of):
        beginnings = dict.fromkeys(map(composite_value, itertools.product(*values)))
        found.append(CompositeLookup(leaf, tuple(beginnings)))
    return found


def held_values(
    predicate: BoundExpression, fields: Sequence[str], values_of: ValuesOf
) -> Iterator[tuple[Leaf, list[Sequence[bytes | None]]]]:
    """Return for each conjunction the values that it holds the first columns to.

    They come with a leaf of the conjunction that is nowhere else in the predicate, and have at most
    `MOST_COMBINATIONS` if they are of several columns. The arguments are those of
    `composite_lookups`.
    """
    occurrences = Counter(id(node) for node in walk(predicate))
    for conjunction in _conjunctions(predicate):
        run = _leading_run(conjunction, fields, values_of)
        leaf = next((leaf for leaf, _ in reversed(run) if occurrences[id(leaf)] == 1), None)
        if leaf is not None:
            yield leaf, [values for _, values in run]


def _conjunctions(node: BoundExpression) -> Iterator[list[Leaf]]:
    """Return the leaves of each conjunction that excludes a file if it cannot be TRUE."""
    match node:
        case BoundOr(children=nodes):
            for child in nodes:
                yield from _conjunctions(child)
        case BoundAnd():
            parts = list(_parts(node))
            yield [part for part in parts if not isinstance(part, BoundOr)]
            for part in parts:
                if isinstance(part, BoundOr):
                    yield from _conjunctions(part)
        case BoundNot() | Constant() | Unknown():
            return
        case _:
            yield [node]


def _parts(node: BoundExpression) -> Iterator[Leaf | BoundOr]:
    match node:
        case BoundAnd(children=nodes):
            for child in nodes:
                yield from _parts(child)
        case BoundNot() | Constant() | Unknown():
            return
        case _:
            yield node


def _leading_run(leaves: Sequence[Leaf], fields: Sequence[str], values_of: ValuesOf) -> list[_Held]:
    """Return the leaves and values of as many of the first columns as can be looked up."""
    run: list[_Held] = []
    for field in fields:
        held = [
            (leaf, values)
            for leaf in leaves
            if (values := _values(leaf, field, values_of)) is not None
        ]
        if not held:
            break
        # Each of several equalities on a column is sufficient.
        run.append(min(held, key=lambda one: len(one[1])))
        if len(run) > 1 and math.prod(len(values) for _, values in run) > MOST_COMBINATIONS:
            return run[:-1]
    return run


def _values(leaf: Leaf, field: str, values_of: ValuesOf) -> Sequence[bytes | None] | None:
    found = values_of(leaf, field)
    # A text that is a NUL is no null here, other than in an index over one column.
    return [None] if found is not None and isinstance(leaf, BoundIsNull) else found


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
