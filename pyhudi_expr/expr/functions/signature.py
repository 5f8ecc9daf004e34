"""The parts of every rule: the call that it sees, and functions on bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Mask, arrow_array, arrow_scalar
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Ordinals,
    Values,
    mask_and,
    mask_or,
    unknown,
)
from pyhudi_expr.expr.nodes import Literal
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Semantics, Zone

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


class OnValues(Protocol):
    """A function of values, as the engine that asks evaluates it, over N of them at once.

    Texts are ``large_string`` and hold no character beyond U+FFFF, which is one to some engines and
    two to others. All other values are ordinals. A value that is not known is null.
    """

    def __call__(self, *values: AnyArray) -> AnyArray:
        """Return N results; null where the result is not known."""


@dataclass(frozen=True)
class ByValue:
    """A function that is evaluated where each operand has one value, and bounded elsewhere.

    A partition has one value of its columns, and so have many files: there a result is exact. A
    NULL among the operands gives NULL.

    Attributes:
        evaluate: The function of values.
        elsewhere: The function of bounds.
        domain: The domain of the results.
    """

    evaluate: OnValues
    elsewhere: Function
    domain: Domain

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        bounded = self.elsewhere(*operands)
        singles = [_single_values(operand) for operand in operands]
        size = max(len(values) for values in singles)
        found = self._results([repeated(values, size) for values in singles])
        known = np.asarray(found.is_valid())
        if not known.any():
            return bounded
        if self.domain.is_ordinal:
            results = found.fill_null(0).to_numpy(zero_copy_only=False)
            lower, upper = (np.where(known, results, end) for end in (bounded.lower, bounded.upper))
        else:
            flags, texts = pa.array(known), found.cast(pa.large_binary())
            lower, upper = (pc.if_else(flags, texts, end) for end in (bounded.lower, bounded.upper))
        if all(_is_scalar(operand.lower) for operand in operands):
            lower, upper, known = lower[0], upper[0], known[0]
        values = mask_and(*(operand.may_be_value for operand in operands))
        nulls = mask_or(*(operand.may_be_null for operand in operands))
        return Bounds(
            lower,
            upper,
            np.where(known, values, bounded.may_be_value),
            np.where(known, nulls, bounded.may_be_null),
        )

    def _results(self, operands: list[AnyArray]) -> AnyArray:
        if len(operands) > 1 or not pa.types.is_large_string(operands[0].type):
            return self.evaluate(*operands)
        texts = operands[0].dictionary_encode()
        return self.evaluate(texts.dictionary).take(texts.indices)


def _single_values(bounds: Bounds) -> AnyArray:
    """Return the values of containers that have a single one; null for others."""
    if isinstance(bounds.lower, np.ndarray | np.int64):
        least, greatest = np.broadcast_arrays(*(np.atleast_1d(end) for end in ordinals(bounds)))
        return arrow_array(np.ascontiguousarray(least), least != greatest)
    lower = arrow(bounds.lower)
    return _plain(pc.if_else(pc.equal(lower, arrow(bounds.upper)), lower, _NO_BYTES))


_NO_BYTES = arrow_scalar(None, pa.large_binary())
NO_TEXT = arrow_scalar(None, pa.large_string())
"""The result of a function of values (`OnValues`) that is not known."""


def _plain(values: AnyArray) -> AnyArray:
    """Return texts without characters beyond U+FFFF, and null for others."""
    texts = values.view(pa.large_string())
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return texts
    try:
        texts = values.cast(pa.large_string())  # checks them
        known = pc.invert(pc.match_substring_regex(texts, "[\U00010000-\U0010ffff]"))
    except pa.ArrowInvalid:
        known = pc.string_is_ascii(texts)
    return pc.if_else(known, texts, NO_TEXT)


def repeated(values: AnyArray, size: int) -> AnyArray:
    """Return one value so many times, or so many values as they are."""
    return values if len(values) == size else values.take(np.zeros(size, dtype=np.int64))


def _is_scalar(end: Values) -> bool:
    return isinstance(end, pa.Scalar) or (not isinstance(end, pa.Array) and not np.ndim(end))


def by_value(evaluate: OnValues, domain: Domain, name: str) -> Signature:
    """Return the signature of a function without bounds that is evaluated for single values."""
    reason = f"{name} is evaluated only where a file or a partition has a single value"
    return Signature(ByValue(evaluate, Opaque(domain, reason), domain), domain)


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


def on_first_value(evaluate: OnValues, domain: Domain, name: str) -> Signature:
    """Return `by_value` of the first argument alone."""
    return Signature(on_first(by_value(evaluate, domain, name).function), domain)


def is_by_value(function: Function) -> bool:
    """Return whether the results of single values are known."""
    match function:
        case ByValue():
            return True
        case OnOperands(function=function):
            return is_by_value(function)
    return False


def why_unknown(function: Function) -> str | None:
    """Return why the results of a function may be any value; None if they are bounded."""
    match function:
        case Opaque(reason=reason):
            return reason
        case ByValue(elsewhere=function) | OnOperands(function=function):
            return why_unknown(function)
    return None


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
