"""Avro files: what a reader of Avro says, and no file can stop or end the process."""

from __future__ import annotations

import contextlib
import io
import time
import tracemalloc
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.errors import CorruptFile, HudiError, UnsupportedTable
from pyhudi_expr.tables.parsing.avro_values import first_record, record_reader, with_name
from pyhudi_expr.tables.parsing.budget import Budget, Limits, OverBudgetError, spending
from pyhudi_expr.tables.timeline import CommitMetadata, read_record
from tests.tables.parsing.avro_bytes import avro_file, commit, deflated_zeros, number

_INNER = {"type": "record", "name": "Inner", "fields": [{"name": "n", "type": "long"}]}
_OTHER = {"type": "record", "name": "Other", "fields": [{"name": "t", "type": "string"}]}
_FIELDS: dict[str, Any] = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "bytes": "bytes",
    "string": "string",
    "fixed": {"type": "fixed", "name": "Four", "size": 4},
    "enum": {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]},
    "array": {"type": "array", "items": ["null", "long"]},
    "map": {"type": "map", "values": _INNER},
    "optional": ["null", "Inner"],
    "either": ["null", "Inner", _OTHER],
    "nothing": "null",
}
SCHEMA = {
    "type": "record",
    "name": "All",
    "namespace": "a.b",
    "fields": [{"name": name, "type": kind} for name, kind in _FIELDS.items()],
}
_LONGS = st.integers(-(2**63), 2**63 - 1)
_INNERS = st.fixed_dictionaries({"n": _LONGS})
VALUES = st.fixed_dictionaries(
    {
        "boolean": st.booleans(),
        "int": st.integers(-(2**31), 2**31 - 1),
        "long": _LONGS,
        "float": st.floats(width=32, allow_nan=False),
        "double": st.floats(allow_nan=False),
        "bytes": st.binary(),
        "string": st.text(st.characters(exclude_categories=["Cs"])),
        "fixed": st.binary(min_size=4, max_size=4),
        "enum": st.sampled_from(["RED", "BLUE"]),
        "array": st.lists(st.none() | _LONGS),
        "map": st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), _INNERS),
        "optional": st.none() | _INNERS,
        "either": st.none()
        | st.tuples(st.just("a.b.Inner"), _INNERS)
        | st.tuples(st.just("a.b.Other"), st.fixed_dictionaries({"t": st.just("x")})),
        "nothing": st.none(),
    }
)


@given(VALUES)
def test_records_are_those_of_avros_own_library(value: dict[str, Any]) -> None:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(SCHEMA), value)
    read = record_reader(SCHEMA, of_branch=with_name).read(target.getvalue(), "f")
    target.seek(0)
    assert read == fastavro.schemaless_reader(
        target, SCHEMA, None, return_record_name=True, return_record_name_override=True
    )


def test_types_of_one_name_in_several_namespaces_are_apart() -> None:
    def decimal(space: str, size: int) -> dict[str, Any]:
        return {"type": "fixed", "name": "fixed", "namespace": space, "size": size}

    kinds = [["null", decimal("t.a", 2)], ["null", decimal("t.b", 5)], "t.a.fixed", "t.b.fixed"]
    inner = {"type": "record", "name": "fixed", "namespace": "t.c", "fields": _OTHER["fields"]}
    schema = {
        "type": "record",
        "name": "t",
        "fields": [{"name": f"f{n}", "type": kind} for n, kind in enumerate([*kinds, inner])],
    }
    value = {"f0": b"12", "f1": b"12345", "f2": b"ab", "f3": b"abcde", "f4": {"t": "x"}}
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), value)
    assert record_reader(schema).read(target.getvalue(), "f") == value


@given(VALUES, st.data())
def test_any_damage_is_read_or_refused(value: dict[str, Any], data: st.DataObject) -> None:
    target = io.BytesIO()
    fastavro.writer(target, fastavro.parse_schema(SCHEMA), [value])
    content = bytearray(target.getvalue())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(content)))
    with contextlib.suppress(HudiError):
        first_record(bytes(content[:end]), "f")


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_avro_files_of_a_library_are_read(codec: str) -> None:
    target = io.BytesIO()
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    fastavro.writer(target, fastavro.parse_schema(schema), [{"a": 7}], codec=codec)
    assert first_record(target.getvalue(), "f") == {"a": 7}


def test_other_codecs_are_named() -> None:
    with pytest.raises(UnsupportedTable, match=r"f: Avro's codec b'bzip2' is not read"):
        first_record(commit("null", b"\0", "bzip2"), "f")


def test_items_without_bytes_are_refused_at_once() -> None:
    endless = commit({"type": "array", "items": "null"}, number(1 << 40) + number(0) + number(0))
    began = time.thread_time()
    with pytest.raises(CorruptFile, match=r"c\.commit: .*many in no bytes"):
        CommitMetadata.parse(endless, "c.commit")
    assert time.thread_time() - began < 1


def test_records_that_hold_each_other_deeply_are_refused() -> None:
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    with pytest.raises(CorruptFile, match=r"c\.commit: .*RecursionError"):
        read_record(avro_file(node, b"\x02" * 1_000_000 + b"\0"), "c.commit")


def test_records_that_hold_themselves_are_read() -> None:
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    assert read_record(avro_file(node, b"\x02\x02\0"), "f") == {"next": {"next": {"next": None}}}


def test_a_block_is_decompressed_up_to_a_limit() -> None:
    """A commit of 100 KB would take 100 MB, one of 1.5 MB 1.5 GB."""
    megabytes = 100
    bomb = commit("bytes", deflated_zeros(megabytes, number(megabytes << 20)), "deflate")
    tracemalloc.start()
    try:
        with pytest.raises(OverBudgetError, match=r"c\.commit: \d+ bytes would take \d+ after"):
            CommitMetadata.parse(bomb, "c.commit")
        assert tracemalloc.get_traced_memory()[1] < megabytes << 20
    finally:
        tracemalloc.stop()


def test_decoded_values_draw_on_the_memory_of_the_question() -> None:
    items = 1_000_000
    many = commit({"type": "array", "items": "int"}, number(items) + bytes(items + 1) + number(0))
    assert len(read_record(many, "f")["junk"]) == items
    with (
        spending(Budget(Limits(memory_bytes=1 << 20))),
        pytest.raises(OverBudgetError, match=r"c\.commit: .*1.04858e\+06 bytes of decoded values"),
    ):
        read_record(many, "c.commit")


def test_time_of_a_question_ends() -> None:
    items = 3_000_000
    many = commit({"type": "array", "items": "int"}, number(items) + bytes(items + 1) + number(0))
    began = time.thread_time()
    with (
        spending(Budget(Limits(processor_seconds=0.1))),
        pytest.raises(OverBudgetError, match=r"c\.commit: .*0.1 seconds of a processor"),
    ):
        read_record(many, "c.commit")
    assert time.thread_time() - began < 1
