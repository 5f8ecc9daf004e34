"""Bound predicates: columns are those of a table, literals are intervals of their domains.

`pyhudi_expr.expr.bind` creates them, `pyhudi_expr.expr.evaluate` evaluates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias, overload

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import (
    arrow_list,
)
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.domains import Domain
from pyhudi_expr.expr.functions.signature import Function, is_by_value, why_unknown
from pyhudi_expr.expr.nodes import CharType, Constant, Op, Unknown


@dataclass(frozen=True)
class BoundColumn:
    """A column of the table.

    Attributes:
        name: The name in the schema, nested fields joined by dots (as in Hudi).
        null_if_absent: Whether readers show NULL for the rows of a file that lacks it.
    """

    name: str
    type: pa.DataType
    domain: Domain
    char: CharType | None = None
    null_if_absent: bool = False

    def __hash__(self) -> int:
        """Return the name's hash: that of a type takes longer than an evaluation."""
        return hash(self.name)


@dataclass(frozen=True)
class BoundLiteral:
    """An interval of the other operand's domain; both ends int, ``Decimal`` or bytes."""

    lower: Any
    upper: Any
    domain: Domain

    def __hash__(self) -> int:
        """Return a hash of the ends alone: it is computed several times for each request."""
        return hash((self.lower, self.upper))


@dataclass(frozen=True)
class BoundCall:
    """A function of bound terms, which may be literals.

    Attributes:
        name: The function's name in the query, in lower case; internal conversions have names of
            two words.
    """

    name: str
    function: Function
    args: tuple[BoundTerm, ...]
    domain: Domain


BoundTerm: TypeAlias = BoundColumn | BoundLiteral | BoundCall


@dataclass(frozen=True)
class BoundComparison:
    """EQ, NULL_SAFE_EQ, LT or LTEQ of two terms of one domain."""

    op: Op
    left: BoundTerm
    right: BoundTerm


@dataclass(frozen=True, eq=False)
class KeyOptions(Sequence[BoundLiteral]):
    """Many options of IN, which become literals only where one is asked for.

    Attributes:
        lows: The lower ends, ascending: int64 of numpy, or Arrow values (see `domains`).
        highs: The upper ends.
    """

    lows: Any
    highs: Any
    domain: Domain

    def __len__(self) -> int:
        """Return the number of options."""
        return len(self.lows)

    @overload
    def __getitem__(self, index: int) -> BoundLiteral: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[BoundLiteral]: ...

    def __getitem__(self, index: int | slice) -> BoundLiteral | Sequence[BoundLiteral]:
        """Return one option, or some of them."""
        if isinstance(index, slice):
            return KeyOptions(self.lows[index], self.highs[index], self.domain)
        return next(iter(self[range(len(self))[index] :][:1]))

    def __iter__(self) -> Iterator[BoundLiteral]:
        """Return all options."""
        lows, highs = self.lows.tolist(), self.highs.tolist()
        for low, high in zip(lows, highs, strict=True):
            yield BoundLiteral(low, high, self.domain)


@dataclass(frozen=True)
class BoundIn:
    """A term among intervals; `options` are sorted by their lower ends."""

    term: BoundTerm
    options: tuple[BoundLiteral, ...] | KeyOptions

    @computed_once
    def ends(self) -> tuple[Any, Any]:
        """The options' lower ends and, for each, the greatest upper end so far: int64 or Arrow."""
        if isinstance(self.options, KeyOptions):
            return self.options.lows, self.options.highs
        lows = [option.lower for option in self.options]
        highs = [option.upper for option in self.options]
        if highs != lows:  # usually all are single values, in order
            highs = list(accumulate(highs, max))
        if self.term.domain.is_ordinal:
            return np.array(lows, dtype=np.int64), np.array(highs, dtype=np.int64)
        type_ = self.term.domain.arrow_type
        return arrow_list(lows, type_), arrow_list(highs, type_)


@dataclass(frozen=True)
class BoundIsNull:
    """A term IS NULL."""

    term: BoundTerm


@dataclass(frozen=True)
class BoundStartsWith:
    """A text term with a prefix.

    Attributes:
        successor: The least bytes above all texts with the prefix.
    """

    term: BoundTerm
    prefix: bytes
    successor: bytes


@dataclass(frozen=True)
class BoundMatches:
    """A text term that begins with (is, if `whole`) bytes of these classes.

    It is a necessary condition: a container without a match cannot make the predicate TRUE; a match
    proves nothing. See `pyhudi_expr.expr.functions.texts`.
    """

    term: BoundTerm
    begin: tuple[frozenset[int], ...]
    whole: bool


#: The nodes that indexes evaluate.
Leaf: TypeAlias = BoundComparison | BoundIn | BoundIsNull | BoundStartsWith | BoundMatches


@dataclass(frozen=True)
class BoundAnd:
    """TRUE if every child is."""

    children: tuple[BoundExpression, ...]


@dataclass(frozen=True)
class BoundOr:
    """TRUE if at least one child is."""

    children: tuple[BoundExpression, ...]


@dataclass(frozen=True)
class BoundNot:
    """Exchanges TRUE and FALSE."""

    child: BoundExpression


BoundExpression: TypeAlias = BoundAnd | BoundOr | BoundNot | Leaf | Constant | Unknown


def bound_children(node: BoundExpression | BoundTerm) -> tuple[BoundExpression | BoundTerm, ...]:
    """Return the nodes directly below `node`, left to right, without the options of IN."""
    match node:
        case BoundAnd(children=nodes) | BoundOr(children=nodes):
            return nodes
        case BoundNot(child=child):
            return (child,)
        case BoundComparison(left=left, right=right):
            return (left, right)
        case BoundIn(term=term) | BoundIsNull(term=term) | BoundStartsWith(term=term):
            return (term,)
        case BoundMatches(term=term):
            return (term,)
        case BoundCall(args=args):
            return args
        case _:
            return ()


def walk(node: BoundExpression | BoundTerm) -> list[BoundExpression | BoundTerm]:
    """Return `node` and everything below it, parents first, without recursion."""
    found, stack = list[BoundExpression | BoundTerm](), [node]
    while stack:
        top = stack.pop()
        found.append(top)
        stack.extend(reversed(bound_children(top)))
    return found


def unknown_reasons(
    node: BoundExpression, is_single: Callable[[BoundColumn], bool] = lambda _: False
) -> list[str]:
    """Return why parts of the predicate cannot be evaluated, each reason once.

    Args:
        node: The predicate.
        is_single: Whether a column has a single value in each container, as a partition has: all
            functions with a rule are evaluated for it. Asked only where it matters.
    """
    reasons = []
    for top in walk(node):
        match top:
            case Unknown(reason=reason):
                reasons.append(reason)
            case BoundCall(function=function):
                found = why_unknown(function)
                if found is None or not (own := columns(top).values()):
                    continue
                if not (is_by_value(function) and all(map(is_single, own))):
                    reasons.append(found)
    return list(dict.fromkeys(reasons))


def columns(node: BoundExpression | BoundTerm) -> dict[str, BoundColumn]:
    """Return the columns of a bound predicate, by name."""
    return {top.name: top for top in walk(node) if isinstance(top, BoundColumn)}
