"""The SQL dialects of predicates, each a value: how it is parsed, and what it means.

If a dialect differs in meaning from the trees of `pyhudi_expr.expr`, and they cannot express it,
InexpressibleError is raised, and that part of a predicate is `Unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from pyhudi_expr.expr.frontend.common import functions
from pyhudi_expr.expr.frontend.common.constants import (
    PLUS_EXACT_INTERVAL,
    InexpressibleError,
    Type,
    conjunction,
    disjunction,
    fold_cast,
    instant_of_text,
    parse_type,
    plus_interval,
    rows_equal,
)
from pyhudi_expr.expr.frontend.common.functions import supported_call
from pyhudi_expr.expr.frontend.common.hive_decimals import certain_cast, with_changed_decimals
from pyhudi_expr.expr.frontend.common.text_patterns import like, standard_like
from pyhudi_expr.expr.frontend.sql.trino_rules import (
    Read,
    as_read,
    presto_as_read,
    presto_between,
    presto_like,
    presto_not,
    trino_call,
    trino_cast,
    trino_operands,
    trino_predicate,
    trino_rows_equal,
)
from pyhudi_expr.expr.nodes import (
    NO_DECIMAL,
    Between,
    Call,
    Cast,
    Comparison,
    HudiExpression,
    IsNull,
    Literal,
    Not,
    Term,
    Unknown,
    walk,
)
from pyhudi_expr.expr.semantics import Engine

if TYPE_CHECKING:
    from sqlglot import exp

    from pyhudi_expr.expr.frontend.sql.readers import Reader

_Given = TypeVar("_Given")


@dataclass(frozen=True)
class SqlDialect:
    """The rules of one dialect. Those that return terms raise InexpressibleError.

    Attributes:
        name: The name for users.
        cast: A term as a type of sqlglot.
        call: A function by its name in lower case.
        predicate: A function that is a predicate; None for any other.
        like: A term, a pattern, and the character after ESCAPE.
        operands: The terms of one comparison, as the engine compares them.
        null_safe: The terms of ``<=>``.
        plus_interval: A time later (1) or earlier (-1) by an interval.
        arithmetic: The call of an operator.
        negated: NOT of a predicate.
        between: BETWEEN of a term and its ends.
        rows_equal: Equality of rows, whose fields are compared so.
        certain: A condition with each value that one of the engine's evaluators gives it.
    """

    name: str
    cast: Callable[[Term, exp.DataType], Term]
    call: Callable[[str, tuple[Term, ...]], Term]
    predicate: Callable[[str, tuple[Term, ...]], HudiExpression | None]
    like: Callable[[Term, str, str | None], HudiExpression]
    operands: Callable[[tuple[Term, ...]], tuple[Term, ...]]
    null_safe: Callable[[tuple[Term, ...]], tuple[Term, ...]]
    plus_interval: Callable[[Term, exp.Interval, int], Term]
    arithmetic: Callable[[str, tuple[Term, ...]], Term]
    negated: Callable[[HudiExpression], HudiExpression]
    between: Callable[[Term, Term, Term], HudiExpression]
    rows_equal: Callable[[Sequence[Comparison]], HudiExpression]
    certain: Callable[[HudiExpression], HudiExpression]

    @property
    def engine(self) -> Engine:
        """The engine that evaluates a text of this dialect."""
        return Engine(self.name)

    @property
    def reader(self) -> Reader:
        """How sqlglot reads its texts; imported on use, as that takes a tenth of a second."""
        from pyhudi_expr.expr.frontend.sql.readers import READERS

        return READERS[self.name]

    @property
    def as_written(self) -> SqlDialect:
        """The dialect for a reader that evaluates predicates itself, and in one way only."""
        return _HIVE_AS_WRITTEN if self.name == HIVE.name else self


def _hive_cast(cast: Callable[[Term, Type], Term], term: Term, to: exp.DataType) -> Term:
    name = to.sql("hive")
    return cast(term, parse_type(_LOCAL_TIME_ZONE.get(name, name)))


_LOCAL_TIME_ZONE = {"TIMESTAMPLTZ": "timestamp with local time zone"}


def _cast(term: Term, type_: Type) -> Term:
    folded = fold_cast(term, type_) if isinstance(term, Literal) else None
    return folded or Cast(term, type_)


def _hive_like(term: Term, pattern: str, escape: str | None) -> HudiExpression:
    if escape is not None:
        raise InexpressibleError("not supported: LIKE with ESCAPE")
    return like(term, pattern)


def _as_it_is(given: _Given) -> _Given:
    return given


def _no_decimals(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    if any(isinstance(term, Literal) and term.value is None for term in terms):
        return terms  # Hive makes IS NULL of it
    types = [term.type for term in terms if isinstance(term, Literal)]
    if any(isinstance(type_, pa.Decimal128Type | pa.Decimal256Type) for type_ in types):
        raise InexpressibleError("not supported: <=> of decimals")
    return tuple(term if isinstance(term, Literal) else Call(NO_DECIMAL, (term,)) for term in terms)


def _hive_rows_equal(fields: Sequence[Comparison]) -> HudiExpression:
    """Return equality of rows, where a constant that a field's type does not hold becomes NULL.

    Hive finds such a constant equal to a field that is NULL.
    """
    doubt = Unknown("a NULL in a row beside a constant that Hive may convert to NULL")
    return rows_equal(
        disjunction((field, conjunction((IsNull(field.left), doubt)))) for field in fields
    )


def _no_predicate(name: str, args: tuple[Term, ...]) -> None:
    """Return None: `call` and `as_condition` have the predicates."""


#: Types by their names in sqlglot.
_COMMON: dict[str, pa.DataType] = {
    **{"BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16()},
    **{"INT": pa.int32(), "BIGINT": pa.int64(), "FLOAT": pa.float32()},
    **{"DOUBLE": pa.float64(), "DATE": pa.date32(), "TEXT": pa.string()},
}
_CLOCK, _CLOCKS = pa.timestamp("ns"), ("TIMESTAMP", "TIMESTAMPTZ")
_SPARK_TYPES: dict[str, pa.DataType] = {
    **_COMMON,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ"), _CLOCK),
    **{"TIMESTAMPNTZ": _CLOCK, "BINARY": pa.binary(), "NULL": pa.null()},
}
_TRINO_TYPES: dict[str, pa.DataType] = {
    **_COMMON,
    **{"TIMESTAMP": _CLOCK, "TIMESTAMPTZ": pa.timestamp("ns", "UTC")},
    **{"VARBINARY": pa.binary(), "VARCHAR": pa.string()},
}
#: Minimum digits of a time's second, for which a margin of a millisecond is enough.
_DIGITS = 3


def _spark_cast(term: Term, to: exp.DataType) -> Term:
    if isinstance(term, Literal) and isinstance(term.value, str):
        moment = instant_of_text(term.value)
        if moment is not None and to.this.name in ("TIMESTAMPTZ", "TIMESTAMPLTZ"):
            return moment
    return _cast(term, _type_of(to, _SPARK_TYPES, "decimal(10,0)"))


#: Types whose names are functions, too.
_SPARK_CASTS: dict[str, pa.DataType] = {
    **{"boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32()},
    **{"bigint": pa.int64(), "float": pa.float32(), "double": pa.float64(), "date": pa.date32()},
    **{"string": pa.string(), "decimal": pa.decimal128(10, 0), "timestamp": _CLOCK},
}


def _spark_call(name: str, args: tuple[Term, ...]) -> Term:
    match args:
        case (term,) if name in _SPARK_CASTS:
            return _cast(term, _SPARK_CASTS[name])
        case (Literal(value=str(text)),) if name == "to_timestamp" and _TIME.fullmatch(text):
            return _cast(args[0], _CLOCK)
    return supported_call(functions.SPARK, name, args)


_TIME = re.compile(r"[1-9]\d{3}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,6})?)?", re.ASCII)


def _trino_cast(read: Read, term: Term, to: exp.DataType) -> Term:
    parameters = [parameter.name for parameter in to.expressions]
    if isinstance(term, Literal) and isinstance(term.value, str):
        if to.this.name == "DECIMAL" and not parameters:
            number = fold_cast(term, pa.decimal128(38, len(term.value.partition(".")[2])))
            return number or trino_cast(read, term, pa.decimal128(38, 0))
        if to.this.name in _CLOCKS and not _keeps_digits(term.value, parameters):
            raise InexpressibleError(f"not supported: a cast to {to.sql('trino')}")
        if to.this.name == "TIMESTAMPTZ":
            return instant_of_text(term.value) or trino_cast(
                read, term, _TRINO_TYPES["TIMESTAMPTZ"]
            )
    elif to.this.name in _CLOCKS and not _has_millis(parameters):
        raise InexpressibleError(f"not supported: a cast to {to.sql('trino')}")
    if to.this.name in ("VARCHAR", "CHAR") and parameters:
        return trino_cast(read, term, parse_type(to.sql("hive")))
    return trino_cast(read, term, _type_of(to, _TRINO_TYPES, "decimal(38,0)"))


def _has_millis(parameters: list[str]) -> bool:
    """Return whether a time of so many digits, by default three, is near the stored one."""
    return not parameters or (parameters[0].isdigit() and int(parameters[0]) >= _DIGITS)


def _keeps_digits(text: str, parameters: list[str]) -> bool:
    """Return whether a text's second has no more digits than a type; by default three suffice.

    TIMESTAMP '...' has a type with the digits of its text.
    """
    digits = len(text.partition(".")[2].partition(" ")[0])
    return not parameters or digits <= int(parameters[0])


def _type_of(to: exp.DataType, types: dict[str, pa.DataType], decimal: str) -> Type:
    if to.this.name == "DECIMAL":
        return parse_type(to.sql("hive") if to.expressions else decimal)
    found = types.get(to.this.name)
    if found is None:
        raise InexpressibleError(f"the type {to.sql()[:100]!r}")
    return found


def _spark_like(term: Term, pattern: str, escape: str | None) -> HudiExpression:
    return standard_like(term, pattern, "\\" if escape is None else escape)


def _trino_arithmetic(sign: str, args: tuple[Term, ...]) -> Term:
    if sign in ("/", "div"):
        raise InexpressibleError("not supported: a quotient, which may be an integer division")
    return Call(sign, args)


def _trino_plus_interval(time: Term, interval: exp.Interval, sign: int) -> Term:
    return plus_interval(as_read(time), interval, sign)


def _presto_plus_interval(time: Term, interval: exp.Interval, sign: int) -> Term:
    if any(isinstance(node, Cast) for node in walk(time)):
        # The midnight of a date is an instant there, so days later clocks may show another hour.
        raise InexpressibleError("not supported: a time of a cast plus an interval")
    return plus_interval(presto_as_read(time), interval, sign, PLUS_EXACT_INTERVAL)


def _presto_call(name: str, args: tuple[Term, ...]) -> Term:
    if name == "second":
        raise InexpressibleError("not supported: second(), which Presto takes from the time in UTC")
    return trino_call(presto_as_read, name, args)


HIVE = SqlDialect(
    name="hive",
    cast=partial(_hive_cast, certain_cast),
    call=partial(supported_call, functions.HIVE_TEXT),
    predicate=_no_predicate,
    like=_hive_like,
    operands=_as_it_is,
    null_safe=_no_decimals,
    plus_interval=plus_interval,
    arithmetic=Call,
    negated=Not,
    between=Between,
    rows_equal=_hive_rows_equal,
    certain=with_changed_decimals,
)
_HIVE_AS_WRITTEN = replace(
    HIVE, cast=partial(_hive_cast, _cast), rows_equal=rows_equal, certain=_as_it_is
)
SPARK = replace(
    _HIVE_AS_WRITTEN,
    name="spark",
    cast=_spark_cast,
    call=_spark_call,
    null_safe=_as_it_is,
    like=_spark_like,
)
TRINO = SqlDialect(
    name="trino",
    cast=partial(_trino_cast, as_read),
    call=partial(trino_call, as_read),
    predicate=trino_predicate,
    like=standard_like,
    operands=partial(trino_operands, as_read),
    null_safe=partial(trino_operands, as_read),
    plus_interval=_trino_plus_interval,
    arithmetic=_trino_arithmetic,
    negated=Not,
    between=Between,
    rows_equal=trino_rows_equal,
    certain=_as_it_is,
)
PRESTO = replace(
    TRINO,
    name="presto",
    cast=partial(_trino_cast, presto_as_read),
    call=_presto_call,
    like=presto_like,
    operands=partial(trino_operands, presto_as_read),
    null_safe=partial(trino_operands, presto_as_read),
    plus_interval=_presto_plus_interval,
    negated=presto_not,
    between=presto_between,
)

DIALECTS = {dialect.name: dialect for dialect in (HIVE, SPARK, TRINO, PRESTO)}
