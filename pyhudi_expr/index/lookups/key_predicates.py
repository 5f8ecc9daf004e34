"""What a predicate on the key's columns implies for `_hoodie_record_key`.

Hudi's key generators spell a record's key from its key columns, so equalities on all of them give
the key. `with_record_keys` writes that down: beside such equalities it puts the comparison of
`_hoodie_record_key` that follows from them. The new predicate is TRUE for the same rows, and an
index of record keys need look at one column only.

==================  ==================================================================
key                 its text
==================  ==================================================================
one column          the value; `column:value` of COMPLEX generators, before or after
                    some versions of Hudi: both are looked for
several columns     `a:value,b:value`, in the order of `hoodie.table.recordkey.fields`
value: text         as it is; `__empty__` for the empty text
value: integer      decimal digits
value: boolean      `true`, `false`
value: date         `yyyy-MM-dd` or, by other writers, days since 1970: both are looked for
==================  ==================================================================

Other types (timestamps, decimals, floats) are spelled in several ways, by zone, scale and writer:
they imply nothing; neither do generators that Hudi does not bring.

Keys that the table does not store (virtual keys) are known to indexes of our own only, and spelled
there by the table's own generator: so the literals are put through it (`VirtualSpelling`), and more
types imply a key. Floating-point numbers do not, as 0.0 equals -0.0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Protocol

import pyarrow as pa

from pyhudi_expr.arrays import string_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundLiteral,
    BoundNot,
    BoundOr,
    KeyOptions,
    columns,
)
from pyhudi_expr.expr.domains import Domain, Kind
from pyhudi_expr.expr.nodes import Op, PythonValue, Unknown
from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.keys.definition import KeyDefinition, virtual_keys
from pyhudi_expr.tables.keys.generators import KeyGenerator
from pyhudi_expr.tables.properties import SliceMerging, TableProperties, slice_merging

_TEXT = Domain(Kind.TEXT)
KEY_COLUMN = BoundColumn(RECORD_KEY, pa.string(), _TEXT)
_EPOCH = date(1970, 1, 1)
_DATES = range((date.min - _EPOCH).days, (date.max - _EPOCH).days + 1)
_EMPTY = "__empty__"
#: Limit for the combinations of a composite key; more imply nothing.
_MOST_COMBINATIONS = 1000
#: Limit for the keys of a join: so many rows are in most files, and looking them up takes longer
#: than the query waits.
_MOST_KEYS = 10_000
#: Hudi's generators: types (version 8) and class names, without the suffixes below.
_GENERATORS = frozenset(
    {"", "SIMPLE", "COMPLEX", "TIMESTAMP", "TIMESTAMPBASED", "CUSTOM"}
    | {"NON_PARTITION", "NONPARTITIONED", "GLOBAL_DELETE", "GLOBALDELETE"}
)


ColumnValues = tuple[BoundColumn, Sequence[BoundLiteral]]
"""A column and the values that an equality holds it to."""


class KeySpelling(Protocol):
    """How the keys of a table are written as text."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of the key."""

    def keys(self, wanted: Mapping[str, ColumnValues]) -> list[str]:
        """Return all keys that rows with these column values may have; [] if unknown.

        Args:
            wanted: For each of the fields the values, all of them exact literals.
        """


@dataclass(frozen=True)
class StoredSpelling:
    """Keys that Hudi's writers stored: the fields, and whether a single field may be named."""

    fields: tuple[str, ...]
    may_name_field: bool

    def keys(self, wanted: Mapping[str, ColumnValues]) -> list[str]:
        """Return the stored keys, see `KeySpelling.keys`."""
        texts: dict[str, list[str]] = {}
        for field in self.fields:
            column, literals = wanted[field]
            spelled = _spellings(literals, column.domain)
            if spelled is None:
                return []
            texts[field] = spelled
        if len(self.fields) == 1:
            (field,), plain = self.fields, texts[self.fields[0]]
            named = [f"{field}:{text}" for text in plain] if self.may_name_field else []
            return plain + named
        parts = [[f"{field}:{text}" for text in texts[field]] for field in self.fields]
        return [",".join(key) for key in _combinations(parts)]


