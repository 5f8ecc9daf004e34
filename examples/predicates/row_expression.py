"""Presto's ``RowExpression``, in its JSON form, as predicates.

A *call* names a function by its signature, a *special* form is AND, OR, IN, IF and the like; a
*variable* is a column, a *constant* one serialized value (`blocks`). The rules are Presto's:
``IS_NULL`` of a condition is allowed, arithmetic fails on overflow, casts round.
"""

from __future__ import annotations

from collections.abc import Callable
from reprlib import repr as shown
from typing import Any

import pyarrow as pa

from examples.predicates.blocks import BlockError, read_presto_block
from examples.predicates.values import Json, read_json, value_type
from pyhudi_expr.expr.frontend.common.constants import (
    MAX_DEPTH,
    NULL,
    InexpressibleError,
    as_boolean_term,
    conjunction,
    disjunction,
    parse_type,
    widen,
)
from pyhudi_expr.expr.frontend.common.functions import as_condition
from pyhudi_expr.expr.frontend.sql.trino_rules import as_read, presto_between, presto_not
from pyhudi_expr.expr.nodes import (
    Call,
    Case,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Not,
    Op,
    Term,
    Unknown,
)

_NUMBERS: dict[str, pa.DataType] = {
    **{"tinyint": pa.int8(), "smallint": pa.int16(), "integer": pa.int32()},
    **{"bigint": pa.int64(), "real": pa.float32(), "double": pa.float64()},
}
_Value = HudiExpression | Term


class RowExpressionError(ValueError):
    """The JSON is not a row expression; the message names the part."""


def parse_row_expression(text: str) -> HudiExpression:
    """Return the predicate of a row expression.

    Unsupported functions and types become Unknown.

    Raises:
        RowExpressionError: The JSON is malformed.
    """
    return _predicate(read_json(text, RowExpressionError), 0)


def _predicate(node: Json, depth: int) -> HudiExpression:
    try:
        found = _value(node, depth)
    except InexpressibleError as reason:
        return Unknown(str(reason))
    return as_condition(found) if isinstance(found, Term) else found


def _term(node: Json, depth: int) -> Term:
    found = _value(node, depth)
    return found if isinstance(found, Term) else as_boolean_term(found)


def _value(node: Json, depth: int) -> _Value:
    if depth > MAX_DEPTH:
        raise InexpressibleError(f"more than {MAX_DEPTH} levels")
    if not isinstance(node, dict):
        raise RowExpressionError(f"{shown(node)} is not an expression")
    kind = node.get("@type")
    read = _KINDS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise InexpressibleError(f"not supported: {str(kind)[:40]}")
    return read(node, depth + 1)


def _variable(node: dict[str, Any], _: int) -> Term:
    name, type_ = node.get("name"), node.get("type")
    if not isinstance(name, str) or not name:
        raise RowExpressionError("a variable without a name")
    if not isinstance(type_, str):
        raise RowExpressionError(f"the variable {name[:60]!r} has no type")
    if type_.startswith(("char(", "varchar(")):
        return Column((name,), parse_type(type_))  # it is read truncated, or padded
    if type_.startswith("timestamp("):
        raise InexpressibleError(f"not supported: the type {type_[:40]}")
    return as_read(Column((name,))) if type_.startswith("timestamp") else Column((name,))


def _constant(node: dict[str, Any], _: int) -> Term:
    block, type_ = node.get("valueBlock"), node.get("type")
    if not isinstance(block, str) or not isinstance(type_, str):
        raise RowExpressionError("a constant without a value or a type")
    try:
        values = read_presto_block(block)
    except BlockError as error:
        value_type(type_)  # rows and the like have other blocks and are not supported
        raise RowExpressionError(f"a constant of type {type_[:40]}: {error}") from None
    if len(values) != 1:
        raise RowExpressionError(f"a constant of {len(values)} values")
    if values[0] is None:
        return NULL
    found = value_type(type_)
    if found.rounded_by:
        raise InexpressibleError(f"not supported: the type {type_[:40]}")
    return found.read(values[0])


