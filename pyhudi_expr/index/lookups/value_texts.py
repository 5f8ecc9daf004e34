"""How secondary indexes write the values of a column, and which values a predicate looks up.

Text is written as it is, integers in digits, dates as days since 1970,
timestamps in microseconds; in indexes of the extension also booleans as `true` and `false`, and
decimals as their unscaled integers. If such an index holds text that is not a number, no number is
looked up in it. Floats are not looked up, as their text is Java's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyhudi_expr.expr.bound import BoundColumn, BoundIsNull, BoundLiteral, Leaf
from pyhudi_expr.expr.domains import Domain, Kind, unscaled
from pyhudi_expr.index.lookups.key_predicates import equality, exact
from pyhudi_expr.tables.mdt.store.secondary_keys import NULL_VALUE

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

    See `spark.entries.secondary_index.value_texts`.
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
