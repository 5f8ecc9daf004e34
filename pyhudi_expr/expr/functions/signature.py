"""The parts of every rule: the call that it sees, and functions on bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray
from pyhudi_expr.expr.bounds import Bounds, Mask, Values, mask_or, unknown
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Domain, Kind, Ordinals
from pyhudi_expr.expr.nodes import Literal
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Semantics
from pyhudi_expr.expr.zones import Zone

#: Domains of results.
INT, LONG = Domain(Kind.INTEGER, bits=32), Domain(Kind.INTEGER, bits=64)
SINGLE = Domain(Kind.FLOAT, bits=32)
DOUBLE, DATE, TEXT = Domain(Kind.FLOAT, bits=64), Domain(Kind.DATE), Domain(Kind.TEXT)
#: Kinds of arguments.
NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
TIMES = (Kind.DATE, Kind.WALL_CLOCK, Kind.INSTANT)


class Function(Protocol):
    """A function on bounds: from those of each argument, in order, to those of the result."""

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""


@dataclass(frozen=True)
class Site:
    """A call, as a rule sees it.

    Attributes:
        name: The name in lower case.
        domains: The domain of each argument.
        literals: The literals among the arguments, None for others.
        semantics: What the engine's process decides.
    """

    name: str
    domains: tuple[Domain, ...]
    literals: tuple[Literal | None, ...]
    semantics: Semantics = UNKNOWN_SEMANTICS

    @property
    def zone(self) -> Zone | None:
        """The zone in which the engine evaluates the call; None if unknown."""
        return self.semantics.zone

    def text(self, index: int) -> str | None:
        """Return an argument that is a literal text, if there is one."""
        value = self._literal(index)
        return value if isinstance(value, str) else None

    def integer(self, index: int) -> int | None:
        """Return an argument that is a literal integer, if there is one."""
        value = self._literal(index)
        return value if isinstance(value, int) and self.kind(index) is Kind.INTEGER else None

    def kind(self, index: int) -> Kind | None:
        """Return the kind of an argument; None if there is no such argument."""
        return self.domains[index].kind if index < len(self.domains) else None

    def _literal(self, index: int) -> object:
        literal = self.literals[index] if index < len(self.literals) else None
        return literal.value if literal else None


@dataclass(frozen=True)
class Signature:
    """The result of a call."""

    function: Function
    domain: Domain


Rule: TypeAlias = Callable[[Site], Signature | None]


@dataclass(frozen=True)
class Opaque:
    """A function whose result may be any value; `reason` says why."""

    domain: Domain
    reason: str

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        return unknown(self.domain)


def opaque(domain: Domain, reason: str) -> Signature:
    """Return the signature of a function without bounds."""
    return Signature(Opaque(domain, reason), domain)


@dataclass(frozen=True)
class OnOperands:
    """A function of converted operands.

    Attributes:
        operands: Positions and conversions (None: unchanged).
    """

    function: Function
    operands: tuple[tuple[int, Function | None], ...]

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        return self.function(
            *(
                operands[index] if convert is None else convert(operands[index])
                for index, convert in self.operands
            )
        )


@dataclass(frozen=True)
class After:
    """A function of another function's results."""

    function: Function
    before: Function

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        return self.function(self.before(*operands))


def on_first(function: Function, *before: Function | None) -> Function:
    """Return a function of the first argument alone, converted by `before` (in order)."""
    result = function
    for convert in reversed([step for step in before if step is not None]):
        result = OnOperands(result, ((0, convert),))
    return result if isinstance(result, OnOperands) else OnOperands(result, ((0, None),))


def ordinals(bounds: Bounds) -> tuple[Ordinals, Ordinals]:
    """Return lower and upper ends as numpy arrays (of no dimension if equal for all)."""
    return cast(Ordinals, np.asarray(bounds.lower)), cast(Ordinals, np.asarray(bounds.upper))


def where_known(
    known_lower: BoolArray,
    lower: Ordinals,
    known_upper: BoolArray,
    upper: Ordinals,
    operand: Bounds,
) -> Bounds:
    """Return the given ends where they are known; nulls and values are those of the operand."""
    return Bounds(
        np.where(known_lower, lower, np.int64(MIN_ORDINAL)),
        np.where(known_upper, upper, np.int64(MAX_ORDINAL)),
        operand.may_be_value,
        operand.may_be_null,
    )


def nullable_where(bounds: Bounds, where: Mask = True) -> Bounds:
    """Return the bounds of results that an engine may replace by NULL in these containers."""
    nulls = mask_or(bounds.may_be_null, where)
    return Bounds(bounds.lower, bounds.upper, bounds.may_be_value, nulls)


def least_known(left: Values, right: Values) -> Values:
    """Return the lesser of each two ends, unknown where one is."""
    if isinstance(left, np.ndarray | np.int64):
        return np.asarray(np.minimum(left, right))
    return pc.if_else(pc.less(left, right), left, right)


def greatest_known(left: Values, right: Values) -> Values:
    """Return the greater of each two ends, unknown where one is."""
    if isinstance(left, np.ndarray | np.int64):
        return np.asarray(np.maximum(left, right))
    return pc.if_else(pc.less(left, right), right, left)


def arrow(values: Values) -> AnyArray:
    """Return ends that are not ordinals as an array (of length 1 if equal for all)."""
    if isinstance(values, pa.Scalar):
        return pa.array([values.as_py()], type=values.type)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def like(values: AnyArray, shape: Values) -> Values:
    """Return the inverse of `arrow`: a scalar if `shape` is one."""
    return values[0] if isinstance(shape, pa.Scalar) else values
