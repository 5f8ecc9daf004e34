"""Tuple domains: what Trino itself wrote has its SQL's meaning, and no row is dropped."""

from __future__ import annotations

import base64
import json
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.predicates.blocks import BlockError, read_presto_block, read_trino_block
from examples.predicates.tuple_domain import DomainError, parse_tuple_domain
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import (
    ALWAYS,
    NEVER,
    And,
    CharType,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    Unknown,
)
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from tests.example_counts import examples
from tests.expr.statistics import RowStatistics


def written_by(engine: str) -> dict[str, str]:
    """What the engine wrote, by its SQL."""
    file = Path(__file__).parents[2] / "data" / engine / "tuple_domains.jsonl"
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    return {line["sql"]: json.dumps(line["tupleDomain"]) for line in lines}


WRITTEN, BY_PRESTO = written_by("trino"), written_by("presto")
SCHEMA = pa.schema(
    [
        *(("i", pa.int32()), ("l", pa.int64()), ("si", pa.int32()), ("ti", pa.int32())),
        *(("b", pa.bool_()), ("d", pa.float64()), ("f", pa.float32()), ("s", pa.string())),
        *(("c", pa.string()), ("bin", pa.binary()), ("dt", pa.date32())),
        *(("dec9", pa.decimal128(9, 2)), ("dec38", pa.decimal128(38, 2))),
    ]
)
#: SQL compares these exactly only with types that its literals do not have.
_TIMES = [sql for sql in WRITTEN if sql.startswith("ts")]


TEXTS = (None, "", "a", "ab", "ab  ", "héllo", "l", "m", "n", "x", "xx", "é", "😀", "z", "y", "ac")


def kept(predicate: Any, values: dict[str, Any]) -> bool:
    """For each file of one row, whether it is kept."""
    evidence = [StatisticsEvidence(RowStatistics([[values]]))]
    return bool(as_array(may_be(predicate, True, evidence), 1)[0])


FORMS = [
    *((sql, form) for sql, form in WRITTEN.items() if sql not in _TIMES),
    *BY_PRESTO.items(),
]


@pytest.mark.parametrize(("sql", "form"), FORMS)
def test_tuple_domains_keep_the_same_files_as_their_sql(sql: str, form: str) -> None:
    scope = Scope(SCHEMA, here("UTC"))
    domain, same = bind(parse_tuple_domain(form), scope), bind(parse_predicate(sql), scope)
    answers = set()
    for values in _rows():
        assert kept(domain, values) == kept(same, values), values
        answers.add(kept(domain, values))
    assert answers == {True, False} or sql in ("true", "false")


def _rows() -> list[dict[str, Any]]:
    numbers = [None, -100, -7, -3, 0, 1, 2, 4, 5, 6, 8, 9, 13, 303, 3005, 2**62 + 1]
    return [
        {
            "i": None if n is None else min(n, 2**31 - 1),
            "l": n,
            "si": n,
            "ti": n,
            "b": None if n is None else n > 0,
            "d": None if n is None else n / 2,
            "f": None if n is None else n / 2,
            "s": text,
            "c": text,
            "bin": None if n is None else b"\x00\xff" if n == 4 else bytes([n % 256]),
            "dt": None if n is None else 19720 + n % 16,
            "dec9": None if n is None else Decimal(n % 1000 - 500) / 4,
            "dec38": Decimal("123456789012345678901234567890.12") if n == 5 else _decimal(n),
        }
        for n, text in zip(
            numbers,
            [
                None,
                "",
                "a",
                "ab",
                "ab  ",
                "héllo",
                "l",
                "m",
                "n",
                "x",
                "xx",
                "é",
                "😀",
                "z",
                "y",
                "ac",
            ],
            strict=True,
        )
    ]


def _decimal(n: int | None) -> Any:
    return None if n is None else Decimal(n % 200 - 100)


