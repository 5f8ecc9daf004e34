"""Predicates of pyarrow datasets.

pyarrow itself reports what is wrong with an expression, and which columns it reads. It shows an
expression's parts only by Arrow's own serialization (``Expression.__reduce__``, Arrow's
``compute/expression.cc``): a record batch of one row, whose columns are constants and options, and
whose schema's metadata is the tree in prefix order: ``call NAME ... end NAME``, ``field_ref NAME``,
``nested_field_ref N``, ``literal COLUMN``, ``options COLUMN``.

The rules are Arrow's: ``is_in`` and ``is_null`` are never NULL, ``is_nan`` of NULL is. A part that
is not supported is `Unknown` by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.arrow.filter_lists import literal_of_python
from pyhudi_expr.expr.frontend.common.constants import (
    MAX_DEPTH,
    InexpressibleError,
    as_boolean_term,
    conjunction,
    disjunction,
    widen,
)
from pyhudi_expr.expr.frontend.common.functions import as_condition, is_in
from pyhudi_expr.expr.frontend.common.text_patterns import rlike, standard_like
from pyhudi_expr.expr.nodes import (
    And,
    Call,
    Case,
    Column,
    Comparison,
    HudiExpression,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
    Term,
    Unknown,
)
from pyhudi_expr.expr.terms import UnboundError, resolve

OF_DECIMALS = (
    "; compare a decimal column with a decimal of its type, such as "
    "pa.scalar(Decimal('168.00'), pa.decimal128(9, 2)), or write the predicate as SQL"
)
"""What to do about numbers that pyarrow does not compare with decimals, or not exactly."""

_NO_COLUMN = re.compile(r"No match for (FieldRef\..*?\)) in ")
_NAME = re.compile(r"FieldRef\.Name\((.*?)\)")


def validation_error(expression: pc.Expression, schema: pa.Schema) -> str | None:
    """Return what pyarrow cannot compute: missing columns, or types that it does not compare."""
    try:
        schema.empty_table().filter(expression)
    except (pa.ArrowException, ValueError) as error:
        found = str(error)
        missing = _NO_COLUMN.match(found)
        path = tuple(_NAME.findall(missing[1])) if missing else ()
        return _misspelled(path, schema) if path else _with_hint(found)
    return None


def _misspelled(path: tuple[str, ...], schema: pa.Schema) -> str:
    """Return what is wrong with a name that pyarrow does not find."""
    wrong = _unresolved(path, schema)
    if wrong is not None:
        return wrong
    return f"pyarrow does not take {'.'.join(path)} for {resolve(path, schema)[0]}"


def _with_hint(fault: str) -> str:
    hint = OF_DECIMALS if "Precision is not great enough" in fault else ""
    return f"{fault.splitlines()[0][:200]}{hint}"


def missing_path(expression: pc.Expression, schema: pa.Schema) -> tuple[str, ...]:
    """Return the path of a column that the schema lacks; empty if it has all.

    A name that differs by its letter case is not one that it lacks.
    """
    path = _missing(expression, schema) or ()
    return path if path and _unresolved(path, schema) else ()


def columns_read(expression: pc.Expression, schema: pa.Schema) -> list[str]:
    """Return the schema's top-level columns that the expression reads; all if that is unknown.

    pyarrow reports the first one that is missing.
    """
    known = pa.schema([])
    while (missing := _missing(expression, known)) is not None:
        if not missing or missing[0] in known.names or missing[0] not in schema.names:
            return list(schema.names)
        known = known.append(schema.field(missing[0]))
    return list(known.names)


def _missing(expression: pc.Expression, schema: pa.Schema) -> tuple[str, ...] | None:
    """Return the path of a column that the schema lacks (empty if unnamed); None if it has all."""
    try:
        schema.empty_table().filter(expression)
    except (pa.ArrowException, ValueError) as error:
        found = _NO_COLUMN.match(str(error))
        return tuple(_NAME.findall(found[1])) if found else ()
    return None


def _unresolved(path: tuple[str, ...], schema: pa.Schema) -> str | None:
    """Return a message with similar names; None if the name differs by letter case only."""
    try:
        resolve(path, schema)
    except UnboundError as error:
        return str(error)
    return None


class ArrowFormatError(HudiError, ValueError):
    """The serialized expression is not what Arrow writes."""


_Value: TypeAlias = HudiExpression | Term
_Options: TypeAlias = "pa.StructScalar | None"
_COMPARISONS = {
    "equal": Op.EQ,
    "not_equal": Op.NE,
    "less": Op.LT,
    "less_equal": Op.LTEQ,
    "greater": Op.GT,
    "greater_equal": Op.GTEQ,
}
_ARITHMETIC = {
    f"{name}{checked}": symbol
    for name, symbol in (("add", "+"), ("subtract", "-"), ("multiply", "*"))
    for checked in ("", "_checked")
}
_CONNECTIVES: Mapping[str, type[And] | type[Or]] = {"and_kleene": And, "or_kleene": Or}
_OF_CALENDAR = ("year", "quarter", "month", "day")
_NAN = Literal(math.nan, pa.float64())
_MATCH, _SKIP = 0, 1
"""How ``is_in`` treats NULL (Arrow's ``SetLookupOptions``): as a value; as no value of the set."""


def parse_arrow(expression: pc.Expression, schema: pa.Schema) -> HudiExpression:
    """Return the predicate of a pyarrow expression over columns of a schema.

    Raises:
        ArrowFormatError: This version of pyarrow serializes expressions in another way.
    """
    try:
        (serialized,) = expression.__reduce__()[1]
    except (pa.ArrowException, NotImplementedError) as reason:
        return Unknown(f"pyarrow cannot serialize the expression: {str(reason)[:200]}")
    return parse_serialized(serialized, schema)


def parse_serialized(message: pa.Buffer | bytes, schema: pa.Schema) -> HudiExpression:
    """Return the predicate of a serialized expression.

    Raises:
        ArrowFormatError: The bytes are no such message.
    """
    try:
        constants = pa.ipc.open_file(message).get_batch(0)
    except (pa.ArrowException, OSError, IndexError) as error:
        raise ArrowFormatError(f"no serialized expression: {str(error)[:200]}") from None
    return _Reader(schema, constants).read(_metadata(constants.schema))


def _metadata(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """Yield the metadata of a schema with repeated keys, which pyarrow's own dict drops.

    Arrow's C data interface holds them as the number of pairs, then the size and the bytes of each
    key and value, in native integers of 32 bits.
    """
    from pyarrow.cffi import ffi

    exported = ffi.new("struct ArrowSchema*")
    schema._export_to_c(int(ffi.cast("uintptr_t", exported)))
    try:
        if exported.metadata == ffi.NULL:
            return
        at = 0

        def number() -> int:
            nonlocal at
            at += 4
            return int(ffi.cast("int32_t*", exported.metadata + at - 4)[0])

        def text() -> str:
            nonlocal at
            size = number()
            at += size
            return bytes(ffi.buffer(exported.metadata + at - size, size)).decode(errors="replace")

        for _ in range(number()):
            yield text(), text()
    finally:
        exported.release(exported)


@dataclass(frozen=True)
class _Part:
    """A part of an expression, and how many levels are below it; nested ANDs count as one."""

    value: _Value
    depth: int = 0

    @property
    def term(self) -> Term:
        """The part as a term. Raises InexpressibleError if it is not known."""
        if isinstance(self.value, Unknown):
            raise InexpressibleError(self.value.reason)
        return self.value if isinstance(self.value, Term) else as_boolean_term(self.value)

    @property
    def condition(self) -> HudiExpression:
        """The part as a predicate."""
        return as_condition(self.value) if isinstance(self.value, Term) else self.value

    def levels(self, kind: type[And] | type[Or] | None) -> int:
        """How many levels a connective of a kind has with it."""
        is_flat = kind is not None and isinstance(self.value, kind)
        return self.depth if is_flat else self.depth + 1


class _Reader:
    """Reads an expression from its serialized form."""

    def __init__(self, schema: pa.Schema, constants: pa.RecordBatch) -> None:
        """Take the schema of the table, and the constants and options of the expression."""
        self._schema = schema
        self._constants = constants

    def read(self, tokens: Iterator[tuple[str, str]]) -> HudiExpression:
        """Return the predicate. Raises ArrowFormatError."""
        calls: list[tuple[str, list[_Part], list[_Options]]] = [("", [], [])]
        for kind, text in tokens:
            _, parts, options = calls[-1]
            match kind:
                case "call":
                    calls.append((text, [], []))
                case "end" if len(calls) > 1 and calls[-1][0] == text:
                    calls.pop()
                    calls[-1][1].append(self._call(text, parts, options))
                case "field_ref":
                    parts.append(self._column((text,)))
                case "nested_field_ref":
                    path = tuple(next(tokens, ("", ""))[1] for _ in range(_count(text)))
                    parts.append(self._column(path))
                case "literal":
                    parts.append(self._literal(text))
                case "options":
                    found = self._constant(text)
                    options.append(found if isinstance(found, pa.StructScalar) else None)
                case _:
                    raise ArrowFormatError(f"{kind} {text!r:.60} in a serialized expression")
        if len(calls) != 1 or len(calls[0][1]) != 1:
            raise ArrowFormatError("a serialized expression that does not end")
        return calls[0][1][0].condition

    def _constant(self, text: str) -> pa.Scalar[Any]:
        number = _count(text)
        if number >= self._constants.num_columns or self._constants.num_rows < 1:
            raise ArrowFormatError(f"a serialized expression has no constant {number}")
        return self._constants.column(number)[0]

    def _literal(self, text: str) -> _Part:
        try:
            return _Part(literal_of_python(self._constant(text)))
        except InexpressibleError as reason:
            return _Part(Unknown(str(reason)))

    def _column(self, path: tuple[str, ...]) -> _Part:
        wrong = _misspelled(path, self._schema) if _type_of(path, self._schema) is None else None
        return _Part(Column(path) if wrong is None else Unknown(wrong))

    def _call(self, name: str, parts: Sequence[_Part], options: Sequence[_Options]) -> _Part:
        kind = _CONNECTIVES.get(name)
        depth = max((part.levels(kind) for part in parts), default=0)
        if depth > MAX_DEPTH:
            return _Part(Unknown(f"more than {MAX_DEPTH} levels"))
        try:
            return _Part(self._value(name, parts, options[0] if options else None), depth)
        except InexpressibleError as reason:
            return _Part(Unknown(str(reason)))

    def _value(self, name: str, parts: Sequence[_Part], options: _Options) -> _Value:
        match name, parts:
            case (("and_kleene" | "or_kleene"), (_, _)):
                join = conjunction if name == "and_kleene" else disjunction
                return join([part.condition for part in parts])
            case "invert", (part,):
                return Not(part.condition)
            case (("if_else"), (condition, yes, no)):
                return Case(((condition.condition, yes.term),), no.term)
            case "coalesce", (_, *_):
                return Call(name, tuple(part.term for part in parts))
            case "cast", (part,):
                target = None if options is None else _type_of(("to_type",), options.type)
                return widen(part.term, self._type(part.term), target)
            case _, (part,) if name in _OF_CALENDAR:
                self._require_calendar(name, part.term)
                return Call(name, (part.term,))
            case _, (left, right) if name in _COMPARISONS:
                return Comparison(_COMPARISONS[name], left.term, right.term)
            case _, (left, right) if name in _ARITHMETIC:
                return Call(_ARITHMETIC[name], (left.term, right.term))
            case _, (part,) if name in _OF_ONE:
                return _OF_ONE[name](part.term, options)
        raise InexpressibleError(f"{name}() is not supported")

    def _type(self, term: Term) -> pa.DataType | None:
        return _type_of(term.path, self._schema) if isinstance(term, Column) else None

    def _require_calendar(self, name: str, term: Term) -> None:
        """Raise InexpressibleError unless a term is a date, or a time without zone.

        Arrow shows instants in the zone of their type.
        """
        type_ = self._type(term)
        is_clock = type_ is not None and pa.types.is_timestamp(type_) and type_.tz is None
        if type_ is None or not (is_clock or pa.types.is_date32(type_)):
            raise InexpressibleError(f"{name}() of another term than a date or a time without zone")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ArrowFormatError(f"{text!r:.60} in place of a number in a serialized expression")
    return int(text)


def _type_of(path: Sequence[str], fields: pa.Schema | pa.StructType) -> pa.DataType | None:
    """Return the type of a column by the letters of its names; None if there is none."""
    found: pa.DataType | pa.Schema = fields
    for name in path:
        if not isinstance(found, pa.Schema | pa.StructType):
            return None
        number = found.get_field_index(name)
        if number < 0:
            return None
        found = found.field(number).type
    return None if isinstance(found, pa.Schema) else found


def _option(options: _Options, name: str) -> pa.Scalar[Any] | None:
    known = options is not None and options.type.get_field_index(name) >= 0
    return options[name] if options is not None and known else None


def _is_in(term: Term, options: _Options) -> HudiExpression:
    values, matching = _option(options, "value_set"), _option(options, "null_matching_behavior")
    nulls = _MATCH if matching is None else matching.as_py()
    if nulls not in (_MATCH, _SKIP) or not isinstance(values, pa.ListScalar):
        raise InexpressibleError("is_in() that may be NULL, or without a set of values")
    literals = [literal_of_python(value) for value in values.values or ()]
    if nulls == _SKIP:
        literals = [one for one in literals if one.value is not None]
    return is_in(term, tuple(literals))


def _is_null(term: Term, options: _Options) -> HudiExpression:
    with_nan = _option(options, "nan_is_null")
    found: HudiExpression = IsNull(term)
    if with_nan is None or not with_nan.as_py():
        return found
    return disjunction((found, _is_nan(term, options)))


def _is_nan(term: Term, _: _Options) -> HudiExpression:
    return Comparison(Op.EQ, term, _NAN)


def _pattern(options: _Options) -> str:
    pattern, ignore_case = _option(options, "pattern"), _option(options, "ignore_case")
    text = None if pattern is None else pattern.as_py()
    if not isinstance(text, str) or ignore_case is None or ignore_case.as_py():
        raise InexpressibleError("a pattern in any letter case")
    return text


def _is_valid(term: Term, _: _Options) -> HudiExpression:
    return Not(IsNull(term))


def _starts_with(term: Term, options: _Options) -> HudiExpression:
    return StartsWith(term, _pattern(options))


def _match_like(term: Term, options: _Options) -> HudiExpression:
    return standard_like(term, _pattern(options), "\\")


def _match_regex(term: Term, options: _Options) -> HudiExpression:
    return rlike(term, _pattern(options))


def _lower(term: Term, _: _Options) -> Term:
    return Call("lower", (term,))


def _upper(term: Term, _: _Options) -> Term:
    return Call("upper", (term,))


_OF_ONE: Mapping[str, Callable[[Term, _Options], _Value]] = {
    "is_in": _is_in,
    "is_null": _is_null,
    "is_valid": _is_valid,
    "is_nan": _is_nan,
    "starts_with": _starts_with,
    "match_like": _match_like,
    "match_substring_regex": _match_regex,
    "utf8_lower": _lower,
    "utf8_upper": _upper,
}
