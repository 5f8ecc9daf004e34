"""Templates of predicates of Hive and Spark: a text for each function, cast and condition that has
a rule. Those of Trino and Presto are in `trino_templates`.

A text has slots. A slot in lower case is a term of that family, one with ``#`` before it a constant
of that kind. `FAMILIES` lists the families. A rule without a template is never compared with an
engine, and `tests/truth/test_rules.py` fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HIVE, SPARK, TRINO, PRESTO = "hive", "spark", "trino", "presto"
_BOTH = frozenset({HIVE, SPARK})

#: The columns of each family of terms.
FAMILIES: Mapping[str, Sequence[str]] = {
    "bool": ("b", "b2"),
    "int": ("i1", "i2", "i4", "j4", "i8", "j8"),
    "small": ("i1", "i2", "i4", "j4"),
    "float": ("f4", "g4", "f8", "g8"),
    "decimal": ("d5", "d18", "d20", "d38", "e38"),
    "text": ("s", "t"),
    "bytes": ("y",),
    "date": ("dt", "du"),
    "instant": ("ts", "tu"),
    "clock": ("tn", "tm"),
}
#: Families that stand for one of several others.
UNIONS: Mapping[str, Sequence[str]] = {
    "num": ("int", "int", "float", "decimal", "decimal"),
    "exact": ("int", "decimal"),
    "time": ("instant", "clock"),
    "when": ("date", "instant", "clock"),
    "any": ("bool", "int", "float", "decimal", "text", "date", "instant", "clock"),
}
#: Kinds of constants, as SQL; `pyhudi_expr` generates those that depend on values.
CONSTANTS: Mapping[str, Sequence[str]] = {
    "n": ("0", "1", "2", "3", "7", "12", "-1", "-2", "-5", "13", "100", "-400"),
    "many": ("0", "1", "-1", "1000", "-100000", "2147483647", "-2147483648"),
    "places": ("0", "1", "2", "3", "6", "10", "-1", "-2", "-3"),
    "divisor": ("1", "2", "3", "7", "10", "100", "-3", "-7", "127", "1000", "2147483647"),
    "wide": ("9223372036854775807", "2147483648", "4294967296", "1000000007"),
    "real": (
        *("CAST('0.5' AS DOUBLE)", "CAST('-2' AS DOUBLE)", "CAST('3' AS DOUBLE)", "1e10", "1e300"),
        *("CAST('1e-300' AS DOUBLE)", "CAST('NaN' AS DOUBLE)", "CAST('0' AS DOUBLE)"),
    ),
    "exact": ("0.5", "1.5", "-2.50", "0.001", "100.0", "12345678901234567890.5", "0.0", "3"),
    "numeral": (
        *("'0'", "'1'", "'-1'", "'127'", "'128'", "'2147483647'", "'2147483648'", "'05'", "'5.5'"),
        *("'9007199254740993'", "'999999999999999'", "' 1'", "'-0'", "'1e3'", "'abc'", "''"),
    ),
    "begin": ("'2020'", "'2020-03'", "'2020-3'", "'2020-3-9'", "'1969'", "'2020-13'", "'02020'"),
    "fraction": (
        *("'0'", "'1'", "'9.00'", "'0.5'", "'-1.5'", "'100.25'", "'1.234567'", "'123456.789'"),
        *("'0.001'", "'12345678901234.5'", "'1e3'", "'x'", "' 1'"),
    ),
    "days": ("INTERVAL '7' DAY", "INTERVAL '-400' DAY", "INTERVAL '1' DAY"),
    "second": ("0", "1", "1585443600", "1603584000", "2145916799", "2147483648", "-1"),
    "moment": (
        *("'2020-03-29 02:30:00'", "'1970-01-01 00:00:00'", "'2020-01-15 10:00:00.123456'"),
        *("'2020-01-15'", "'2020-02-30 00:00:00'", "'1582-10-10 00:00:00'", "'now'"),
    ),
    "zoned": (
        *("'2020-03-29T01:00:00Z'", "'2020-03-29 03:00:00+02:00'", "'2020-11-01 06:00:00.5 UTC'"),
        *("'2020-10-25T01:00:00'", "'2020-10-25T02:30:00+01:00'", "'2020-03-08 07:00:00-08:00'"),
        *("'1970-01-01T00:00:00Z'", "'2020-01-15T10:00:00.123456789Z'", "'1582-10-10 00:00:00Z'"),
        *("'2020-02-30T00:00:00Z'", "'2020-03-29T01:00:00 UTC'", "'2020-03-29 00:00:00-14:00'"),
    ),
    "year": ("2020", "1969", "0", "-1", "9999", "10000"),
    "place": ("1", "2", "12", "0", "13"),
    "item": ("0", "1", "2", "5"),
    "count": ("0", "1", "2", "3", "5", "17", "-1"),
    "start": ("1", "0", "2", "-1", "-2", "3"),
    "part": ("'a'", "' '", "'x'", "'ab'", "''", "'%'", "'é'", "'I'", "'i'", "'_'", "'😀'"),
    "separator": ("'-'", "''", "','", "' '", "'ab'"),
    "unit": (
        *("'year'", "'YYYY'", "'yy'", "'quarter'", "'month'", "'MM'", "'mon'", "'week'"),
        *("'day'", "'dd'", "'hour'", "'minute'", "'second'", "'DECADE'", "'x'", "'MICROSECOND'"),
    ),
    "pattern": (
        *("'yyyy-MM-dd'", "'yyyyMM'", "'yyyy/MM/dd HH:mm:ss'", "'yyyy'", "'yyyy-MM-dd HH'"),
        *("'yyyy[-MM]'", "\"yyyy'a''b'MM\"", "\"yyyy'T'MM\"", "'MM-dd'", "'yy'", "'yyy-MM'"),
        *("'yyyy-MM-dd EEE'", "'y-M-d'", "'YYYY-ww'", "'uuuu-MM'", "'yyyy.MM'", "'yyyy#MM'"),
        *("'yyyy{MM}'", "\"yyyy''MM\"", "\"''yyyy\"", "'yyyyé'", "'yyyy_MM'", "'yyyy MM'"),
        *("'yyyy-MM-dd HH:mm:ss.SSS'", "'hh:mm a'", "'yyyy,MM'", "'yyyy;MM'", "'yyyy(MM)'"),
    ),
    "like": (
        *("'a%'", "'%a'", "'a_'", "'_'", "'%'", "''", "'a\\\\%'", "'a\\\\_b'", "'name\\\\_005%'"),
        *("'a\\\\\\\\%'", "'x%'", "'é%'", "'😀%'", "'a%b'", "'_a%'", "'2020-0%'", "'__'", "'a '"),
        *("'name_005'", "'I%'", "'i%'", "' %'", "'1_'", "'xx%x'", "'a\\\\b'", "'\\\\%'"),
    ),
    "regexp": (
        *("'^a'", "'^name_005'", "'a'", "'^a|b'", "'^ab?'", "'^(ab)'", "'^a$'", "'^x+'", "'^[ab]'"),
        *("'a.c|b$'", "'(a|x)+b?'", "'[^a-f0-9]'", "'\\\\d\\\\.\\\\d'", "'\\\\W'", "'^.$'"),
        *("'^a.c'", "'^a*'", "'^ab{0}'", "'(?i)^a'", "'^1.0'", "'^é'", "'^abc'", "'^a\\\\.b'"),
    ),
    "interval": (
        *("INTERVAL '1' MONTH", "INTERVAL '-13' MONTH", "INTERVAL '1' YEAR", "INTERVAL '1' DAY"),
        *("INTERVAL '-400' DAY", "INTERVAL '1' HOUR", "INTERVAL '-30' MINUTE"),
        *("INTERVAL '1' SECOND", "INTERVAL '24' HOUR"),
    ),
    "midnight": (
        *("TIMESTAMP '2011-12-31 00:00:00'", "TIMESTAMP '2011-12-30 00:00:00'"),
        *("TIMESTAMP '2020-03-29 00:00:00'", "TIMESTAMP '1893-04-01 00:00:00'"),
    ),
    "zone": ("'Asia/Tokyo'", "'Europe/Stockholm'", "'UTC'", "'PST'"),
    "local": (
        "CAST('2020-03-29 01:00:00 UTC' AS TIMESTAMP WITH LOCAL TIME ZONE)",
        "CAST('2020-11-01 06:00:00' AS TIMESTAMP WITH LOCAL TIME ZONE)",
        "CAST('1948-09-01 07:00:00 Europe/Stockholm' AS TIMESTAMP WITH LOCAL TIME ZONE)",
    ),
    "months": ("INTERVAL '1' MONTH", "INTERVAL '-13' MONTH", "INTERVAL '1' YEAR"),
}


@dataclass(frozen=True)
class Template:
    """A term. result_family: its family. dialects: the dialects that have it."""

    text: str
    result_family: str
    dialects: frozenset[str] = _BOTH


@dataclass(frozen=True)
class Language:
    """The templates of a dialect.

    comparisons: the operators; all except the first and the last are inequalities.
    forms: conditions under connectives.
    """

    terms: Sequence[Template]
    conditions: Sequence[Template]
    constants: Mapping[str, Sequence[str]]
    comparisons: Sequence[str]
    forms: Sequence[str]


def in_dialects(texts: str, result_family: str, dialects: frozenset[str]) -> list[Template]:
    """One template for each line, or each part between ";"."""
    pieces = [piece.strip() for piece in texts.replace("\n", ";").split(";")]
    return [Template(piece, result_family, dialects) for piece in pieces if piece]


def _each(texts: str, result_family: str, *dialects: str) -> list[Template]:
    return in_dialects(texts, result_family, frozenset(dialects) or _BOTH)


TERMS: Sequence[Template] = [
    # Numbers
    *_each("{int} + {int}; {int} - {int}; {int} * {int}; {int} + {#n}; {#n} - {int}", "int"),
    *_each("{int} * {#n}; {int} + {#wide}; {int} * {#wide}; {#wide} - {int}", "int"),
    *_each("{int} % {#divisor}; pmod({int}, {#divisor}); {int} % {#wide}", "int"),
    *_each("pmod({int}, {#wide}); {int} % {int}; pmod({int}, {int})", "int"),
    *_each("mod({int}, {#divisor})", "int", SPARK),
    *_each("- {int}; negative({int}); positive({int}); abs({int}); {int} div {#divisor}", "int"),
    *_each("{int} div {int}; sign({num})", "int"),
    *_each("signum({num})", "float", SPARK),
    *_each("{float} + {float}; {float} - {#real}; {float} * {#real}; {#real} - {float}", "float"),
    *_each("{float} * {float}; {float} / {float}; {int} / {int}; {num} / {#real}", "float"),
    *_each("{int} / {#divisor}; {#real} / {float}; {float} + {int}; {float} * {decimal}", "float"),
    *_each("- {float}; negative({float}); positive({float}); abs({float})", "float"),
    *_each("{float} % {#real}; pmod({float}, {#real})", "float"),
    *_each("round({float}); round({float}, {#places})", "float"),
    *_each("sqrt({num}); power({num}, {#n}); exp({num}); ln({num}); log10({num})", "float"),
    *_each("log2({num}); pow({num}, {#real}); cbrt({float})", "float"),
    *_each("floor({float}); ceil({float}); ceiling({float}); floor({int}); ceil({int})", "int"),
    *_each("round({int}); round({int}, {#places}); bround({int}, {#places})", "int"),
    *_each("floor({decimal}); ceil({decimal}); ceiling({decimal})", "decimal"),
    *_each("{decimal} + {decimal}; {decimal} - {decimal}; {decimal} * {decimal}", "decimal"),
    *_each("{decimal} / {decimal}; {decimal} + {int}; {int} / {decimal}", "decimal"),
    *_each("{decimal} * {int}; {decimal} - {#exact}", "decimal"),
    *_each("{decimal} * {#exact}; {#exact} + {decimal}; {decimal} / {#exact}", "decimal"),
    *_each("{int} div {#wide}", "int"),
    *_each("{decimal} % {#exact}; pmod({decimal}, {#exact})", "decimal"),
    *_each("{int} * {#exact}; {int} / {#exact}", "decimal"),
    *_each("- {decimal}; negative({decimal}); positive({decimal}); abs({decimal})", "decimal"),
    *_each("round({decimal})", "decimal"),
    *_each("round({decimal}, {#places}); bround({decimal}, {#places})", "decimal"),
    *_each("bround({float}); bround({float}, {#places})", "float"),
    *_each("greatest({int}, {int}); least({int}, {int}); greatest({int}, {#n})", "int"),
    *_each("greatest({float}, {float}); least({float}, {#real})", "float"),
    *_each("greatest({decimal}, {decimal}); least({decimal}, {#exact})", "decimal"),
    *_each("greatest({decimal}, {#digits}); least({#digits}, {decimal})", "decimal"),
    *_each("{decimal} + {#digits}; {#digits} - {decimal}; {decimal} * {#digits}", "decimal"),
    *_each("greatest({text}, {text}); least({text}, {#part})", "text"),
    *_each("greatest({date}, {date}); least({date}, {date})", "date"),
    *_each("greatest({instant}, {instant}); least({instant}, {instant})", "instant"),
    # Dates and times
    *_each("year({when}); quarter({when}); month({when}); day({when}); dayofmonth({when})", "int"),
    *_each("hour({time}); minute({time})", "int"),
    *_each("second({time}); weekofyear({when}); dayofweek({when})", "int"),
    *_each("dayofyear({when}); weekday({when})", "int", SPARK),
    *_each("year({text}); month({text}); day({text})", "int"),
    *_each("to_date({when}); date({when}); last_day({when}); date_add({when}, {#many})", "date"),
    *_each("date_sub({when}, {#n})", "date", SPARK),
    *_each("date_add({date}, {small}); add_months({date}, {#n})", "date", SPARK),
    *_each("date_sub({when}, {#n}); date_add({date}, {small})", "date", HIVE),
    *_each("add_months({date}, {#n}); add_months({instant}, {#n})", "text", HIVE),
    *_each("dateadd({date}, {#n}); {date} + {#n}; {date} - {#n}", "date", SPARK),
    *_each("{date} + {#months}; {date} - {#months}; {date} + INTERVAL '3' DAY", "date", SPARK),
    *_each("{date} + {#days}; {date} - {#days}", "date", SPARK),
    *_each("{date} + {#days}; {date} - {#days}; {date} + INTERVAL '1' HOUR", "instant", HIVE),
    *_each("date_part('year', {when}); date_part('doy', {date})", "int", SPARK),
    *_each("{instant} + {#interval}; {instant} - {#interval}", "instant"),
    *_each("{clock} + {#interval}; {clock} - {#interval}", "clock", SPARK),
    *_each("dayofweek({text}); weekofyear({text}); quarter({text}); dayofmonth({text})", "int"),
    *_each("datediff({text}, {#daytext}); datediff({text}, {text})", "int"),
    *_each("datediff({#daytext}, {date})", "int"),
    *_each("weekday({text}); dayofyear({text})", "int", SPARK),
    *_each("unix_timestamp({text}, {#pattern})", "int"),
    *_each("date_add({text}, {#n}); date_sub({text}, {#n}); last_day({text})", "date"),
    *_each("add_months({text}, {#n})", "text", HIVE),
    *_each("add_months({text}, {#n}); trunc({text}, {#unit})", "date", SPARK),
    *_each("make_date({#year}, {#place}, {small})", "date", SPARK),
    *_each("make_date(year({date}), month({date}), {#n})", "date", SPARK),
    *_each("make_date({small}, {small}, {small})", "date", SPARK),
    *_each("split({text}, {#separator})[{#item}]; split({text}, {#part})[{#item}]", "text"),
    *_each("lpad({int}, {#count}, {#part}); concat({int}, {#separator}, {int})", "text"),
    *_each("concat({date}, {#part}); concat({text}, {int}, {date})", "text"),
    *_each("concat(year({date}), {#part}, lpad(month({date}), 2, '0'))", "text"),
    *_each("substr({text}, {#start}, 2); reverse(substr({text}, {#count}))", "text"),
    *_each("regexp_replace({text}, {#separator}, {#part})", "text"),
    *_each("regexp_replace({text}, '-', '')", "text"),
    *_each("to_date({text}); trunc({date}, {#unit})", "date"),
    *_each("trunc({instant}, {#unit})", "date", SPARK),
    *_each("trunc({instant}, {#unit})", "text", HIVE),
    *_each("date_trunc({#unit}, {instant})", "instant", SPARK),
    *_each("date_trunc({#unit}, {clock})", "clock", SPARK),
    *_each("date_trunc({#unit}, {date})", "instant", SPARK),
    *_each("datediff({when}, {when})", "int"),
    *_each("date_diff({date}, {date})", "int", SPARK),
    *_each("months_between({when}, {when})", "float"),
    *_each("unix_timestamp({when}); to_unix_timestamp({when})", "int"),
    *_each("unix_timestamp({text})", "int"),
    *_each("from_unixtime({int}); from_unixtime({int}, {#pattern})", "text"),
    *_each("date_format({when}, {#pattern}); date_format({text}, {#pattern})", "text"),
    *_each("to_timestamp({text})", "instant", SPARK),
    # Texts
    *_each("upper({text}); ucase({text}); lower({text}); lcase({text}); reverse({text})", "text"),
    *_each("trim({text}); ltrim({text}); rtrim({text}); initcap({text})", "text"),
    *_each("substr({text}, {#start}, {#count}); substring({text}, {#start}, {#count})", "text"),
    *_each("substr({text}, {#start}); concat({text}, {text}); concat({#part}, {text})", "text"),
    *_each("concat({text}, {#part}); concat({text}, {#part}, {text}); {text} || {#part}", "text"),
    *_each("concat({text}, {int}); concat({#part}, {date}); concat({text}, {decimal})", "text"),
    *_each("left({text}, {#count}); right({text}, {#count})", "text", SPARK),
    *_each("concat_ws({#separator}, {text}, {text}); concat_ws({#separator}, {text})", "text"),
    *_each("concat_ws({#separator}, {#part}, {text}, {text})", "text"),
    *_each("replace({text}, {#part}, {#part}); translate({text}, {#part}, {#part})", "text"),
    *_each("lpad({text}, {#count}, {#part}); rpad({text}, {#count}, {#part})", "text"),
    *_each("repeat({text}, {#count}); regexp_replace({text}, {#regexp}, {#part})", "text"),
    *_each("regexp_extract({text}, {#regexp}, 0)", "text"),
    *_each("substring_index({text}, {#part}, {#count})", "text"),
    *_each("length({text}); instr({text}, {#part}); locate({#part}, {text})", "int"),
    *_each("char_length({text}); character_length({text}); ascii({text})", "int"),
    # Casts
    *_each("CAST({num} AS TINYINT); CAST({num} AS SMALLINT); CAST({num} AS INT)", "int"),
    *_each("CAST({num} AS BIGINT); CAST({bool} AS INT); CAST({text} AS INT)", "int"),
    *_each("CAST({text} AS BIGINT); bigint({num}); int({float})", "int", SPARK),
    *_each("CAST({text} AS BIGINT); CAST({text} AS TINYINT)", "int", HIVE),
    *_each("CAST({instant} AS BIGINT); CAST({instant} AS INT)", "int", SPARK),
    *_each("CAST({num} AS FLOAT); CAST({num} AS DOUBLE); CAST({text} AS DOUBLE)", "float"),
    *_each("CAST({instant} AS DOUBLE)", "float", SPARK),
    *_each("CAST({num} AS DECIMAL(10,2)); CAST({num} AS DECIMAL(38,10))", "decimal"),
    *_each("CAST({num} AS DECIMAL(20,0)); CAST({num} AS DECIMAL(5,4))", "decimal"),
    *_each("CAST({num} AS DECIMAL(38,37)); CAST({text} AS DECIMAL(10,2))", "decimal"),
    *_each("CAST({num} AS STRING); CAST({when} AS STRING); CAST({bool} AS STRING)", "text"),
    *_each("CAST({instant} AS DATE); CAST({text} AS DATE); CAST({clock} AS DATE)", "date"),
    *_each("CAST({date} AS TIMESTAMP); CAST({text} AS TIMESTAMP)", "instant"),
    *_each("CAST({int} AS TIMESTAMP)", "instant"),
    *_each("from_utc_timestamp({instant}, {#zone})", "instant"),
    *_each("to_utc_timestamp({instant}, {#zone})", "instant"),
    *_each("CAST({clock} AS TIMESTAMP_LTZ); CAST({instant} AS TIMESTAMP_NTZ)", "instant", SPARK),
    *_each("timestamp_seconds({int}); timestamp_millis({int})", "instant", SPARK),
    *_each("CAST({num} AS BOOLEAN)", "bool"),
    # Choices
    *_each("coalesce({int}, {int}); nvl({int}, {#n}); coalesce({int}, {#n})", "int"),
    *_each("coalesce({float}, {#real})", "float"),
    *_each("coalesce({decimal}, {decimal}); if({bool}, {int}, {int})", "float"),
    *_each("coalesce({decimal}, {#exact})", "decimal"),
    *_each("coalesce(CAST(NULL AS DECIMAL(38,30)), {decimal})", "decimal"),
    *_each("coalesce({decimal}, {#digits}); nvl({decimal}, {#digits})", "decimal"),
    *_each("nullif({decimal}, {#digits}); if({bool}, {decimal}, {#digits})", "decimal"),
    *_each("CASE WHEN {decimal} = {#digits} THEN {#digits} ELSE {decimal} END", "decimal"),
    *_each("CASE {decimal} WHEN {#digits} THEN 1 ELSE 0 END", "int"),
    *_each("coalesce({text}, {text}); nvl({text}, {#part}); nullif({text}, {#part})", "text"),
    *_each("nvl2({text}, {#part}, {text})", "text", SPARK),
    *_each("ifnull({int}, {int})", "int", SPARK),
    *_each("nullif({int}, {int}); CASE WHEN {int} > {#n} THEN {int} END", "int"),
    *_each("CASE WHEN {bool} THEN {int} ELSE {#n} END", "int"),
    *_each("CASE {int} WHEN {#n} THEN 1 ELSE 0 END", "int"),
    *_each("coalesce({date}, {date}); if({int} > {#n}, {date}, {date})", "date"),
    *_each("coalesce({instant}, {instant})", "instant"),
]  # fmt: skip

CONDITIONS: Sequence[Template] = [
    *_each("{text} LIKE {#like}; {text} RLIKE {#regexp}; {text} NOT LIKE {#like}", "bool"),
    *_each("startswith({text}, {#part}); contains({text}, {#part})", "bool", SPARK),
    *_each("endswith({text}, {#part}); {text} ILIKE {#like}", "bool", SPARK),
    *_each("{text} LIKE ANY ({#like}, {#like}); {text} LIKE ALL ({#like}, {#like})", "bool"),
    *_each("{text} = {#n}; {text} < {#n}; {text} >= {small}", "bool"),
    *_each("{int} LIKE {#like}", "bool", SPARK),
    *_each(
        "instr({text}, {#part}) = 1; locate({#part}, {text}) = 1; 1 <> instr({text}, {#part})",
        "bool",
    ),
    *_each("isnan({float})", "bool", SPARK),
    *_each("upper({text}) LIKE {#like}; lower({text}) LIKE {#like}", "bool"),
    *_each("upper({text}) IN ({#part}, 'A', 'SS'); lower({text}) IN ({#part}, 'a', 'i')", "bool"),
    *_each("{int} = {#numeral}; {#numeral} < {int}; {int} <= {#numeral}", "bool"),
    *_each("{decimal} = {#fraction}; {decimal} < {#fraction}; {#fraction} <= {decimal}", "bool"),
    *_each("{decimal} BETWEEN {#fraction} AND {#fraction}; {decimal} <=> {#fraction}", "bool"),
    *_each("{int} BETWEEN {#numeral} AND {#numeral}; NOT ({int} <> {#numeral})", "bool"),
    *_each("CAST({num} AS STRING) IN ({#numeral}, {#numeral}, '0.0', '1.5', '0.10')", "bool"),
    *_each("CAST({num} AS STRING) <> {#numeral}; CAST({decimal} AS STRING) = '0E-10'", "bool"),
    *_each("{date} LIKE {#like}; substr({date}, 1, 7) = '2020-01'", "bool"),
    *_each("{date} LIKE '%-01'; {text} LIKE '%-0_'; {text} NOT LIKE '%-1%'", "bool"),
    *_each("substr({date}, 1, {#count}) LIKE {#like}", "bool"),
    *_each("{instant} < from_unixtime({#second}); from_unixtime({#second}) = {text}", "bool"),
    *_each("{instant} >= to_timestamp({#moment}); {date} = to_timestamp({#moment})", "bool", SPARK),
    *_each("{instant} >= {#begin}; {#begin} > {date}; {instant} = {#begin}", "bool"),
    *_each("{clock} < {#begin}; {date} BETWEEN {#begin} AND {#begin}", "bool", SPARK),
    *_each("{when} < {#zoned}; {instant} = {#zoned}; {#zoned} <= {instant}", "bool"),
    *_each("{instant} BETWEEN {#zoned} AND {#zoned}; {instant} <> {#zoned}", "bool"),
    *_each("{instant} IN ({#zoned}, {#zoned}); {instant} NOT IN ({#zoned})", "bool"),
    *_each("CAST({when} AS TIMESTAMP WITH LOCAL TIME ZONE) < {#local}", "bool", HIVE),
    *_each("CAST({when} AS TIMESTAMP WITH LOCAL TIME ZONE) = {#local}", "bool", HIVE),
    *_each("isnull({any}); isnotnull({any})", "bool"),
    *_each("istrue({bool}); isfalse({bool}); isnottrue({bool}); isnotfalse({bool})", "bool", HIVE),
    *_each("{bool} = {bool}; NOT {bool}; {bool} IS TRUE; {bool} IS NOT FALSE", "bool"),
    *_each("{int} = {text}; {float} = {text}; {decimal} < {text}; {int} < {#number}", "bool"),
    *_each("{date} = {#daytext}; {date} < {instant}; {instant} >= {#daytext}", "bool"),
    *_each("{clock} < {instant}; {date} < {clock}", "bool", SPARK),
    *_each(
        "{int} < {float}; {int} = {decimal}; {float} < {decimal}; {decimal} < {decimal}", "bool"
    ),
    *_each("{int} IN ({int}, {#n}); {decimal} IN ({#exact}, {#exact}, NULL)", "bool"),
    *_each("{int} IN ({#real}, {#n}); {int} BETWEEN {#real} AND {#exact}", "bool"),
    *_each("{exact} = {#digits}; {exact} <= {#digits}; {#digits} < {exact}", "bool"),
    *_each("{exact} IN ({#digits}, {#digits}); {exact} NOT IN ({#digits}, {#n})", "bool"),
    *_each(
        "{exact} BETWEEN {#digits} AND {#digits}; {#digits} BETWEEN {exact} AND {exact}", "bool"
    ),
    *_each(
        "{exact} BETWEEN {#digits} AND {exact}; {exact} NOT BETWEEN {exact} AND {#digits}", "bool"
    ),
    *_each("{decimal} >= {#digits} AND {decimal} <= {decimal}; {decimal} <=> {#digits}", "bool"),
    *_each("CAST({num} AS TINYINT) NOT IN ({#many}, {#wide}); {exact} IN ({#digits})", "bool"),
    *_each("({int}, {decimal}) IN (({#n}, {#digits}), ({#n}, {#exact}))", "bool"),
    *_each("{int} BETWEEN {int} AND {int}; {float} BETWEEN {#real} AND {float}", "bool"),
    *_each("{text} BETWEEN {#part} AND {text}; {when} BETWEEN {date} AND {date}", "bool"),
    *_each("{text} IN ({#part}, {#part}); {date} IN ({#daytext}, {#daytext})", "bool"),
    *_each(
        "{date} = {#midnight}; {date} <= {#midnight}; {date} IN ({#midnight}, {#midnight})", "bool"
    ),
    *_each("{date} < current_date(); {instant} > current_timestamp()", "bool"),
    *_each("{text} = {#day}; {text} < {#day}; {#day} <= {text}; {text} <=> {#day}", "bool"),
    *_each("{text} IN ({#day}, {#day}); {text} NOT IN ({#day}, {#day})", "bool"),
    *_each("{text} BETWEEN {#day} AND {#day}; {text} = {date}; {date} < {text}", "bool"),
    *_each("{text} < {#midnight}; {text} >= {#midnight}; {instant} <= {text}", "bool"),
    *_each("{text} >= date_sub(current_date(), {#many}); {text} <> current_date()", "bool"),
    *_each("{instant} >= date_sub(current_date(), {#many}); {instant} = {date}", "bool"),
    *_each("{instant} BETWEEN {date} AND date_add({date}, {#n}); {text} < current_date()", "bool"),
    *_each("{clock} >= date_sub(current_date(), {#many}); {clock} = {date}", "bool", SPARK),
    *_each("{instant} >= {#midnight} - {#interval}; {date} >= current_date() - {#days}", "bool"),
    *_each("{text} >= current_date() - {#days}; {text} < DATE '2020-02-01' - {#days}", "bool"),
    *_each("{text} >= add_months(DATE '2020-02-01', {#n}); {text} < add_months({date}, 1)", "bool"),
    *_each("{date} >= date_sub(current_date(), {#many}); {date} <> current_date()", "bool"),
    *_each("{instant} <= now(); {date} > current_date() - 7", "bool", SPARK),
]

LANGUAGE = Language(
    terms=TERMS,
    conditions=CONDITIONS,
    constants=CONSTANTS,
    comparisons=("=", "<>", "<", "<=", ">", ">=", "=", "<=>"),
    forms=(
        *("NOT ({0})", "({0}) AND ({1})", "({0}) OR NOT ({1})", "({0}) IS NULL"),
        *("CASE WHEN {0} THEN 1 ELSE 0 END = 1", "coalesce({0}, false)", "if({0}, {1}, {2})"),
        *("({0}) IS NOT TRUE", "NOT (({0}) AND ({1}))", "CASE WHEN NOT ({0}) THEN {1} END"),
        *("coalesce({0}, {1}) = ({2})", "NOT coalesce({0}, true)", "({0}) IS NOT NULL"),
    ),
)
