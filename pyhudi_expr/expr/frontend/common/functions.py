"""Functions by their names in engines, including predicates and choices.

The rules are in `pyhudi_expr.expr.functions`. A name is listed only if the dialect's engine
confirms its rule: `tests/truth` has an expression for each. Other functions are not supported for
pruning, and keep the files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from pyhudi_expr.expr.frontend.common.constants import (
    FALSE,
    NULL,
    TRUE,
    InexpressibleError,
    as_boolean_term,
    conjunction,
    disjunction,
)
from pyhudi_expr.expr.frontend.common.text_patterns import has_part, like, rlike
from pyhudi_expr.expr.nodes import (
    READINGS,
    Between,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Constant,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Matches,
    Not,
    Op,
    StartsWith,
    Term,
    Truth,
    Unknown,
)

_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "||", "div"})
#: Functions that are the same in Hive and Spark.
_COMMON = frozenset(
    {
        *("pmod", "negative", "positive", "abs", "floor", "ceil", "ceiling", "round"),
        *("greatest", "least", "year", "quarter", "month", "day", "dayofmonth", "hour"),
        *("minute", "second", "to_date", "date", "last_day", "date_add", "date_sub", "datediff"),
        *("add_months", "plus interval", "unix_timestamp", "to_unix_timestamp", "from_unixtime"),
        *("date_format", "dayofweek", "weekofyear", "upper", "ucase", "lower", "lcase", "substr"),
        *("substring", "concat", "trim", "ltrim", "rtrim", "length", "char_length"),
        *("character_length", "regexp_extract", "regexp_replace", "reverse", "instr"),
        *("coalesce", "nvl", "nullif", "lpad", "rpad", "concat_ws", "replace", "split item"),
        *("sqrt", "power", "pow", "exp", "ln", "log10", "log2", "sign"),
        *("current_date", "current_timestamp", "months_between"),
    }
)
_ONLY_SPARK = frozenset(
    {"mod", "dayofyear", "weekday", "dateadd", "date_diff", "date_trunc", "left", "ifnull", "nvl2"}
    | {"signum", "now", "make_date"}
)
#: Without ``trunc``: for dates Hive's vectors give 1970-01-01, whatever the day.
HIVE = _ARITHMETIC | _COMMON
SPARK = HIVE | _ONLY_SPARK | {"trunc"}
#: For SQL text in Hive's dialect: functions that Hive does not have are read as Spark's.
HIVE_TEXT = HIVE | _ONLY_SPARK
#: The current time of the process that evaluates them.
_CLOCKS = frozenset({"current_date", "current_timestamp", "now"})
#: Functions in requests to the service. Clients send their own current time as a constant,
#: because the service's clock may differ.
SENT = (HIVE_TEXT | READINGS) - _CLOCKS
#: Functions of Trino and Presto, by their own names; `sql.trino_rules` has their
#: meaning.
TRINO = (
    frozenset({"+", "-", "*", "%", "||"})
    | {"abs", "mod", "greatest", "least", "coalesce", "nullif", "if"}
    | {"year", "quarter", "month", "day", "day_of_month", "day_of_year", "doy", "hour", "minute"}
    | {"second", "date", "date_add", "date_diff", "date_parse", "date_trunc", "to_unixtime"}
    | {"lower", "upper", "substr", "substring", "concat", "length", "reverse"}
    | {"from_hex", "starts_with", "is_nan", "current_date"}
)
#: Presto takes the second from the time in UTC, which differs in zones with offsets in seconds.
PRESTO = TRINO - {"second"}


#: The function of a text, of letters with "_" for any one character, and of whether there are no
#: others: `Matches`.
MATCHES = "matches pattern"

#: Parts of a time that all engines extract as the same integers.
PARTS = {
    **{name: name for name in ("year", "quarter", "month", "day", "hour", "minute")},
    "doy": "dayofyear",
}
_COMPARISONS = {op.value: op for op in Op} | {"==": Op.EQ, "!=": Op.NE}
_COMPARISONS["is not distinct from"] = Op.NULL_SAFE_EQ
_BYTES = re.compile(r"([0-9a-fA-F]{2})*", re.ASCII)
_NAN = Literal(math.nan, pa.float64())
_CHOICES = frozenset({"coalesce", "nvl", "ifnull", "nvl2", "nullif"})


def supported_call(vocabulary: frozenset[str], name: str, args: tuple[Term, ...]) -> Term:
    """Return a `call` of a function that a dialect has.

    Args:
        vocabulary: The functions that are neither conditions nor choices.
        name: The function's name.
        args: Its arguments.

    Raises:
        InexpressibleError: The dialect does not have the function.
    """
    found = call(name, args)
    if isinstance(found, Call) and found.name not in vocabulary and not _is_condition(found):
        raise InexpressibleError(f"{name[:60]}() is not supported")
    return found


def call(name: str, args: tuple[Term, ...]) -> Term:
    """Return a function of terms; the conditions of ``if`` and ``case`` become predicates."""
    match name, args:
        case "if", (condition, yes, no):
            return Case(((as_condition(condition), as_value(yes)),), as_value(no))
        case "when", _ if len(args) > 1:
            return _case([as_condition(term) for term in args[:-1:2]], args)
        case "case", (subject, *rest) if len(rest) > 1:
            equal: list[HudiExpression] = [Comparison(Op.EQ, subject, term) for term in rest[:-1:2]]
            return _case(equal, tuple(rest))
        case "locate", (part, text):
            return Call("instr", (text, part))
        case "date_part" | "datepart", (Literal(value=str(part)), time) if part.lower() in PARTS:
            return Call(PARTS[part.lower()], (time,))
        case "index", (Call(name="unsupported split", args=(text, separator)), place):
            return Call("split item", (text, separator, place))  # as Hive sends it
        case "unhex", (Literal(value=str(digits)),) if _BYTES.fullmatch(digits):
            return Literal(bytes.fromhex(digits), pa.binary())
    return Call(name, tuple(map(as_value, args)) if name in _CHOICES else args)


def _case(conditions: list[HudiExpression], args: tuple[Term, ...]) -> Term:
    """Return a CASE of alternating conditions and results, perhaps followed by a default."""
    results = tuple(map(as_value, args[1::2]))
    otherwise = as_value(args[-1]) if len(args) % 2 else NULL
    return Case(tuple(zip(conditions, results, strict=True)), otherwise)


def as_condition(term: Term) -> HudiExpression:
    """Return a term as a predicate: a boolean column, a constant, or a function's truth."""
    match term:
        case Literal(value=None):
            return Constant(Truth.NULL)
        case Literal(value=bool(value)):
            return Constant(Truth.YES if value else Truth.NO)
        case Column(declared=declared) if declared is None or declared == pa.bool_():
            return Comparison(Op.EQ, term, TRUE)
        case Case():
            return Comparison(Op.EQ, term, TRUE)
        case Cast(type=type_) if type_ == pa.bool_():
            return Comparison(Op.EQ, term, TRUE)
        case Call(name=name) if name in _CHOICES:
            return Comparison(Op.EQ, term, TRUE)
        case Call():
            return _predicate(term)
    return Unknown("a predicate that is not a boolean column")


