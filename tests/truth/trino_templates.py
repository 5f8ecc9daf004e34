"""Templates of predicates of Trino and Presto: `templates` in their SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.truth import templates
from tests.truth.templates import PRESTO, TRINO, Language, Template, in_dialects

_BOTH = frozenset({TRINO, PRESTO})

#: As in `templates.CONSTANTS`.
CONSTANTS: Mapping[str, Sequence[str]] = {
    **templates.CONSTANTS,
    "real": (
        *("DOUBLE '0.5'", "DOUBLE '-2'", "3e0", "1e10", "1e300", "DOUBLE '1e-300'", "REAL '0.1'"),
        *("CAST('NaN' AS DOUBLE)", "DOUBLE '0'", "REAL '16777216'", "DOUBLE '-0'", "REAL '-0'"),
        *("DOUBLE 'Infinity'", "REAL 'NaN'", "CAST(0.1 AS DOUBLE)"),
    ),
    "exact": (
        *templates.CONSTANTS["exact"],
        "DECIMAL '1.50'",
        "DECIMAL '-7'",
        "CAST(2 AS decimal)",
    ),
    "start": ("1", "0", "2", "-1", "-2", "3"),
    "length": ("1", "2", "3", "17", "70"),
    "unit": (
        *("'year'", "'YEAR'", "'quarter'", "'month'", "'Month'", "'week'", "'day'", "'hour'"),
        *("'minute'", "'second'", "'millisecond'"),
    ),
    "like": (
        *("'a%'", "'%a'", "'a_'", "'_'", "'%'", "''", "'a\\%'", "'a\\_b'", "'name\\_005%'"),
        *("'a\\\\%'", "'x%'", "'é%'", "'😀%'", "'a%b'", "'_a%'", "'2020-0%'", "'__'", "'a '"),
        *("'name_005'", "'I%'", "'i%'", "' %'", "'1_'", "'xx%x'", "'a\\b'", "'%%'", "'a%%'"),
    ),
    "escaped": (
        *(
            "'a\\%' ESCAPE '\\'",
            "'a\\_b' ESCAPE '\\'",
            "'name#_005%' ESCAPE '#'",
            "'##' ESCAPE '#'",
        ),
        *("'a#%b' ESCAPE '#'", "'#__' ESCAPE '#'", "'\\%' ESCAPE '\\'", "'aa%' ESCAPE 'a'"),
        *("'%%%' ESCAPE '%'", "'_%' ESCAPE '_'", "'##' ESCAPE '#'"),
    ),
    "interval": (
        *("INTERVAL '1' MONTH", "INTERVAL '-13' MONTH", "INTERVAL '1' YEAR", "INTERVAL '1' DAY"),
        *("INTERVAL '-400' DAY", "INTERVAL '1' HOUR", "INTERVAL - '30' MINUTE"),
        *("INTERVAL '1' SECOND", "INTERVAL '24' HOUR", "INTERVAL '0.5' SECOND"),
    ),
    "days": ("INTERVAL '1' DAY", "INTERVAL '-400' DAY", "INTERVAL '1' MONTH", "INTERVAL '1' YEAR"),
    "moment": (
        *("TIMESTAMP '2020-03-29 02:30:00'", "TIMESTAMP '2020-10-25 02:30:00.123'"),
        *("TIMESTAMP '1970-01-01 00:00:00.0005'", "TIMESTAMP '1969-12-31 23:59:59.999999'"),
        *("TIMESTAMP '2011-12-30 12:00:00'", "TIMESTAMP '1582-10-10 00:00:00'"),
        *("TIMESTAMP '2020-01-15 10:00:00 UTC'", "TIMESTAMP '2020-07-01 00:00:00 Europe/Berlin'"),
        *("TIMESTAMP '2020-01-15 10:00:00 +05:30'", "CAST('2020-01-15 10:00:00' AS timestamp)"),
    ),
    "day": ("DATE '2020-03-29'", "DATE '2020-01-15'", "DATE '1969-12-31'"),
    "mysql": ("'%Y-%m-%d'", "'%Y-%m-%d %H:%i:%s'", "'%Y%m%d'", "'%Y'", "'%d.%m.%y'"),
    "zoned": (
        *("TIMESTAMP '2020-03-29 01:00:00 UTC'", "TIMESTAMP '2020-01-15 10:00:00 +05:30'"),
        *("TIMESTAMP '1970-01-01 00:00:00 America/New_York'",),
        *("TIMESTAMP '2020-01-15 10:00:00.123 UTC'", "TIMESTAMP '1900-01-01 00:00:00 UTC'"),
    ),
    "bytes": ("X'00'", "X''", "X'41FF'", "from_hex('80')", "from_hex('7F01')", "X'FF'"),
}


def _each(texts: str, result_family: str, *dialects: str) -> list[Template]:
    return in_dialects(texts, result_family, frozenset(dialects) or _BOTH)


TERMS: Sequence[Template] = [
    # Numbers
    *_each("{int} + {int}; {int} - {int}; {int} * {int}; {int} + {#n}; {#n} - {int}", "int"),
    *_each("{int} * {#n}; {int} + {#wide}; {int} * {#wide}; {#wide} - {int}; - {int}", "int"),
    *_each("{int} % {#divisor}; mod({int}, {#divisor}); {int} % {int}; {int} % {#wide}", "int"),
    *_each("abs({int}); greatest({int}, {int}); least({int}, {int}); greatest({int}, {#n})", "int"),
    *_each("{float} + {float}; {float} - {#real}; {float} * {#real}; {#real} - {float}", "float"),
    *_each("{float} * {float}; - {float}; abs({float}); {float} % {#real}", "float"),
    *_each("{float} + {int}; {float} * {decimal}; {int} + {#real}; {decimal} - {#real}", "float"),
    *_each("mod({float}, {float}); greatest({float}, {float}); least({float}, {#real})", "float"),
    *_each("{decimal} + {decimal}; {decimal} - {decimal}; {decimal} * {decimal}", "decimal"),
    *_each("{decimal} + {int}; {decimal} * {int}; {decimal} - {#exact}; - {decimal}", "decimal"),
    *_each("{decimal} * {#exact}; {#exact} + {decimal}; {decimal} % {#exact}", "decimal"),
    *_each("mod({decimal}, {decimal}); {int} * {#exact}; abs({decimal})", "decimal"),
    *_each("greatest({decimal}, {decimal}); least({decimal}, {#exact})", "decimal"),
    # Dates and times
    *_each("year({when}); quarter({when}); month({when}); day({when}); hour({time})", "int"),
    *_each("minute({time}); second({time}); day_of_year({when}); doy({when})", "int"),
    *_each("day_of_month({when}); EXTRACT(YEAR FROM {when}); EXTRACT(QUARTER FROM {when})", "int"),
    *_each("EXTRACT(MONTH FROM {when}); EXTRACT(DAY FROM {when}); EXTRACT(DOY FROM {when})", "int"),
    *_each("EXTRACT(HOUR FROM {time}); EXTRACT(MINUTE FROM {time}); year(date({text}))", "int"),
    *_each("hour({date} + INTERVAL '1' DAY); EXTRACT(HOUR FROM {date})", "int", PRESTO),
    *_each("date({when}); date({text}); date_trunc({#unit}, {date})", "date"),
    *_each("date_add({#unit}, {#n}, {date}); date_add('day', {#many}, {date})", "date"),
    *_each("{date} + {#days}; {date} - {#days}; {#days} + {date}", "date"),
    *_each("date_diff('day', {date}, {date}); date_diff('day', {date}, {#day})", "int"),
    *_each("date_diff('day', {#day}, {when}); date_diff('week', {date}, {date})", "int"),
    *_each("date_parse({text}, {#mysql})", "clock"),
    *_each("to_unixtime({time})", "float"),
    *_each("greatest({date}, {date}); least({date}, {date})", "date"),
    *_each("date_trunc({#unit}, {instant}); date_add({#unit}, {#n}, {instant})", "instant"),
    *_each("{instant} + {#interval}; {instant} - {#interval}", "instant"),
    *_each("greatest({instant}, {instant}); least({instant}, {#moment})", "instant"),
    *_each("date_trunc({#unit}, {clock}); date_add({#unit}, {#n}, {clock})", "clock"),
    *_each("{clock} + {#interval}; {clock} - {#interval}; least({clock}, {instant})", "clock"),
    # Texts
    *_each("upper({text}); lower({text}); reverse({text}); concat({text}, {text})", "text"),
    *_each("concat({#part}, {text}); concat({text}, {#part}, {text}); {text} || {#part}", "text"),
    *_each("{#part} || {text}; substr({text}, {#start}, {#count})", "text"),
    *_each("substr({text}, {#start})", "text"),
    *_each("substring({text}, {#start}, {#length})", "text", TRINO),
    *_each("substring({text} FROM {#length})", "text"),
    *_each("substring({text} FROM 1 FOR {#length}); substr({text}, 1, {#length})", "text"),
    *_each("greatest({text}, {text}); least({text}, {#part})", "text"),
    *_each("length({text})", "int"),
    # Casts
    *_each("CAST({num} AS REAL); CAST({num} AS DOUBLE); CAST({text} AS DOUBLE)", "float"),
    *_each("TRY_CAST({text} AS REAL); TRY_CAST({decimal} AS REAL)", "float"),
    *_each("CAST({bool} AS DOUBLE)", "float"),
    *_each("CAST({num} AS DECIMAL(10,2)); CAST({num} AS DECIMAL(38,10))", "decimal"),
    *_each("CAST({num} AS DECIMAL(20,0)); CAST({num} AS DECIMAL(5,4))", "decimal"),
    *_each("CAST({num} AS DECIMAL(38,37)); CAST({text} AS DECIMAL(10,2))", "decimal"),
    *_each("TRY_CAST({num} AS DECIMAL(18,6)); TRY_CAST({text} AS DECIMAL(38,10))", "decimal"),
    *_each("CAST({when} AS DATE); CAST({text} AS DATE); TRY_CAST({text} AS DATE)", "date"),
    *_each("CAST({date} AS TIMESTAMP); CAST({time} AS TIMESTAMP)", "clock"),
    *_each("CAST({text} AS TIMESTAMP)", "clock"),
    *_each("TRY_CAST({text} AS TIMESTAMP); CAST({clock} AS TIMESTAMP(6))", "clock", TRINO),
    *_each("CAST({time} AS TIMESTAMP WITH TIME ZONE)", "instant"),
    *_each("CAST({date} AS TIMESTAMP WITH TIME ZONE)", "instant"),
    *_each("TRY_CAST({text} AS TIMESTAMP WITH TIME ZONE)", "instant"),
    *_each("CAST({num} AS BIGINT); CAST({num} AS INTEGER); CAST({num} AS TINYINT)", "int"),
    *_each("CAST({text} AS BIGINT); CAST({bool} AS INTEGER)", "int"),
    *_each("CAST({int} AS VARCHAR); CAST({when} AS VARCHAR); CAST({text} AS VARCHAR)", "text"),
    *_each("CAST({decimal} AS VARCHAR); CAST({num} AS VARCHAR)", "text"),
    *_each("CAST({num} AS BOOLEAN)", "bool"),
    # Choices
    *_each("coalesce({int}, {int}); coalesce({int}, {#n}); if({bool}, {int}, {int})", "int"),
    *_each("coalesce({float}, {#real}); if({int} > {#n}, {float}); nullif({float}, 0)", "float"),
    *_each("coalesce({decimal}, {decimal}); coalesce({decimal}, {#exact})", "decimal"),
    *_each("coalesce(CAST(NULL AS DECIMAL(38,30)), {decimal}); nullif({decimal}, 0)", "decimal"),
    *_each("coalesce({text}, {text}); nullif({text}, {#part}); coalesce({text}, {#part})", "text"),
    *_each("nullif({int}, {int}); nullif({int}, {#n}); nullif({int}, {#real})", "int"),
    *_each("CASE WHEN {int} > {#n} THEN {int} END", "int"),
    *_each("CASE WHEN {bool} THEN {int} ELSE {#n} END", "int"),
    *_each("CASE {int} WHEN {#n} THEN 1 ELSE 0 END; CASE {int} WHEN {#n} THEN {int} END", "int"),
    *_each("CASE {float} WHEN 1 THEN 1 WHEN {#real} THEN 2 END", "int"),
    *_each("coalesce({date}, {date}); if({int} > {#n}, {date}, {date})", "date"),
    *_each("coalesce({instant}, {instant}); coalesce({instant}, {#moment})", "instant"),
    *_each("coalesce({clock}, {clock}); nullif({clock}, {#moment})", "clock"),
]  # fmt: skip

CONDITIONS: Sequence[Template] = [
    *_each("{text} LIKE {#like}; {text} NOT LIKE {#like}; {text} LIKE {#escaped}", "bool"),
    *_each("starts_with({text}, {#part}); is_nan({float})", "bool"),
    *_each("{bool} = {bool}; NOT {bool}; {bool} IS NULL; {bool}", "bool"),
    *_each("{date} = DATE {#daytext}; {date} < {instant}; {instant} >= DATE {#daytext}", "bool"),
    *_each("{clock} < {instant}; {date} < {clock}; {clock} = {instant}", "bool"),
    *_each("{time} < {#moment}; {time} = {#moment}; {date} > {#moment}", "bool"),
    *_each("{time} BETWEEN {#moment} AND {#moment}; {time} IN ({#moment}, {#moment})", "bool"),
    *_each("{int} < {float}; {int} = {decimal}; {float} < {decimal}", "bool"),
    *_each("{decimal} < {decimal}", "bool"),
    *_each("{float} = {float}; {float} <> {float}; {float} < {float}; {float} >= {float}", "bool"),
    *_each("{float} = {#real}; {float} < {#real}; {float} >= {#real}; {int} <= {#real}", "bool"),
    *_each("{float} IN ({#real}, {#real}); {float} IN ({#real}, NULL)", "bool"),
    *_each("{int} IN ({int}, {#n}); {decimal} IN ({#exact}, {#exact}, NULL)", "bool"),
    *_each("{int} IN ({#real}, {#n}); {int} BETWEEN {#real} AND {#exact}", "bool"),
    *_each("{int} < {#number}; {decimal} > 1.00000000000000000000000001", "bool"),
    *_each("{int} BETWEEN {int} AND {int}; {float} BETWEEN {#real} AND {float}", "bool"),
    *_each("{int} BETWEEN NULL AND {int}; {int} NOT BETWEEN {int} AND {#n}", "bool"),
    *_each("{text} BETWEEN {#part} AND {text}; {when} BETWEEN {date} AND {date}", "bool"),
    *_each("{text} IN ({#part}, {#part}); {date} IN (DATE {#daytext}, DATE {#daytext})", "bool"),
    *_each("{date} = {#midnight}; {date} <= {#midnight}", "bool"),
    *_each("{when} < {#zoned}; {time} = {#zoned}; {time} BETWEEN {#zoned} AND {#zoned}", "bool"),
    *_each("{date} > current_date - INTERVAL '7' DAY; {text} LIKE '%-0_'", "bool"),
    *_each("date_add('day', -7, current_date) <= {date}", "bool"),
    *_each("{date} < current_date; {date} >= current_date; {date} <> current_date", "bool"),
    *_each("upper({text}) LIKE {#like}; lower({text}) LIKE {#like}", "bool"),
    *_each("upper({text}) IN ({#part}, 'A', 'SS'); lower({text}) IN ({#part}, 'a', 'i')", "bool"),
    *_each("{date} IN ({#midnight}, {#midnight}); {text} < {text}; {date} = {date}", "bool"),
    *_each("{bytes} = {#bytes}; {bytes} < {#bytes}; {bytes} IN ({#bytes}, {#bytes})", "bool"),
    *_each("{text} = CAST({#part} AS CHAR(3)); {text} < CAST({#part} AS VARCHAR(2))", "bool"),
    *_each("({int}, {text}) = ({#n}, {#part})", "bool"),
    *_each("({int}, {int}) IN (({#n}, {#n}), ({#n}, 1))", "bool"),
    *_each("{any} IS NULL; {any} IS NOT NULL; {num} IS DISTINCT FROM {num}", "bool"),
    *_each("{float} IS NOT DISTINCT FROM {#real}; {when} IS DISTINCT FROM {when}", "bool"),
]  # fmt: skip

LANGUAGE = Language(
    terms=TERMS,
    conditions=CONDITIONS,
    constants=CONSTANTS,
    comparisons=(
        *("=", "<>", "<", "<=", ">", ">=", "="),
        *("IS NOT DISTINCT FROM", "IS DISTINCT FROM"),
    ),
    forms=(  # without IS TRUE, which they do not have
        *("NOT ({0})", "({0}) AND ({1})", "({0}) OR NOT ({1})", "({0}) IS NULL"),
        *("CASE WHEN {0} THEN 1 ELSE 0 END = 1", "coalesce({0}, false)", "if({0}, {1}, {2})"),
        *("NOT (({0}) AND ({1}))", "CASE WHEN NOT ({0}) THEN {1} END", "({0}) = ({1})"),
        *("coalesce({0}, {1}) = ({2})", "NOT coalesce({0}, true)", "({0}) IS NOT NULL"),
        *("({0}) IS DISTINCT FROM ({1})", "nullif({0}, {1})", "({0}) <> true"),
        "CASE ({0}) WHEN true THEN {1} ELSE {2} END",
    ),
)