@dataclass(frozen=True)
class VirtualSpelling:
    """Keys that an index of the extension computed from the columns' values."""

    fields: tuple[str, ...]
    generator: KeyGenerator

    def keys(self, wanted: Mapping[str, ColumnValues]) -> list[str]:
        """Return the computed keys, see `KeySpelling.keys`."""
        try:
            values = [
                [_value(literal, column.domain) for literal in literals]
                for column, literals in map(wanted.__getitem__, self.fields)
            ]
            rows = list(_combinations(values))
            columns = [
                pa.array([row[number] for row in rows], wanted[field][0].type)
                for number, field in enumerate(self.fields)
            ]
            keys: list[str] = string_list(self.generator.keys(columns))
        except (HudiError, pa.ArrowException, OverflowError):
            return []  # no such keys, or a type that is not written in one way: nothing is implied
        return keys


@dataclass(frozen=True)
class EitherSpelling:
    """Keys of indexes that write them in two ways."""

    first: KeySpelling
    second: KeySpelling

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of the key, see `KeySpelling.fields`."""
        return self.first.fields

    def keys(self, wanted: Mapping[str, ColumnValues]) -> list[str]:
        """Return the keys in both spellings, see `KeySpelling.keys`."""
        first, second = self.first.keys(wanted), self.second.keys(wanted)
        return first + second if first and second else []


def key_spelling(properties: TableProperties) -> StoredSpelling | None:
    """Return how the table's stored keys are written; None if unknown."""
    generator = properties.key_generator.rpartition(".")[2].upper()
    kind = generator.removesuffix("KEYGENERATOR").removesuffix("_AVRO").removesuffix("AVRO")
    if not properties.meta_fields or not properties.record_key_fields or kind not in _GENERATORS:
        return None
    if slice_merging(properties) is SliceMerging.OPAQUE:
        return None  # a custom merger may change a key column beside an old key
    return StoredSpelling(properties.record_key_fields, kind not in ("SIMPLE", "TIMESTAMP"))


def extension_spelling(
    properties: TableProperties, stored: KeySpelling | None
) -> KeySpelling | None:
    """Return how keys are written for Hudi's indexes and the extension's alike.

    Virtual keys are computed from the columns' values, so these imply them.

    Args:
        properties: The table's properties.
        stored: The `key_spelling`.
    """
    try:
        definition = virtual_keys(properties, properties.name)
        if definition is None:
            return stored
        virtual = _virtual(definition)
    except HudiError:
        return None
    return virtual if stored is None else EitherSpelling(stored, virtual)


def _virtual(definition: KeyDefinition) -> VirtualSpelling:
    return VirtualSpelling(definition.columns, definition.generator())


def with_record_keys(node: BoundExpression, spelling: KeySpelling) -> BoundExpression:
    """Add to a predicate what its equalities imply for the record key.

    The predicate is TRUE for the same rows as before. Nodes below a NOT are unchanged.
    """
    match node:
        case BoundOr(children=nodes):
            return BoundOr(tuple(with_record_keys(child, spelling) for child in nodes))
        case BoundAnd(children=nodes):
            if len(spelling.fields) == 1:
                return BoundAnd(tuple(_flat(with_record_keys(child, spelling) for child in nodes)))
            below = tuple(
                with_record_keys(child, spelling) if isinstance(child, BoundOr) else child
                for child in nodes
            )
            return BoundAnd((*below, *_implied(nodes, spelling)))
        case BoundComparison() | BoundIn():
            implied = _implied([node], spelling)
            return BoundAnd((node, *implied)) if implied else node
    return node


def without_columns(node: BoundExpression, names: Set[str], instead: Unknown) -> BoundExpression:
    """Replace comparisons of these columns by an unknown predicate.

    This is for columns that engines show with other values than indexes hold: meta columns of
    tables with virtual keys (`definition.hidden_columns`), and partition columns of another type.
    """
    match node:
        case BoundAnd(children=nodes):
            return BoundAnd(tuple(without_columns(child, names, instead) for child in nodes))
        case BoundOr(children=nodes):
            return BoundOr(tuple(without_columns(child, names, instead) for child in nodes))
        case BoundNot(child=child):
            return BoundNot(without_columns(child, names, instead))
    return node if names.isdisjoint(columns(node)) else instead


