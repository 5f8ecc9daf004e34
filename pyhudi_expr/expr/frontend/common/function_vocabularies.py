"""The functions of each dialect that have the meaning of the rule of that name.

The rules are in `pyhudi_expr.expr.functions`. A name is listed only if the dialect's engine
confirms its rule: `tests/truth` has an expression for each. Other functions are not supported for
pruning, and keep the files.
"""

from __future__ import annotations

from pyhudi_expr.expr.nodes import READINGS

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
    | {"second", "date", "date_add", "date_trunc"}
    | {"lower", "upper", "substr", "substring", "concat", "length", "reverse"}
    | {"from_hex", "starts_with", "is_nan", "current_date"}
)
#: Presto takes the second from the time in UTC, which differs in zones with offsets in seconds.
PRESTO = TRINO - {"second"}