def as_value(term: Term) -> Term:
    """Return a function that is a condition as its boolean; any other term unchanged."""
    return as_boolean_term(as_condition(term)) if _is_condition(term) else term


def _is_condition(term: Term) -> bool:
    return isinstance(term, Call) and (term.name in _COMPARISONS or term.name in _PREDICATES)


def is_null(term: Term) -> HudiExpression:
    """Return ``term IS NULL``, where the term may be a condition."""
    return IsNull(as_condition(term) if _is_condition(term) else term)


def is_in(term: Term, options: tuple[Term, ...]) -> HudiExpression:
    """Return Arrow's ``is_in``: NULL is a value that may be among the options; never NULL."""
    values = tuple(one for one in options if not (isinstance(one, Literal) and one.value is None))
    found: HudiExpression = In(term, values)
    if len(values) < len(options):
        found = disjunction((found, IsNull(term)))
    return _is_true(found)


_Predicate: TypeAlias = Callable[[tuple[Term, ...]], HudiExpression | None]


def _predicate(function: Call) -> HudiExpression:
    name, args = function.name, function.args
    operation = _COMPARISONS.get(name)
    if operation is not None and len(args) == 2:
        return Comparison(operation, *map(as_value, args))
    found = _PREDICATES.get(name)
    built = found(args) if found else None
    return built or Unknown(f"{name}() is not supported")


