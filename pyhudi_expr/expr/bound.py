"""Bound predicates: columns are those of a table, literals are intervals of their domains.

What `pyhudi_expr.expr.bind` makes and `pyhudi_expr.expr.evaluate` judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from pyhudi_expr.expr.domains import Domain
from pyhudi_expr.expr.functions import Function
from pyhudi_expr.expr.nodes import CharType, Constant, Op, Unknown


@dataclass(frozen=True)
class BoundColumn:
    """A column of the table. name: as in the schema, nested fields joined by dots (Hudi's way)."""

    name: str
    type: pa.DataType
    domain: Domain
    char: CharType | None = None


@dataclass(frozen=True)
class BoundLiteral:
    """An interval of the other operand's domain; both ends int, ``Decimal`` or bytes."""

    lower: Any
    upper: Any
    domain: Domain


@dataclass(frozen=True)
class BoundCall:
    """A function whose bounds follow from those of its operand. name: for people."""

    name: str
    function: Function
    term: BoundTerm
    domain: Domain


BoundTerm: TypeAlias = BoundColumn | BoundLiteral | BoundCall


@dataclass(frozen=True)
class BoundComparison:
    """EQ, NULL_SAFE_EQ, LT or LTEQ of two terms of one domain."""

    op: Op
    left: BoundTerm
    right: BoundTerm


@dataclass(frozen=True)
class BoundIn:
    """A term among intervals; `options` are sorted by their lower ends."""

    term: BoundTerm
    options: tuple[BoundLiteral, ...]


@dataclass(frozen=True)
class BoundIsNull:
    """A term IS NULL."""

    term: BoundTerm


@dataclass(frozen=True)
class BoundStartsWith:
    """A text term with a prefix. successor: the least bytes above all that start with it."""

    term: BoundTerm
    prefix: bytes
    successor: bytes


#: What indexes are asked about.
Leaf: TypeAlias = BoundComparison | BoundIn | BoundIsNull | BoundStartsWith


@dataclass(frozen=True)
class BoundAnd:
    """Every child."""

    children: tuple[BoundExpression, ...]


@dataclass(frozen=True)
class BoundOr:
    """At least one child."""

    children: tuple[BoundExpression, ...]


@dataclass(frozen=True)
class BoundNot:
    """TRUE and FALSE exchanged."""

    child: BoundExpression


BoundExpression: TypeAlias = BoundAnd | BoundOr | BoundNot | Leaf | Constant | Unknown


def unknown_reasons(node: BoundExpression) -> list[str]:
    """Why pieces of the predicate cannot be judged, each reason once."""
    match node:
        case BoundAnd(children=nodes) | BoundOr(children=nodes):
            return list(dict.fromkeys(r for child in nodes for r in unknown_reasons(child)))
        case BoundNot(child=child):
            return unknown_reasons(child)
        case Unknown(reason=reason):
            return [reason]
    return []


def columns(node: BoundExpression) -> dict[str, BoundColumn]:
    """The columns that a bound predicate needs evidence of, by name."""
    found: dict[str, BoundColumn] = {}
    stack: list[Any] = [node]
    while stack:
        top = stack.pop()
        match top:
            case BoundAnd(children=nodes) | BoundOr(children=nodes):
                stack.extend(nodes)
            case BoundNot(child=child):
                stack.append(child)
            case BoundComparison(left=left, right=right):
                stack.extend((left, right))
            case BoundIn(term=term) | BoundIsNull(term=term) | BoundStartsWith(term=term):
                stack.append(term)
            case BoundCall(term=term):
                stack.append(term)
            case BoundColumn():
                found[top.name] = top
    return found
