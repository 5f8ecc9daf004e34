"""Predicates of pyarrow datasets, through Substrait (``ExtendedExpression``).

pyarrow itself reports what is wrong with it, and which columns it reads.

pyarrow gives access to an expression only by writing it as Substrait. That has comparisons, AND,
OR, NOT, arithmetic, NULL, NaN, lists, CASE and prefixes. pyarrow writes nothing if the expression
has anything else, so that the whole expression is `Unknown`.

The rules are Arrow's: ``is_in`` and ``is_null`` are never NULL, ``is_nan`` of NULL is. Needs the
package `substrait` (``pip install pyhudi-expr[substrait]``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import accumulate
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import timestamp_type
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.common.casts_and_intervals import widen
from pyhudi_expr.expr.frontend.common.constants import (
    MAX_DEPTH,
    NULL,
    as_boolean_term,
    conjunction,
    disjunction,
)
from pyhudi_expr.expr.frontend.common.functions import as_condition, is_in
from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError
from pyhudi_expr.expr.nodes import (
    Between,
    Call,
    Case,
    Column,
    Comparison,
    HudiExpression,
    IsNull,
    Literal,
    Not,
    Op,
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

    An expression does not list its columns, but pyarrow reports the first one that is missing.
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


_COMPARISONS = {
    "equal": Op.EQ,
    "not_equal": Op.NE,
    "lt": Op.LT,
    "lte": Op.LTEQ,
    "gt": Op.GT,
    "gte": Op.GTEQ,
    "is_not_distinct_from": Op.NULL_SAFE_EQ,
}
_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*"}
#: pyarrow takes twice as long for each level that it writes as Substrait: seconds for 20 of them.
_MAX_ARROW_DEPTH = 15
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"')
_PARENTHESES = re.compile(r"[()]")
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}
_NAN = Literal(math.nan, pa.float64())

_Value = HudiExpression | Term


#: A message of Substrait's protocol buffers.
Message: TypeAlias = Any


class SubstraitError(HudiError, ValueError):
    """The message is not a valid Substrait expression."""


def parse_arrow(expression: pc.Expression, schema: pa.Schema) -> HudiExpression:
    """Return the predicate of a pyarrow expression over columns of a schema.

    What Substrait cannot express is Unknown.

    Raises:
        ImportError: The package `substrait` is missing.
    """
    if _depth(expression) > _MAX_ARROW_DEPTH:
        return Unknown(
            f"a pyarrow expression nested more than {_MAX_ARROW_DEPTH} levels deep; a filter list, "
            "or SQL text, of the same is supported"
        )
    try:
        message = bytes(expression.to_substrait(schema))
    except (pa.ArrowException, NotImplementedError) as reason:
        fault = validation_error(expression, schema)
        return Unknown(fault or f"pyarrow cannot write the expression: {_reason(reason)}")
    return parse_substrait(message)


def _reason(error: Exception) -> str:
    # It writes a decimal column that is compared with a float as such a cast.
    return f"{str(error)[:200]}{OF_DECIMALS if 'unsafe casts' in str(error) else ''}"


def parse_substrait(message: bytes) -> HudiExpression:
    """Return the predicate of an ``ExtendedExpression`` with one expression.

    Raises:
        SubstraitError: The bytes are not such a message.
        ImportError: The package `substrait` is missing.
    """
    from google.protobuf.message import DecodeError
    from substrait.proto import ExtendedExpression

    try:
        form = ExtendedExpression.FromString(message)
    except DecodeError as error:
        raise SubstraitError(f"no Substrait expression: {error}") from None
    if len(form.referred_expr) != 1 or not form.referred_expr[0].HasField("expression"):
        raise SubstraitError(f"one expression is expected, not {len(form.referred_expr)}")
    declared = (one.extension_function for one in form.extensions)
    names = {one.function_anchor: one.name.partition(":")[0] for one in declared}
    columns = tuple(_columns(iter(form.base_schema.names), form.base_schema.struct))
    walk = _Walk(names, columns)
    return walk.predicate(form.referred_expr[0].expression, 0)


def _depth(expression: pc.Expression) -> int:
    """Return the depth of an expression, by its text."""
    shown = _PARENTHESES.findall(_TEXTS.sub("", str(expression)))
    return max(accumulate(1 if sign == "(" else -1 for sign in shown), default=0)


class _Struct(tuple[tuple[str, Any], ...]):
    """The names of a struct's fields, each with the fields below it, or its type."""