MICRO = pa.schema([("ts", pa.timestamp("us", "UTC"))])
NOON = 1704456000_000_000


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        # Milliseconds: a stored time is read as the millisecond below or above it.
        ("ts = TIMESTAMP '2024-01-05 12:00:00.123'", [False, True, True, True, False]),
        ("ts = instant 1704456000123 ms", [False, True, True, True, False]),
        ("ts >= TIMESTAMP '2024-01-05 12:00:00.123456'", [False, False, True, True, True]),
        ("ts = instant 1704456000123456 us", [False, False, True, False, False]),
        ("ts < TIMESTAMP '2024-01-05 12:00:00.123456789'", [True, True, True, False, False]),
    ],
)
def test_times_are_compared_as_they_are_read(sql: str, kept: list[bool]) -> None:
    bound = bind(parse_tuple_domain(WRITTEN[sql]), Scope(MICRO, here("UTC")))
    rows = [[{"ts": NOON + micros}] for micros in (0, 122_999, 123_456, 123_999, 125_000)]
    found = as_array(may_be(bound, True, [StatisticsEvidence(RowStatistics(rows))]), len(rows))
    assert list(found) == kept
    refuted = as_array(may_be(bound, False, [StatisticsEvidence(RowStatistics(rows))]), len(rows))
    assert refuted.all() or "789" in sql  # a value read with fewer digits proves no more


INT, ONE, NINE = Column(("i",)), Literal(1, pa.int32()), Literal(9, pa.int32())


def block(*values: int | None, encoding: str = "INT_ARRAY", code: str = "<i") -> str:
    """A block of numbers as Presto encodes it."""
    bits = np.packbits([value is None for value in values]).tobytes()
    nulls = b"\x01" + bits if None in values else b"\x00"
    data = b"".join(struct.pack(code, value) for value in values if value is not None)
    head = struct.pack("<i", len(encoding)) + encoding.encode() + struct.pack("<i", len(values))
    return base64.b64encode(head + nulls + data).decode()


def marker(bound: str, value: int | None) -> dict[str, Any]:
    marker_value = {} if value is None else {"valueBlock": block(value)}
    return {"type": "integer", "bound": bound, **marker_value}


def presto(*ranges: tuple[dict[str, Any], dict[str, Any]], nulls: bool = False) -> str:
    range_list = [{"low": low, "high": high} for low, high in ranges]
    values = {"@type": "sortable", "type": "integer", "ranges": range_list}
    column = {"@type": "hive", "name": "i", "hiveType": "int"}
    domain = {"values": values, "nullAllowed": nulls}
    return json.dumps({"columnDomains": [{"column": column, "domain": domain}]})


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (presto((marker("EXACTLY", 1), marker("EXACTLY", 1))), Comparison(Op.EQ, INT, ONE)),
        (
            presto(
                (marker("EXACTLY", 1), marker("EXACTLY", 1)),
                (marker("EXACTLY", 9), marker("EXACTLY", 9)),
                nulls=True,
            ),
            Or((In(INT, (ONE, NINE)), IsNull(INT))),
        ),
        (presto((marker("ABOVE", 1), marker("BELOW", None))), Comparison(Op.GT, INT, ONE)),
        (
            presto((marker("EXACTLY", 1), marker("BELOW", 9))),
            And((Comparison(Op.GTEQ, INT, ONE), Comparison(Op.LT, INT, NINE))),
        ),
        (presto((marker("ABOVE", None), marker("BELOW", None))), Not(IsNull(INT))),
        (presto((marker("ABOVE", None), marker("BELOW", None)), nulls=True), ALWAYS),
        (presto(nulls=True), IsNull(INT)),
        (presto(), NEVER),
    ],
)
def test_presto_encodes_each_bound_separately(form: str, expected: HudiExpression) -> None:
    assert parse_tuple_domain(form) == expected


