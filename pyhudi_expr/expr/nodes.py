"""HudiExpression: what a query demands of a row, independent of engine and table (RFC-27).

Two families of immutable nodes: *predicates* (`HudiExpression`: parents and leaves) are TRUE, FALSE
or NULL, *terms* have a value. Types are Arrow's. No schema is known here; `pyhudi_expr.expr.bind`
adds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from pyhudi_expr.arrays import Mask
from pyhudi_expr.expr.keys import KeyList
from pyhudi_expr.expr.semantics import Zone


class Truth(Flag):
    """A set of truth values that rows may have, as Hive's ``SearchArgument.TruthValue``."""

    YES = 1
    NO = 2
    NULL = 4
    YES_NULL = YES | NULL
    NO_NULL = NO | NULL
    YES_NO = YES | NO
    YES_NO_NULL = YES | NO | NULL


class Op(Enum):
    """Comparison operators; the value is the SQL spelling."""

    EQ = "="
    NULL_SAFE_EQ = "<=>"
    NE = "<>"
    LT = "<"
    LTEQ = "<="
    GT = ">"
    GTEQ = ">="

    @property
    def mirrored(self) -> Op:
        """The operator that gives the same with the operands exchanged."""
        return _MIRRORED.get(self, self)


_MIRRORED = {Op.LT: Op.GT, Op.LTEQ: Op.GTEQ, Op.GT: Op.LT, Op.GTEQ: Op.LTEQ}


@dataclass(frozen=True)
class Column:
    """A column, or a nested field of one.

    Attributes:
        path: The column's name and the fields below it, in any letter case.
        declared: The type that the engine reads the column as, if known (``char`` and ``varchar``
            have no Arrow type: see `CharType`). None: the table's own.
    """

    path: tuple[str, ...]
    declared: pa.DataType | CharType | None = None


@dataclass(frozen=True)
class CharType:
    """``char(n)`` (values compare without trailing spaces) and ``varchar(n)``, in characters."""

    length: int
    padded: bool


#: A value of a literal in Python: None, bool, int, float, Decimal, str or bytes.
PythonValue: TypeAlias = Any


@dataclass(frozen=True)
class Literal:
    """A constant.

    Attributes:
        value: The Python value of the Arrow type; None is NULL. Timestamps are integers in the
            type's unit: ``datetime`` has no nanoseconds.
        type: A ``timestamp`` without zone is a wall clock, one with zone is an instant.
    """

    value: Any
    type: pa.DataType | CharType


@dataclass(frozen=True)
class Cast:
    """A term converted to a type by the engine's rules."""

    term: Term
    type: pa.DataType | CharType


@dataclass(frozen=True)
class Call:
    """A function of terms; `name` in lower case, as in Hive."""

    name: str
    args: tuple[Term, ...]


@dataclass(frozen=True)
class Case:
    """The term of the first branch whose condition is TRUE, else `otherwise`.

    ``coalesce``, ``nvl``, ``ifnull``, ``nullif`` and ``if`` are represented by it, too.
    """

    branches: tuple[tuple[HudiExpression, Term], ...]
    otherwise: Term


@dataclass(frozen=True)
class InZone:
    """A term that an engine evaluates in a zone of its own, whatever the session's zone is."""

    term: Term
    zone: Zone


Term: TypeAlias = Column | Literal | Cast | Call | Case | InZone


class Containers(Protocol):
    """Containers of rows (files, row groups), with what is known of them."""

    def may_match(self, expression: HudiExpression) -> Mask:
        """See `HudiExpression.evaluate`."""


class HudiExpression:
    """A predicate: TRUE, FALSE or NULL for each row. Immutable.

    Front ends make it of an engine's filter (`pyhudi_expr.expr.frontend`).
    """

    def evaluate(self, containers: Containers) -> Mask:
        """Return which containers may hold a row for which the expression is TRUE.

        Args:
            containers: N containers, such as `pyhudi_expr.expr.bind.KnownContainers`.

        Returns:
            N flags, or one for all containers. False: what is known proves that no row matches.
            True: one may; so it is also for what cannot be evaluated.
        """
        return containers.may_match(self)


class ParentNode(HudiExpression):
    """An expression of other expressions."""


class LeafNode(HudiExpression):
    """An expression of terms, or of nothing."""


@dataclass(frozen=True)
class And(ParentNode):
    """TRUE if every child is."""

    children: tuple[HudiExpression, ...]


@dataclass(frozen=True)
class Or(ParentNode):
    """TRUE if at least one child is."""

    children: tuple[HudiExpression, ...]


@dataclass(frozen=True)
class Not(ParentNode):
    """Exchanges TRUE and FALSE, keeps NULL."""

    child: HudiExpression


@dataclass(frozen=True)
class Constant(LeafNode):
    """A predicate whose possible values are known without any column."""

    truth: Truth


@dataclass(frozen=True)
class Comparison(LeafNode):
    """Two terms compared."""

    op: Op
    left: Term
    right: Term