def _flat(nodes: Iterable[BoundExpression]) -> Iterator[BoundExpression]:
    for node in nodes:
        yield from node.children if isinstance(node, BoundAnd) else (node,)


def _implied(nodes: Sequence[BoundExpression], spelling: KeySpelling) -> list[BoundExpression]:
    """Return the comparison of the record key that follows from all nodes together; [] if none."""
    wanted: dict[str, ColumnValues] = {}
    for node in nodes:
        found = _equality_values(node)
        if found is not None:
            # Each of two equalities on a column is sufficient.
            wanted.setdefault(found[0].name, found)
    if not all(field in wanted for field in spelling.fields):
        return []
    keys = sorted({key.encode() for key in spelling.keys(wanted)})
    options = tuple(BoundLiteral(key, key, _TEXT) for key in keys)
    if not options:
        return []
    if len(options) == 1:
        return [BoundComparison(Op.EQ, KEY_COLUMN, options[0])]
    return [BoundIn(KEY_COLUMN, options)]


def _combinations(parts: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Return the product of the parts; nothing if there are too many combinations."""
    if math.prod(map(len, parts)) > _MOST_COMBINATIONS and len(parts) > 1:
        return iter(())
    return itertools.product(*parts)


def _equality_values(node: BoundExpression) -> ColumnValues | None:
    """Return the column and the values of an equality."""
    found = equality(node)
    if found is None or found[0].char is not None or not all(map(exact, found[1])):
        return None
    return found


def equality(node: BoundExpression) -> tuple[BoundColumn, Sequence[BoundLiteral]] | None:
    """Return the column and the values of `column = value` and `column IN (values)`; else None.

    Also None for more keys of a join than are worth a look-up each.
    """
    match node:
        case BoundComparison(op=Op.EQ | Op.NULL_SAFE_EQ, left=left, right=right):
            for term, other in ((left, right), (right, left)):
                if isinstance(term, BoundColumn) and isinstance(other, BoundLiteral):
                    return term, (other,)
        case BoundIn(term=BoundColumn() as column, options=options) if (
            not isinstance(options, KeyOptions) or len(options) <= _MOST_KEYS
        ):
            return column, options
    return None


def exact(literal: BoundLiteral) -> bool:
    """Return whether a literal is one value, not an interval of several."""
    return bool(literal.lower == literal.upper)


def _spellings(literals: Sequence[BoundLiteral], domain: Domain) -> list[str] | None:
    """Return all texts that keys may have for the values; None if unknown."""
    values = [literal.lower for literal in literals]
    match domain.kind:
        case Kind.INTEGER:
            return list(map(str, values))
        case Kind.BOOLEAN:
            return ["true" if value else "false" for value in values]
        case Kind.DATE if all(value in _DATES for value in values):
            dates = [(_EPOCH + timedelta(days=value)).isoformat() for value in values]
            return dates + list(map(str, values))
        case Kind.TEXT:
            try:
                texts = [value.decode() for value in values]
            except UnicodeDecodeError:
                return None
            return [*texts, _EMPTY] if "" in texts else texts
    return None


def _value(literal: BoundLiteral, domain: Domain) -> PythonValue:
    """Return the value as pyarrow takes it for an array of the column's type."""
    value = literal.lower
    match domain.kind:
        case Kind.BOOLEAN:
            return bool(value)
        case Kind.TEXT:
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise HudiError(f"{value!r} is not a text") from error
        case Kind.DECIMAL if domain.is_ordinal:
            return Decimal(value).scaleb(-domain.scale)
        case Kind.INTEGER | Kind.DATE | Kind.INSTANT | Kind.WALL_CLOCK | Kind.DECIMAL | Kind.BINARY:
            return value
    raise HudiError(f"keys of {domain.kind.value} values are spelled in several ways")