def domain(column: Any, values: Any, nulls: Any = False) -> str:
    one = {"column": column, "domain": {"values": values, "nullAllowed": nulls}}
    return json.dumps({"columnDomains": [one]})


EVERY = {"@type": "allOrNone", "type": "json", "all": True}


def test_a_column_handle_names_a_struct_field() -> None:
    handle = {
        "baseColumnName": "st",
        "hiveColumnProjectionInfo": {"dereferenceNames": ["a", "b"], "type": "bigint"},
    }
    assert parse_tuple_domain(domain(handle, EVERY)) == Not(IsNull(Column(("st", "a", "b"))))


@pytest.mark.parametrize(
    "values",
    [
        {"@type": "equatable", "type": "map(bigint,bigint)", "inclusive": True, "entries": []},
        {"@type": "sortable", "type": "time(3)", "ranges": []},
        {"@type": "sortable", "type": "timestamp", "ranges": []},
        {"@type": "sortable", "type": "row(a bigint)", "ranges": []},
    ],
)
def test_other_types_are_unknown(values: Any) -> None:
    assert isinstance(parse_tuple_domain(domain("i", values)), Unknown)


def test_a_bounded_varchar_may_be_truncated() -> None:
    text = "VARIABLE_WIDTH"
    data = struct.pack("<i", len(text)) + text.encode() + struct.pack("<iibi", 1, 2, 0, 2) + b"ab"
    mark = {"type": "varchar(2)", "bound": "EXACTLY", "valueBlock": base64.b64encode(data).decode()}
    values = {"@type": "sortable", "type": "varchar(2)", "ranges": [{"low": mark, "high": mark}]}
    expected = Comparison(Op.EQ, Column(("s",)), Literal("ab", CharType(2, padded=False)))
    assert parse_tuple_domain(domain("s", values)) == expected


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ("", "no JSON"),
        ("[]", "no object"),
        ('{"columnDomains": 1}', "expected a list"),
        (domain("", EVERY), "a column without a name"),
        (domain("i", EVERY, nulls=1), "column i: expected a boolean for nullAllowed"),
        (domain("i", {"@type": "sortable", "type": "integer"}), "column i: 'ranges'"),
        (
            domain(
                "i", {"@type": "sortable", "type": "integer", "inclusive": [], "sortedRanges": "!"}
            ),
            "column i: no base64",
        ),
        (presto((marker("BELOW", 1), marker("BELOW", 2))), "a bound BELOW"),
    ],
)
def test_invalid_tuple_domains_are_refused(form: str, problem: str) -> None:
    with pytest.raises(DomainError, match=problem):
        parse_tuple_domain(form)


def test_damaged_blocks_are_refused() -> None:
    assert read_presto_block(block(1, None, 3)) == [1, None, 3]
    assert read_presto_block(block(None)) == [None]
    with pytest.raises(BlockError, match=r"cut off|number of values"):
        read_trino_block(block(None, 1))


@settings(max_examples=examples(500))
@given(st.sampled_from([*WRITTEN.values(), *BY_PRESTO.values()]), st.data())
def test_fuzz_changed_blocks_are_refused_or_read(written: str, data: st.DataObject) -> None:
    form = json.loads(written)
    for one in form.get("columnDomains", []):
        values = one["domain"]["values"]
        ranges = [end for both in values.get("ranges", []) for end in both.values()]
        for holder, name in ((values, "sortedRanges"), *((end, "valueBlock") for end in ranges)):
            if name not in holder:
                continue
            changed = bytearray(base64.b64decode(holder[name]))
            for _ in range(data.draw(st.integers(1, 3))):
                at = data.draw(st.integers(0, len(changed) - 1))
                changed[at] = data.draw(st.integers(0, 255))
            holder[name] = base64.b64encode(bytes(changed)).decode()
    try:
        found = parse_tuple_domain(json.dumps(form))
    except DomainError:
        return
    bind(found, Scope(SCHEMA, here("UTC")))