@dataclass(frozen=True)
class In(LeafNode):
    """``term IN (options)``."""

    term: Term
    options: tuple[Term, ...]


@dataclass(frozen=True)
class InKeys(LeafNode):
    """``column IN (keys)``.

    Attributes:
        has_null: Whether NULL is among the keys, too.
    """

    term: Column
    keys: KeyList
    has_null: bool = False


@dataclass(frozen=True)
class Between(LeafNode):
    """``low <= term AND term <= high``."""

    term: Term
    low: Term
    high: Term


@dataclass(frozen=True)
class IsNull(LeafNode):
    """``term IS NULL``; for a condition: whether it is neither TRUE nor FALSE."""

    term: Term | HudiExpression


@dataclass(frozen=True)
class StartsWith(LeafNode):
    """``term LIKE 'prefix%'``, the prefix without wildcards."""

    term: Term
    prefix: str


@dataclass(frozen=True)
class Matches(LeafNode):
    """The necessary condition of ``LIKE 'a_b%'``. A text that does not match proves nothing else.

    Attributes:
        begin: ASCII characters at the beginning of the text, None for any one character.
        whole: Whether the text has no others.
    """

    term: Term
    begin: tuple[str | None, ...]
    whole: bool


@dataclass(frozen=True)
class TextPattern:
    """A pattern of LIKE or RLIKE, which is evaluated for single texts; bounds do not say it.

    Attributes:
        regex: A regular expression for the whole text, in the syntax that RE2, Java and Python
            share; its dot stands for any character.
        written: The condition without the term, for explanations: ``LIKE '%x'``.
    """

    term: Term
    regex: str
    written: str


@dataclass(frozen=True)
class Unknown(LeafNode):
    """A predicate that cannot be evaluated by bounds.

    Attributes:
        reason: Why, for explanations.
        pattern: What it is, if rows can be filtered by it.
    """

    reason: str
    pattern: TextPattern | None = None


#: The `Call` of a value as engines read it that know no microseconds: near what is stored, if it is
#: a time, and the value itself if it is none.
TO_MILLISECONDS = "to milliseconds"
#: The same where wall clocks are read as instants, too: those at which clocks of UTC show them.
TO_MILLISECOND_INSTANTS = "to instants of milliseconds"
#: The `Call` of times as instants of a zone that is not known: times with a zone beside them are.
IN_ANY_ZONE = "in any zone"
#: The `Call` of an integer as a longer one: an engine rounds other numbers.
AS_BIGINT = "as bigint"
#: The `Call` of a text as a time by one of Java's patterns.
PARSED_TIME = "parsed time"
#: The `Call` of the days from one date to another; other times have no rule.
DAYS_TO = "days to"
#: The `Call` of a value beside ``<=>`` in Hive: unknown if it is a decimal, and the value itself if
#: it is none. Hive's vectors have no ``<=>``, and what they have in its place confuses decimals.
NO_DECIMAL = "no decimal"
#: The `Call` that is NULL of NaN, and of nothing else.
NAN_AS_NULL = "nan as null"
#: The `Call` of a value that may be NULL instead: of a decimal too long for its type, which Hive's
#: vectors keep in some functions. Binding creates it.
OR_NULL = "or null"
#: Names of calls for how an engine reads a value; front ends create them.
READINGS = frozenset(
    {TO_MILLISECONDS, TO_MILLISECOND_INSTANTS, NO_DECIMAL, NAN_AS_NULL, IN_ANY_ZONE, AS_BIGINT}
    | {PARSED_TIME, DAYS_TO}
)

ALWAYS = Constant(Truth.YES)
NEVER = Constant(Truth.NO)


def children(node: HudiExpression | Term) -> tuple[HudiExpression | Term, ...]:
    """Return the nodes directly below `node`, left to right."""
    match node:
        case And(children=nodes) | Or(children=nodes):
            return nodes
        case Not(child=child):
            return (child,)
        case Comparison(left=left, right=right):
            return (left, right)
        case In(term=term, options=options):
            return (term, *options)
        case Between(term=term, low=low, high=high):
            return (term, low, high)
        case IsNull(term=term) | StartsWith(term=term) | Matches(term=term) | Cast(term=term):
            return (term,)
        case InKeys(term=term) | InZone(term=term):
            return (term,)
        case Unknown(pattern=TextPattern(term=term)):
            return (term,)
        case Call(args=args):
            return args
        case Case(branches=branches, otherwise=otherwise):
            return (*(part for branch in branches for part in branch), otherwise)
        case _:
            return ()


def walk(node: HudiExpression | Term) -> list[HudiExpression | Term]:
    """Return `node` and everything below it, parents first, without recursion."""
    found, stack = list[HudiExpression | Term](), [node]
    while stack:
        top = stack.pop()
        found.append(top)
        stack.extend(reversed(children(top)))
    return found