def _columns(names: Iterator[str], struct: Message) -> Iterator[tuple[str, Any]]:
    for type_ in struct.types:
        name = next(names, "")
        below = type_.WhichOneof("kind") == "struct"
        yield name, _Struct(_columns(names, type_.struct)) if below else type_.WhichOneof("kind")


class _Walk:
    def __init__(self, functions: dict[int, str], columns: tuple[tuple[str, Any], ...]) -> None:
        self._functions, self._columns = functions, columns

    def predicate(self, node: Message, depth: int) -> HudiExpression:
        try:
            found = self._value(node, depth)
        except InexpressibleError as reason:
            return Unknown(str(reason))
        return as_condition(found) if isinstance(found, Term) else found

    def _term(self, node: Message, depth: int) -> Term:
        found = self._value(node, depth)
        return found if isinstance(found, Term) else as_boolean_term(found)

    def _value(self, node: Message, depth: int) -> _Value:
        if depth > MAX_DEPTH:
            raise InexpressibleError(f"more than {MAX_DEPTH} levels")
        kind = node.WhichOneof("rex_type")
        read = _KINDS.get(kind)
        if read is None:
            raise InexpressibleError(f"not supported: {kind}")
        return read(self, getattr(node, kind), depth + 1)

    def _function(self, call: Message, depth: int) -> _Value:
        name = self._functions.get(call.function_reference, "")
        args = [one.value for one in call.arguments if one.WhichOneof("arg_type") == "value"]
        if len(args) != len(call.arguments):
            raise InexpressibleError(f"not supported: {name}() with options")
        if name in ("and", "or"):
            join = conjunction if name == "and" else disjunction
            return join([self.predicate(arg, depth) for arg in args])
        if name == "not" and len(args) == 1:
            return Not(self.predicate(args[0], depth))
        build = _FUNCTIONS.get((name, len(args)))
        if name == "coalesce":
            return Call(name, tuple(self._term(arg, depth) for arg in args))
        if build is None:
            raise InexpressibleError(f"{name}() is not supported")
        return build(*(self._term(arg, depth) for arg in args))

    def _selection(self, reference: Message, depth: int) -> Term:
        if reference.WhichOneof("root_type") not in ("root_reference", None):
            raise InexpressibleError("a reference beyond the table's columns")
        path: list[str] = []
        fields: Any = _Struct(self._columns)
        segment = reference.direct_reference
        while segment.WhichOneof("reference_type") == "struct_field":
            step = segment.struct_field
            if not isinstance(fields, _Struct) or not 0 <= step.field < len(fields):
                raise SubstraitError("a reference to no column")
            name, fields = fields[step.field]
            path.append(name)
            if not step.HasField("child"):
                return Column(tuple(path))
            segment = step.child
        raise InexpressibleError("not supported: an element of a list or a map")

    def _in(self, node: Message, depth: int) -> HudiExpression:
        term = self._term(node.value, depth)
        return is_in(term, tuple(self._term(option, depth) for option in node.options))

    def _if(self, node: Message, depth: int) -> Term:
        otherwise = self._term(getattr(node, "else"), depth) if node.HasField("else") else NULL
        branches = [(getattr(one, "if"), one.then) for one in node.ifs]
        return Case(
            tuple(
                (self.predicate(when, depth), self._term(then, depth)) for when, then in branches
            ),
            otherwise,
        )

    def _cast(self, node: Message, depth: int) -> Term:
        """Return a cast to wider numbers, which is the same in all engines."""
        source = _NUMBERS.get(_kind_of(node.input, self._columns))
        target = _NUMBERS.get(node.type.WhichOneof("kind"))
        return widen(self._term(node.input, depth), source, target)

    def _literal(self, node: Message, depth: int) -> Term:
        kind = node.WhichOneof("literal_type")
        read = _LITERALS.get(kind)
        if read is None:
            raise InexpressibleError(f"not supported: a literal of type {kind}")
        return read(getattr(node, kind))


