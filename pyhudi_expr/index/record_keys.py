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
they imply nothing; neither do generators that Hudi does not bring, nor tables that keep no keys.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import pyarrow as pa

from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundLiteral,
    BoundOr,
)
from pyhudi_expr.expr.domains import Domain, Kind
from pyhudi_expr.expr.nodes import Op
from pyhudi_expr.index.merging import Merging, merging_of
from pyhudi_expr.table.properties import TableProperties

RECORD_KEY = "_hoodie_record_key"

_TEXT = Domain(Kind.TEXT)
_KEY_COLUMN = BoundColumn(RECORD_KEY, pa.string(), _TEXT)
_EPOCH = date(1970, 1, 1)
_DATES = range((date.min - _EPOCH).days, (date.max - _EPOCH).days + 1)
_EMPTY = "__empty__"
#: The combinations of a composite key that are looked for; more imply nothing.
_MOST_COMBINATIONS = 1000
#: Hudi's generators: types (version 8) and class names; both without the endings below.
_GENERATORS = frozenset(
    {"", "SIMPLE", "COMPLEX", "TIMESTAMP", "TIMESTAMPBASED", "CUSTOM"}
    | {"NON_PARTITION", "NONPARTITIONED", "GLOBAL_DELETE", "GLOBALDELETE"}
)


@dataclass(frozen=True)
class KeySpelling:
    """How a table spells its record keys: the fields, and whether one field may be named."""

    fields: tuple[str, ...]
    may_name_field: bool


def key_spelling(properties: TableProperties) -> KeySpelling | None:
    """How the table spells its keys; None where that is not known."""
    generator = properties.key_generator.rpartition(".")[2].upper()
    kind = generator.removesuffix("KEYGENERATOR").removesuffix("_AVRO").removesuffix("AVRO")
    if not properties.meta_fields or not properties.record_key_fields or kind not in _GENERATORS:
        return None
    if merging_of(properties) is Merging.OPAQUE:
        return None  # a merger of one's own may change a key column beside an old key
    return KeySpelling(properties.record_key_fields, kind not in ("SIMPLE", "TIMESTAMP"))


def virtual_key_spelling(properties: TableProperties) -> KeySpelling | None:
    """How an index of our own spells the keys of a table that does not store them (virtual keys);
    None: the table stores them. The keys are made of the columns' values, so these imply them."""
    if properties.meta_fields or not properties.record_key_fields:
        return None
    return KeySpelling(properties.record_key_fields, may_name_field=True)


def with_record_keys(node: BoundExpression, spelling: KeySpelling) -> BoundExpression:
    """The predicate with what its equalities imply for the record key, where that is anything.

    It is TRUE for the same rows as before; pieces below a NOT stay as they are.
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


def _flat(nodes: Iterable[BoundExpression]) -> Iterator[BoundExpression]:
    for node in nodes:
        yield from node.children if isinstance(node, BoundAnd) else (node,)


def _implied(nodes: Sequence[BoundExpression], spelling: KeySpelling) -> list[BoundExpression]:
    """The comparison of the record key that follows from all nodes together; [] for none."""
    texts: dict[str, list[str]] = {}
    for node in nodes:
        found = _texts(node)
        if found is not None:
            # Of two equalities on a column either says enough.
            texts.setdefault(found[0], found[1])
    if not all(field in texts for field in spelling.fields):
        return []
    keys = sorted({key.encode() for key in _spelled(texts, spelling)})
    options = tuple(BoundLiteral(key, key, _TEXT) for key in keys)
    if not options:
        return []
    if len(options) == 1:
        return [BoundComparison(Op.EQ, _KEY_COLUMN, options[0])]
    return [BoundIn(_KEY_COLUMN, options)]


def _spelled(texts: Mapping[str, list[str]], spelling: KeySpelling) -> list[str]:
    fields = spelling.fields
    if len(fields) == 1:
        (field,), plain = fields, texts[fields[0]]
        return plain + [f"{field}:{text}" for text in plain] if spelling.may_name_field else plain
    if math.prod(len(texts[field]) for field in fields) > _MOST_COMBINATIONS:
        return []
    named = [[f"{field}:{text}" for text in texts[field]] for field in fields]
    return [",".join(parts) for parts in itertools.product(*named)]


def _texts(node: BoundExpression) -> tuple[str, list[str]] | None:
    """The column that the node holds to certain values, and how keys may spell them."""
    wanted = equality(node)
    if wanted is None or wanted[0].char is not None:
        return None
    column, literals = wanted
    spelled = _spellings(literals, column.domain) if all(map(exact, literals)) else None
    return None if spelled is None else (column.name, spelled)


def equality(node: BoundExpression) -> tuple[BoundColumn, Sequence[BoundLiteral]] | None:
    """The column and the values of `column = value` and `column IN (values)`; else None."""
    match node:
        case BoundComparison(op=Op.EQ | Op.NULL_SAFE_EQ, left=left, right=right):
            for term, other in ((left, right), (right, left)):
                if isinstance(term, BoundColumn) and isinstance(other, BoundLiteral):
                    return term, (other,)
        case BoundIn(term=BoundColumn() as column, options=options):
            return column, options
    return None


def exact(literal: BoundLiteral) -> bool:
    """Whether it is one value, not an interval of several."""
    return bool(literal.lower == literal.upper)


def _spellings(literals: Sequence[BoundLiteral], domain: Domain) -> list[str] | None:
    """All texts that keys may have for the values; None where that is not known."""
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