def _call(node: dict[str, Any], depth: int) -> _Value:
    handle = node.get("functionHandle")
    signature = handle.get("signature") if isinstance(handle, dict) else None
    name = signature.get("name") if isinstance(signature, dict) else None
    if not isinstance(name, str):
        raise InexpressibleError("not supported: a function without a signature")
    name = name.lower().removeprefix("presto.default.").removeprefix("$operator$")
    args = _arguments(node)
    if name == "not" and len(args) == 1:
        return presto_not(_predicate(args[0], depth))
    if name == "cast" and len(args) == 1:
        return _cast(args[0], node.get("returnType"), depth)
    build = _FUNCTIONS.get((name, len(args)))
    if build is None:
        raise InexpressibleError(f"{name[:60]}() is not supported")
    return build(*(_term(arg, depth) for arg in args))


def _cast(arg: Json, target: Json, depth: int) -> Term:
    source = arg.get("type", arg.get("returnType")) if isinstance(arg, dict) else None
    return widen(_term(arg, depth), _number(source), _number(target))


def _number(type_: Json) -> pa.DataType | None:
    return _NUMBERS.get(type_) if isinstance(type_, str) else None


def _special(node: dict[str, Any], depth: int) -> _Value:
    form, args = node.get("form"), _arguments(node)
    match form, args:
        case "AND" | "OR", [_, *_]:
            join = conjunction if form == "AND" else disjunction
            return join([_predicate(arg, depth) for arg in _operands(form, args)])
        case "IN", [value, *options]:
            return In(_term(value, depth), tuple(_term(one, depth) for one in options))
        case "IS_NULL", [value]:
            found = _value(value, depth)
            return IsNull(found)
        case "COALESCE", [_, *_]:
            return Call("coalesce", tuple(_term(arg, depth) for arg in args))
        case "IF", [condition, yes, no]:
            return Case(((_predicate(condition, depth), _term(yes, depth)),), _term(no, depth))
        case "DEREFERENCE", [_, _]:
            raise InexpressibleError("not supported: the field of a row, which has no name")
    raise InexpressibleError(f"not supported: {str(form)[:40]}")


def _operands(form: str, args: list[Any]) -> list[Any]:
    """Return the operands of a chain of one connective, which Presto nests two by two."""
    operands, rest = [], args[::-1]
    while rest:
        match rest.pop():
            case {"@type": "special", "form": inner, "arguments": [*below]} if (
                inner == form and below
            ):
                rest += below[::-1]
            case operand:
                operands.append(operand)
    return operands


def _arguments(node: dict[str, Any]) -> list[Any]:
    args = node.get("arguments")
    if not isinstance(args, list):
        raise RowExpressionError("expected a list of arguments")
    return args


def _comparison(op: Op) -> Callable[[Term, Term], _Value]:
    return lambda left, right: Comparison(op, left, right)


def _arithmetic(symbol: str) -> Callable[..., _Value]:
    return lambda *terms: Call(symbol, terms)


_KINDS: dict[str, Callable[[dict[str, Any], int], _Value]] = {
    "call": _call,
    "special": _special,
    "variable": _variable,
    "constant": _constant,
}
_FUNCTIONS: dict[tuple[str, int], Callable[..., _Value]] = {
    ("equal", 2): _comparison(Op.EQ),
    ("not_equal", 2): _comparison(Op.NE),
    ("less_than", 2): _comparison(Op.LT),
    ("less_than_or_equal", 2): _comparison(Op.LTEQ),
    ("greater_than", 2): _comparison(Op.GT),
    ("greater_than_or_equal", 2): _comparison(Op.GTEQ),
    ("is_distinct_from", 2): lambda left, right: Not(Comparison(Op.NULL_SAFE_EQ, left, right)),
    ("between", 3): presto_between,
    ("add", 2): _arithmetic("+"),
    ("subtract", 2): _arithmetic("-"),
    ("multiply", 2): _arithmetic("*"),
    ("modulus", 2): _arithmetic("%"),
    ("negation", 1): _arithmetic("-"),
}
