"""Spark's analysed expressions (Catalyst trees) as expressions, from their JSON form.

``TreeNode.toJSON`` has the nodes of a tree, parents first, each with its class, the number of its
children, and its fields. Types are exact there: Spark has made each conversion of an operand a
`Cast`. Constants of dates, times and bytes are not (they are written as Java prints them), so the
caller passes their values: days, microseconds, bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.frontend.common.constants import (
    MAX_DEPTH,
    NULL,
    InexpressibleError,
    Type,
    as_boolean_term,
    conjunction,
    disjunction,
    fold_cast,
)
from pyhudi_expr.expr.frontend.common.functions import as_condition, call
from pyhudi_expr.expr.frontend.common.text_patterns import standard_like
from pyhudi_expr.expr.frontend.spark.nodes import (
    TIME_TYPES,
    WITH,
    CatalystError,
    Json,
    Node,
    column_type,
    data_type,
    declared_type,
    field_path,
    inlined,
    leaf_type,
    type_of,
)
from pyhudi_expr.expr.nodes import (
    OR_NULL,
    Between,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    HudiExpression,
    In,
    InZone,
    IsNull,
    Literal,
    Not,
    Op,
    StartsWith,
    Term,
    Unknown,
)
from pyhudi_expr.expr.semantics import Semantics

#: Types whose constants are not written as they are.
OPAQUE_CONSTANTS = frozenset({"date", "timestamp", "timestamp_ntz", "binary"})

_COMPARISONS = {
    **{"EqualTo": Op.EQ, "EqualNullSafe": Op.NULL_SAFE_EQ},
    **{"LessThan": Op.LT, "LessThanOrEqual": Op.LTEQ},
    **{"GreaterThan": Op.GT, "GreaterThanOrEqual": Op.GTEQ},
}
#: Functions by their number of operands, with their names in `Call`.
_FUNCTIONS: Mapping[tuple[str, int], str] = {
    **{("Add", 2): "+", ("Subtract", 2): "-", ("Multiply", 2): "*", ("Divide", 2): "/"},
    **{("Remainder", 2): "%", ("Pmod", 2): "pmod", ("UnaryMinus", 1): "-", ("Abs", 1): "abs"},
    **{("Floor", 1): "floor", ("Ceil", 1): "ceil", ("Round", 2): "round"},
    **{("Year", 1): "year", ("Quarter", 1): "quarter", ("Month", 1): "month"},
    **{("DayOfMonth", 1): "day", ("DayOfYear", 1): "dayofyear", ("Hour", 1): "hour"},
    **{("Minute", 1): "minute", ("Second", 1): "second", ("LastDay", 1): "last_day"},
    **{("DateAdd", 2): "date_add", ("DateSub", 2): "date_sub", ("DateDiff", 2): "datediff"},
    **{("AddMonths", 2): "add_months", ("TruncDate", 2): "trunc"},
    **{("TruncTimestamp", 2): "date_trunc", ("DateFormatClass", 2): "date_format"},
    ("FromUnixTime", 2): "from_unixtime",
    **{("Upper", 1): "upper", ("Lower", 1): "lower", ("Length", 1): "length"},
    **{("Substring", 3): "substr", ("StringTrim", 1): "trim"},
    **{("StringInstr", 2): "instr", ("StringLPad", 3): "lpad", ("Reverse", 1): "reverse"},
    **{("DayOfWeek", 1): "dayofweek", ("WeekDay", 1): "weekday", ("WeekOfYear", 1): "weekofyear"},
    **{("MakeDate", 3): "make_date"},
    **{("Sqrt", 1): "sqrt", ("Pow", 2): "power", ("Exp", 1): "exp", ("Log", 1): "ln"},
    **{("Log10", 1): "log10", ("Log2", 1): "log2", ("Signum", 1): "sign"},
    **{("IntegralDivide", 2): "div", ("CurrentDate", 0): "current_date"},
    **{("CurrentTimestamp", 0): "current_timestamp", ("Now", 0): "now"},
    **{("StringTrimLeft", 1): "ltrim", ("StringTrimRight", 1): "rtrim"},
}
_OF_MANY = {"Concat": "concat", "Greatest": "greatest", "Least": "least", "Coalesce": "coalesce"}
#: Nodes that do not change their first child.
_TRANSPARENT = frozenset(
    {"Alias", "KnownNotNull", "UnaryPositive", "PromotePrecision", "KnownNullable"}
)
#: Chains of any length, which are not nested.
_CHAINS = frozenset({"And", "Or"})
_MICROS_PER_DAY = 86_400_000_000
#: The field of nodes for the zone in which they are evaluated.
_ZONE = "timeZoneId"
#: Nodes with a mode of evaluation, see `Unwritten.is_tried`.
MODED = frozenset(
    {"Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod", "Cast"}
)


@dataclass(frozen=True)
class Unwritten:
    """What the JSON form does not have of nodes, by their numbers.

    Attributes:
        constant: The value of a constant: days, microseconds or bytes; the escape character of
            LIKE. Of a set of values (``InSet``): a list of Python values.
        is_tried: Whether an expression is NULL where it fails (evalMode TRY).
    """

    constant: Callable[[int], Any]
    is_tried: Callable[[int], bool]


def parse_catalyst(text: str, unwritten: Unwritten, semantics: Semantics) -> HudiExpression:
    """Return the condition of a filter. What has no equivalent becomes `Unknown`.

    An expression keeps the zone of the session that analysed it, which a view or a DataFrame brings
    into another session: what a node says wins over `semantics`.

    Raises:
        CatalystError: The text is malformed.
    """
    try:
        nodes = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CatalystError(f"no JSON: {error!s:.200}") from None
    if not isinstance(nodes, list) or not nodes:
        raise CatalystError("no list of nodes")
    tree = _tree(nodes)
    zones = {name for node in nodes if isinstance(name := node.get(_ZONE), str)}
    session = semantics.zone and semantics.zone.name
    return _Reader(unwritten, semantics, names_zones=bool(zones - {session})).predicate(tree)


def _tree(nodes: list[Any]) -> Node:
    """Return the tree of a list with parents first; a chain of ANDs, or of ORs, is one node."""
    whole: list[Node] = []  # the last node's first child is on top
    for number, fields in reversed(list(enumerate(nodes))):
        if not isinstance(fields, dict):
            raise CatalystError(f"node {number}: no object")
        name, count = fields.get("class"), fields.get("num-children")
        if not isinstance(name, str) or not isinstance(count, int):
            raise CatalystError(f"node {number}: no class, or no number of children")
        if not 0 <= count <= len(whole):
            raise CatalystError(f"node {number}: {count} children, which are not there")
        children = [whole.pop() for _ in range(count)]
        node = _node(number, name.rpartition(".")[2], fields, children)
        if node.depth > MAX_DEPTH:
            raise CatalystError(f"nested more than {MAX_DEPTH} levels deep")
        whole.append(node)
    if len(whole) > 1:
        raise CatalystError("nodes that belong to no parent")
    return whole[0]


def _node(number: int, name: str, fields: Mapping[str, Any], children: list[Node]) -> Node:
    depth, below = 0, list[Node]()
    for child in children:
        is_chained = name in _CHAINS and child.name == name
        below += child.children if is_chained else (child,)
        depth = max(depth, child.depth + (not is_chained))
    return Node(number, name, fields, tuple(below), depth)


class _Reader:
    """Converts trees to expressions; all methods but `predicate` raise InexpressibleError."""

    def __init__(self, unwritten: Unwritten, semantics: Semantics, *, names_zones: bool) -> None:
        """Create a reader; `names_zones`: a node has another zone than the session."""
        self._unwritten = unwritten
        self._semantics = semantics
        self._names_zones = names_zones

    def predicate(self, node: Node) -> HudiExpression:
        try:
            return self._predicate(node)
        except InexpressibleError as reason:
            return Unknown(str(reason))
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            return Unknown(f"not supported: {node.name}: {error!s:.100}")

    def _predicate(self, node: Node) -> HudiExpression:
        match node.name, node.children:
            case "And", (_, _, *_):
                return conjunction(map(self.predicate, node.children))
            case "Or", (_, _, *_):
                return disjunction(map(self.predicate, node.children))
            case "Not", (child,):
                return Not(self.predicate(child))
            case name, (left, right) if name in _COMPARISONS:
                return Comparison(_COMPARISONS[name], self._term(left), self._term(right))
            case "In", (term, *options):
                return In(self._term(term), tuple(map(self._term, options)))
            case "InSet", (term,):
                return self._in_set(node, term)
            case "Between", (term, low, high):
                return Between(self._term(term), self._term(low), self._term(high))
            case "IsNull", (child,):
                return self._is_null(child)
            case "IsNotNull", (child,):
                return Not(self._is_null(child))
            case "IsNaN", (child,):
                return as_condition(call("isnan", (self._term(child),)))
            case "StartsWith", (term, prefix):
                return self._starts_with(self._term(term), self._term(prefix))
            case "Like", (term, pattern):
                return self._like(node, self._term(term), self._term(pattern))
            case "RLike" | "EndsWith" | "Contains", (term, part):
                return as_condition(call(node.name.lower(), (self._term(term), self._term(part))))
            case name, (child, *_) if name in _TRANSPARENT:
                return self._predicate(child)
            case name, _ if name == WITH:
                return self._predicate(inlined(node))
            case name, operands if name in _CONDITIONS:
                raise InexpressibleError(f"not supported: {name} of {len(operands)} operands")
        return as_condition(self._term(node))

    def _is_null(self, child: Node) -> HudiExpression:
        if child.name in _CONDITIONS:
            return IsNull(self.predicate(child))
        return IsNull(self._term(child))

    def _in_set(self, node: Node, term: Node) -> HudiExpression:
        type_ = type_of(term)
        values = tuple(Literal(value, type_) for value in self._unwritten.constant(node.number))
        return In(self._term(term), values)

    @staticmethod
    def _starts_with(term: Term, prefix: Term) -> HudiExpression:
        match prefix:
            case Literal(value=str(text)):
                return StartsWith(term, text)
        raise InexpressibleError("not supported: a prefix that is not constant")

    def _like(self, node: Node, term: Term, pattern: Term) -> HudiExpression:
        match pattern:
            case Literal(value=str(text)):
                return standard_like(term, text, str(self._unwritten.constant(node.number)))
        raise InexpressibleError("not supported: a pattern that is not constant")

    def _term(self, node: Node) -> Term:
        """Return the value of a node, as its zone and its mode of evaluation have it."""
        found = self._value(node)
        if node.name in MODED and self._unwritten.is_tried(node.number):
            found = Call(OR_NULL, (found,))
        name = node.fields.get(_ZONE)
        if not self._names_zones or not isinstance(name, str):
            return found
        return InZone(found, self._semantics.zone_named(name))

    def _value(self, node: Node) -> Term:
        match node.name, node.children:
            case "AttributeReference", ():
                return Column((node.fields["name"],), declared_type(node))
            case "GetStructField", (_,):
                return Column(field_path(node), column_type(data_type(node)))
            case "Literal", ():
                return self._literal(node)
            case "Cast" | "AnsiCast" | "TryCast", (child,):
                if _casts_to_other_times(child, node.fields["dataType"]):
                    raise InexpressibleError("not supported: a time cast to a wall clock and back")
                return self._cast(self._term(child), node.fields["dataType"])
            case "If", (condition, yes, no):
                branch = (self.predicate(condition), self._term(yes))
                return Case((branch,), self._term(no))
            case "CaseWhen", children:
                return self._case(children)
            case name, _ if name in _CONDITIONS:
                return as_boolean_term(self._predicate(node))
            case "UnixTimestamp" | "ToUnixTimestamp", (time, pattern):
                of_text = type_of(time) == pa.string()  # others have no use for the pattern
                parts = (time, pattern) if of_text else (time,)
                return Call("unix_timestamp", tuple(map(self._term, parts)))
            case "DateAddYMInterval" | "TimestampAddYMInterval", (time, by):
                return _later(self._term(time), months=_interval(by))
            case "TimeAdd" | "TimestampAddInterval", (time, by):
                days, micros = _days_and_rest(_interval(by))
                return _later(self._term(time), days=days, micros=micros)
            case "DateAdd", (day, Node(name="ExtractANSIIntervalDays", children=(by,))):
                days, _ = _days_and_rest(_interval(by))
                return Call("date_add", (self._term(day), Literal(days, pa.int32())))
            case "GetArrayItem", (
                Node(name="StringSplit", children=(text, separator, limit)),
                place,
            ) if _literal_text(limit) == "-1":
                return Call("split item", tuple(map(self._term, (text, separator, place))))
            case "MonthsBetween", (one, other, _):  # whether it is rounded
                return Call("months_between", (self._term(one), self._term(other)))
            case name, (child, *_) if name in _TRANSPARENT:
                return self._term(child)
            case name, _ if name == WITH:
                return self._term(inlined(node))
            case name, children if name in _OF_MANY:
                return call(_OF_MANY[name], tuple(map(self._term, children)))
            case "Round", (value, places) if _literal_text(places) == "0":
                return Call("round", (self._term(value),))
        function = _FUNCTIONS.get((node.name, len(node.children)))
        if function is None:
            raise InexpressibleError(f"not supported: {node.name[:60]}")
        return Call(function, tuple(map(self._term, node.children)))

    def _case(self, children: tuple[Node, ...]) -> Term:
        pairs = zip(children[:-1:2], children[1::2], strict=False)
        branches = tuple((self.predicate(when), self._term(then)) for when, then in pairs)
        has_default = len(children) % 2 == 1
        return Case(branches, self._term(children[-1]) if has_default else NULL)

    @staticmethod
    def _cast(term: Term, type_name: Json) -> Term:
        type_ = leaf_type(type_name)
        if type_ is None:
            raise InexpressibleError(f"not supported: a cast to {type_name!s:.60}")
        clock = pa.timestamp("ns") if type_ in TIME_TYPES.values() else type_
        folded = fold_cast(term, clock) if isinstance(term, Literal) else None
        return folded or Cast(term, clock)

    def _literal(self, node: Node) -> Literal:
        type_name, text = node.fields["dataType"], node.fields.get("value")
        type_ = leaf_type(type_name)
        if type_ is None:
            raise InexpressibleError(f"not supported: a constant of type {type_name!s:.60}")
        if text is None:
            return Literal(None, type_)
        if type_name in OPAQUE_CONSTANTS:
            return Literal(self._unwritten.constant(node.number), type_)
        return Literal(_value(str(text), type_), type_)


_CONDITIONS = frozenset(
    {"And", "Or", "Not", "In", "InSet", "Between", "StartsWith", "Like", "RLike", "EndsWith"}
    | {"Contains"}
    | {"IsNull", "IsNotNull", "IsNaN", *_COMPARISONS}
)


def _value(text: str, type_: Type) -> Json:
    """Parse a value as Java prints it. Raises ValueError."""
    if isinstance(type_, pa.DataType):
        if pa.types.is_boolean(type_):
            return {"true": True, "false": False}[text]
        if pa.types.is_integer(type_):
            return int(text)
        if pa.types.is_floating(type_):
            return float(np.float32(text)) if type_.bit_width == 32 else float(text)
        if pa.types.is_decimal(type_):
            try:
                return Decimal(text)
            except InvalidOperation:
                raise ValueError(f"{text[:40]!r} is not a decimal") from None
    return text


def _casts_to_other_times(node: Node, type_name: Json) -> bool:
    """Return whether a part of what is cast to a type of times is cast to the other one.

    An hour that clocks show twice, or skip, does not come back from there as it was.
    """
    if type_name not in TIME_TYPES:
        return False
    own = node.fields.get("dataType") if node.name == "Cast" else None
    if own in TIME_TYPES and TIME_TYPES[own] != TIME_TYPES[type_name]:
        return True
    return any(_casts_to_other_times(child, type_name) for child in node.children)


def _later(time: Term, months: int = 0, days: int = 0, micros: int = 0) -> Term:
    parts = (Literal(part, pa.int64()) for part in (months, days, micros))
    return Call("plus interval", (time, *parts))


def _interval(node: Node) -> int:
    """Return the months or microseconds of a constant interval. Raises InexpressibleError."""
    match node.name, node.children:
        case "UnaryMinus", (child,):
            return -_interval(child)
        case "Literal", () if str(node.fields["dataType"]).startswith("interval "):
            return int(str(node.fields["value"]))
    raise InexpressibleError(f"not supported: an interval by {node.name[:60]}")


def _days_and_rest(micros: int) -> tuple[int, int]:
    """Return whole days, which the calendar counts, and the rest with the same sign."""
    days = abs(micros) // _MICROS_PER_DAY * (1 if micros > 0 else -1)
    return days, micros - days * _MICROS_PER_DAY


def _literal_text(node: Node) -> str | None:
    return str(node.fields.get("value")) if node.name == "Literal" else None
