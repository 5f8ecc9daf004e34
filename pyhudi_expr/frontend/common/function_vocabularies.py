"""The functions that each dialect has with the meaning of the rule of that name.

The rules are in `pyhudi_expr.expr.functions`. A name is here only if the dialect's engine is a
witness for its rule: `tests/truth` has an expression for each. A function that is missing is not
judged, and keeps the files.
"""

from __future__ import annotations

from pyhudi_expr.expr.nodes import READINGS

_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "||", "div"})
#: Those that Hive and Spark have alike.
_COMMON = frozenset(
    {
        *("pmod", "negative", "positive", "abs", "floor", "ceil", "ceiling", "round"),
        *("greatest", "least", "year", "quarter", "month", "day", "dayofmonth", "hour"),
        *("minute", "second", "to_date", "date", "last_day", "date_add", "date_sub", "datediff"),
        *("add_months", "plus interval", "unix_timestamp", "to_unix_timestamp", "from_unixtime"),
        *("date_format", "dayofweek", "weekofyear", "upper", "ucase", "lower", "lcase", "substr"),
        *("substring", "concat", "trim", "ltrim", "rtrim", "length", "char_length"),
        *("character_length", "regexp_extract", "regexp_replace", "reverse", "instr"),
        *("coalesce", "nvl", "nullif", "rpad", "concat_ws", "replace"),
        *("sqrt", "power", "pow", "exp", "ln", "log10", "log2", "sign"),
        *("current_date", "current_timestamp", "months_between"),
    }
)
_ONLY_SPARK = frozenset(
    {"mod", "dayofyear", "weekday", "dateadd", "date_diff", "date_trunc", "left", "ifnull", "nvl2"}
    | {"signum", "now"}
)
#: Without ``trunc``: for dates Hive's vectors give 1970-01-01, whatever the day.
HIVE = _ARITHMETIC | _COMMON
SPARK = HIVE | _ONLY_SPARK | {"trunc"}
#: Of text that is said to be Hive's: what Hive has not got is read as Spark's.
HIVE_TEXT = HIVE | _ONLY_SPARK
#: The time of whoever evaluates them.
_CLOCKS = frozenset({"current_date", "current_timestamp", "now"})
#: What clients of the service send, Hive among them. They send their own time as a constant: the
#: service's clock may be another one.
SENT = (HIVE_TEXT | READINGS) - _CLOCKS
#: Of Trino and Presto, by the names that they have for them; `frontend.trino.rules` has their
#: meaning.
TRINO = (
    frozenset({"+", "-", "*", "%", "||"})
    | {"abs", "mod", "greatest", "least", "coalesce", "nullif", "if"}
    | {"year", "quarter", "month", "day", "day_of_month", "day_of_year", "doy", "hour", "minute"}
    | {"second", "date", "date_add", "date_trunc"}
    | {"lower", "upper", "substr", "substring", "concat", "length", "reverse"}
    | {"from_hex", "starts_with", "is_nan", "current_date"}
)
#: Presto takes the second from the time in UTC, where zones of old days have other ones.
PRESTO = TRINO - {"second"}