def _kind_of(node: Message, columns: tuple[tuple[str, Any], ...]) -> str:
    """Return the type of a column of the table; empty for other terms."""
    if node.WhichOneof("rex_type") != "selection":
        return ""
    step = node.selection.direct_reference.struct_field
    known = not step.HasField("child") and 0 <= step.field < len(columns)
    return str(columns[step.field][1]) if known else ""


def _starts_with(term: Term, prefix: Term) -> HudiExpression:
    match prefix:
        case Literal(value=str(text)):
            return StartsWith(term, text)
    raise InexpressibleError("not supported: a prefix that is not constant")


def _primitive_reader(type_: pa.DataType) -> Callable[[Any], Literal]:
    return lambda value: Literal(value, type_)


def _instant(node: Message, zone: str | None) -> Literal:
    if node.precision not in _UNITS:
        raise InexpressibleError(f"not supported: a time of precision {node.precision}")
    return Literal(node.value, timestamp_type(_UNITS[node.precision], zone))


def _decimal(node: Message) -> Literal:
    unscaled = int.from_bytes(node.value, "little", signed=True)
    if not 1 <= node.precision <= 38 or not 0 <= node.scale <= node.precision:
        raise SubstraitError(f"a decimal({node.precision}, {node.scale})")
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    type_ = pa.decimal128(node.precision, node.scale)
    return Literal(Decimal((int(unscaled < 0), digits, -node.scale)), type_)


_NUMBERS: dict[str, pa.DataType] = {
    **{"i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64()},
    **{"fp32": pa.float32(), "fp64": pa.float64()},
}
_PLAIN: dict[str, pa.DataType] = {
    **_NUMBERS,
    **{"boolean": pa.bool_(), "string": pa.string(), "fixed_char": pa.string()},
    **{"binary": pa.binary(), "fixed_binary": pa.binary(), "date": pa.date32()},
    **{"timestamp": pa.timestamp("us"), "timestamp_tz": pa.timestamp("us", "UTC")},
}
_LITERALS: dict[str, Callable[[Any], Literal]] = {
    **{name: _primitive_reader(type_) for name, type_ in _PLAIN.items()},
    "var_char": lambda node: Literal(node.value, pa.string()),
    "decimal": _decimal,
    "precision_timestamp": lambda node: _instant(node, None),
    "precision_timestamp_tz": lambda node: _instant(node, "UTC"),
    "null": lambda _: NULL,
}
_FUNCTIONS: dict[tuple[str, int], Callable[..., _Value]] = {
    **{
        (name, 2): (lambda left, right, op=op: Comparison(op, left, right))
        for name, op in _COMPARISONS.items()
    },
    **{
        (name, 2): (lambda left, right, symbol=symbol: Call(symbol, (left, right)))
        for name, symbol in _ARITHMETIC.items()
    },
    ("is_null", 1): IsNull,
    ("is_not_null", 1): lambda term: Not(IsNull(term)),
    ("is_nan", 1): lambda term: Comparison(Op.EQ, term, _NAN),
    ("between", 3): Between,
    ("starts_with", 2): _starts_with,
}
_KINDS: dict[str, Callable[[_Walk, Any, int], _Value]] = {
    "scalar_function": _Walk._function,
    "selection": _Walk._selection,
    "singular_or_list": _Walk._in,
    "if_then": _Walk._if,
    "cast": _Walk._cast,
    "literal": _Walk._literal,
}
