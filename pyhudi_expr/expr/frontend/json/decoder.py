"""Decode expressions from JSON; `pyhudi_expr.expr.frontend.json.encoder` describes the format."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import pyarrow as pa

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.frontend.common.builders import MAX_DEPTH
from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError
from pyhudi_expr.expr.frontend.common.json_input import Json, read_json
from pyhudi_expr.expr.frontend.json.arrow_types import parse_arrow_type
from pyhudi_expr.expr.frontend.json.encoder import TRUTHS, VERSION
from pyhudi_expr.expr.keys import KeyList
from pyhudi_expr.expr.nodes import CharType, HudiExpression, Op, Term, Truth

_OPERATORS = {op.value: op for op in Op}
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

_Json = Any


class FormError(ValueError):
    """The text is not a predicate in this format; the message has the path of the part."""


def loads(text: str) -> HudiExpression:
    """Return the inverse of `encoder.dumps`. Raises FormError."""
    form = read_json(text, FormError)
    if not isinstance(form, dict) or form.get("version") != VERSION:
        raise FormError(f"not of version {VERSION}")
    reader = _Reader(form, "", 0)
    reader.only("version", "predicate")
    return reader.predicate("predicate")


class _Reader:
    """The fields of one JSON object, with its path for messages."""

    def __init__(self, fields: Mapping[str, _Json], place: str, depth: int) -> None:
        self._fields, self._place, self._depth = fields, place, depth

    def only(self, *names: str) -> None:
        """Refuse other fields."""
        other = sorted(self._fields.keys() - set(names))
        if other:
            raise self.error(f"the unknown field {other[0][:40]!r}")

    def error(self, problem: str) -> FormError:
        return FormError(f"{self._place or 'the form'}: {problem}")

    def has(self, name: str) -> bool:
        return name in self._fields

    def get(self, name: str, kind: Json) -> Json:
        found = self._fields.get(name)
        if not isinstance(found, kind):
            raise self.error(f"{name} is missing, or of another type")
        return found

    def text(self, name: str) -> str:
        return cast(str, self.get(name, str))

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.get(name, list)
        if not found or not all(isinstance(text, str) for text in found):
            raise self.error(f"{name} is not a list of names")
        return tuple(found)

    def type(self, name: str) -> pa.DataType | CharType:
        try:
            return parse_arrow_type(self.text(name))
        except InexpressibleError as error:
            raise self.error(str(error)) from None

    def objects(self, name: str) -> list[_Reader]:
        return [self._below(one, f"{name}[{at}]") for at, one in enumerate(self.get(name, list))]

    def node(self, name: str) -> HudiExpression | Term:
        return self._below(self.get(name, dict), name).read()

    def predicate(self, name: str) -> HudiExpression:
        return self._predicate(self.node(name), name)

    def predicates(self, name: str) -> tuple[HudiExpression, ...]:
        found = tuple(self._predicate(one.read(), name) for one in self.objects(name))
        if not found:
            raise self.error(f"{name} is empty")
        return found

    def term(self, name: str) -> Term:
        return self._term(self.node(name), name)

    def terms(self, name: str) -> tuple[Term, ...]:
        return tuple(self._term(one.read(), name) for one in self.objects(name))

    def read(self) -> HudiExpression | Term:
        """Return the node of the object."""
        kind = self.text("node")
        found = _KINDS.get(kind)
        if found is None:
            raise self.error(f"the unknown node {kind[:40]!r}")
        fields, build = found
        self.only("node", *fields)
        return build(self)

    def _below(self, value: _Json, name: str) -> _Reader:
        place = f"{self._place}.{name}" if self._place else name
        if not isinstance(value, dict):
            raise FormError(f"{place}: no object")
        if self._depth > 2 * MAX_DEPTH:
            raise FormError("nested too deeply")
        return _Reader(value, place, self._depth + 1)

    def _predicate(self, node: HudiExpression | Term, name: str) -> HudiExpression:
        if isinstance(node, e.Term):
            raise self.error(f"{name} is a value where a predicate is expected")
        return node

    def _term(self, node: HudiExpression | Term, name: str) -> Term:
        if not isinstance(node, e.Term):
            raise self.error(f"{name} is a predicate where a value is expected")
        return node


def _constant(at: _Reader) -> HudiExpression:
    truth = Truth(0)
    for name in at.texts("truth"):
        if name not in TRUTHS:
            raise at.error(f"no truth value is called {name[:40]!r}")
        truth |= TRUTHS[name]
    return e.Constant(truth)


def _comparison(at: _Reader) -> HudiExpression:
    operation = _OPERATORS.get(at.text("op"))
    if operation is None:
        raise at.error("an unknown operator")
    return e.Comparison(operation, at.term("left"), at.term("right"))


def _matches(at: _Reader) -> HudiExpression:
    begin = at.get("begin", list)
    if not all(one is None or (isinstance(one, str) and len(one) == 1) for one in begin):
        raise at.error("expected a list of characters for begin")
    if not all(one is None or one.isascii() for one in begin):
        raise at.error("begin has characters beyond ASCII")
    return e.Matches(at.term("term"), tuple(begin), at.get("whole", bool))


def _in_keys(at: _Reader) -> HudiExpression:
    ends = *at.terms("lows"), *at.terms("highs")
    term, types = at.term("term"), {end.type for end in ends if isinstance(end, e.Literal)}
    if not isinstance(term, e.Column) or len(types) > 1 or len(ends) % 2:
        raise at.error("keys that are not of one type, or not of a column")
    if not ends:
        return e.In(term, ())
    try:
        values = pa.array(
            [cast(e.Literal, end).value for end in ends], cast(pa.DataType, types.pop())
        )
        keys = KeyList.of_ends(values, at.get("count", int))
    except (ValueError, TypeError, AttributeError, pa.ArrowException):
        raise at.error("no ascending ranges of keys") from None
    return e.InKeys(term, keys, at.get("has_null", bool))


def _column(at: _Reader) -> Term:
    return e.Column(at.texts("path"), at.type("type") if at.has("type") else None)


def _case(at: _Reader) -> Term:
    branches = at.objects("branches")
    for branch in branches:
        branch.only("when", "then")
    pairs = tuple((branch.predicate("when"), branch.term("then")) for branch in branches)
    return e.Case(pairs, at.term("otherwise"))


def _literal(at: _Reader) -> Term:
    type_ = at.type("type")
    if not at.has("value"):
        return e.Literal(None, type_)
    try:
        return e.Literal(_PARSERS[_family(type_)](at, type_), type_)
    except (ValueError, InvalidOperation, binascii.Error, pa.ArrowException) as error:
        if isinstance(error, FormError):
            raise
        raise at.error(f"no value of type {type_}") from None


def _family(type_: pa.DataType | CharType) -> str:
    if isinstance(type_, CharType):
        return "text"
    for family, belongs in _FAMILIES.items():
        if belongs(type_):
            return family
    return "null"


def _integer(at: _Reader, type_: Json) -> int:
    value = at.get("value", int | str)
    if isinstance(value, bool) or (isinstance(value, str) and len(value) > 20):
        raise at.error(f"no value of type {type_}")
    number = int(value)
    bits = type_.bit_width
    low, high = (0, 2**bits) if pa.types.is_unsigned_integer(type_) else _signed(bits)
    if not low <= number < high:
        raise at.error(f"{number} is beyond {type_}")
    return number


def _signed(bits: int) -> tuple[int, int]:
    return -(2 ** (bits - 1)), 2 ** (bits - 1)


def _float(at: _Reader, type_: Json) -> float:
    value = at.get("value", int | float | str)
    if isinstance(value, str):
        if value not in _NOT_FINITE:
            raise at.error(f"no value of type {type_}")
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not math.isfinite(float(value)):
        raise at.error(f"no value of type {type_}")
    return float(value)


def _decimal(at: _Reader, type_: Json) -> Decimal:
    text = at.text("value")
    value = Decimal(text)
    if len(text) > 100 or not value.is_finite() or abs(value.adjusted()) > 100:
        raise at.error(f"no value of type {type_}")
    return value


def _null(at: _Reader, type_: Json) -> Json:
    raise at.error(f"a value of type {type_}")


_FAMILIES: dict[str, Callable[[pa.DataType], bool]] = {
    "truth": pa.types.is_boolean,
    "float": pa.types.is_floating,
    "decimal": pa.types.is_decimal,
    "text": lambda type_: pa.types.is_string(type_) or pa.types.is_large_string(type_),
    "bytes": lambda type_: (
        pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
        or pa.types.is_fixed_size_binary(type_)
    ),
    "whole": lambda type_: pa.types.is_integer(type_) or pa.types.is_temporal(type_),
}
_PARSERS: dict[str, Callable[[_Reader, Any], Any]] = {
    "truth": lambda at, _: at.get("value", bool),
    "float": _float,
    "decimal": _decimal,
    "text": lambda at, _: at.text("value"),
    "bytes": lambda at, _: base64.b64decode(at.text("value"), validate=True),
    "whole": _integer,
    "null": _null,
}
_KINDS: dict[str, tuple[tuple[str, ...], Callable[[_Reader], HudiExpression | Term]]] = {
    "and": (("children",), lambda at: e.And(at.predicates("children"))),
    "or": (("children",), lambda at: e.Or(at.predicates("children"))),
    "not": (("child",), lambda at: e.Not(at.predicate("child"))),
    "constant": (("truth",), _constant),
    "comparison": (("op", "left", "right"), _comparison),
    "in": (("term", "options"), lambda at: e.In(at.term("term"), at.terms("options"))),
    "in_keys": (("term", "count", "lows", "highs", "has_null"), _in_keys),
    "between": (
        ("term", "low", "high"),
        lambda at: e.Between(at.term("term"), at.term("low"), at.term("high")),
    ),
    "is_null": (("term",), lambda at: e.IsNull(at.node("term"))),
    "starts_with": (
        ("term", "prefix"),
        lambda at: e.StartsWith(at.term("term"), at.text("prefix")),
    ),
    "matches": (("term", "begin", "whole"), _matches),
    "unknown": (("reason",), lambda at: e.Unknown(at.text("reason"))),
    "column": (("path", "type"), _column),
    "literal": (("type", "value"), _literal),
    "cast": (("term", "type"), lambda at: e.Cast(at.term("term"), at.type("type"))),
    "call": (("name", "args"), lambda at: e.Call(at.text("name"), at.terms("args"))),
    "case": (("branches", "otherwise"), _case),
}