def _like(args: tuple[Term, ...]) -> HudiExpression | None:
    match args:
        case (_, Literal(value=None)):
            return Constant(Truth.NULL)
        case (term, Literal(value=str(pattern))):
            return like(term, pattern)
    return None


def _rlike(args: tuple[Term, ...]) -> HudiExpression | None:
    match args:
        case (_, Literal(value=None)):
            return Constant(Truth.NULL)
        case (term, Literal(value=str(pattern))):
            return rlike(term, pattern)
    return None


def _matches(args: tuple[Term, ...]) -> HudiExpression | None:
    match args:
        case (term, Literal(value=str(letters)), Literal(value=bool(whole))):
            return Matches(term, tuple(None if one == "_" else one for one in letters), whole)
    return None


def _starts_with(args: tuple[Term, ...]) -> HudiExpression | None:
    match args:
        case (term, Literal(value=str(prefix))):
            return StartsWith(term, prefix)
    return None


def _with_text(before: str, after: str) -> _Predicate:
    def predicate(args: tuple[Term, ...]) -> HudiExpression | None:
        """Return whether a text has a constant one at its end, or within it."""
        match args:
            case (term, Literal(value=str(part))):
                return has_part(term, before, part, after)
        return None

    return predicate


def _between(args: tuple[Term, ...]) -> HudiExpression | None:
    """Return BETWEEN; Hive's first argument is whether it is inverted."""
    match args:
        case (Literal(value=bool(inverted)), term, low, high):
            return Not(Between(term, low, high)) if inverted else Between(term, low, high)
    return None


def _is(truth: bool, args: tuple[Term, ...]) -> HudiExpression | None:
    """Return whether a condition is TRUE, or FALSE; never NULL."""
    if len(args) != 1:
        return None
    condition = as_condition(args[0])
    return _is_true(condition if truth else Not(condition))


def _is_true(condition: HudiExpression) -> HudiExpression:
    return Comparison(Op.EQ, Case(((condition, TRUE),), FALSE), TRUE)


_PREDICATES: dict[str, _Predicate] = {
    "and": lambda args: conjunction(map(as_condition, args)) if args else None,
    "or": lambda args: disjunction(map(as_condition, args)) if args else None,
    **dict.fromkeys(
        ("not", "!"), lambda args: Not(as_condition(args[0])) if len(args) == 1 else None
    ),
    "isnull": lambda args: is_null(args[0]) if len(args) == 1 else None,
    "isnotnull": lambda args: Not(is_null(args[0])) if len(args) == 1 else None,
    "istrue": lambda args: _is(True, args),
    "isfalse": lambda args: _is(False, args),
    "isnottrue": lambda args: Not(found) if (found := _is(True, args)) else None,
    "isnotfalse": lambda args: Not(found) if (found := _is(False, args)) else None,
    # isnan(NULL) is FALSE.
    "isnan": lambda args: Comparison(Op.NULL_SAFE_EQ, args[0], _NAN) if len(args) == 1 else None,
    "in": lambda args: In(args[0], args[1:]) if len(args) > 1 else None,
    "between": _between,
    "like": _like,
    **dict.fromkeys(("rlike", "regexp", "regexp_like"), _rlike),
    "startswith": _starts_with,
    "endswith": _with_text("%", ""),
    "contains": _with_text("%", "%"),
    MATCHES: _matches,
}
