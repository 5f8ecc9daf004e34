"""Parsers take work in proportion to their input, also to input that an attacker has written."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.tables.mdt.bytes import kernel
from pyhudi_expr.tables.mdt.log_files import MAGIC
from pyhudi_expr.tables.parsing.avro_values import record_reader
from tests.fuzzing.parsers import PARSERS
from tests.tables.mdt.file_bytes import delete_block, hfile, log_block
from tests.tables.parsing.avro_bytes import SYNC, avro_file, commit, number, text
from tests.tables.parsing.linear import Written, assert_linear, assert_linear_in_time


def log_frame(length: int, entry: int) -> bytes:
    """A block of a length whose header has endless entries, each of so many bytes."""
    frame = MAGIC + struct.pack(">qiii", length, 1, 3, 0x7F7F7F7F)
    return frame + struct.pack(">ii", 0, entry)


def record(times: int) -> bytes:
    """A record with so many partitions, as JSON."""
    stats = {f"p{n}": [{"path": f"p{n}/f", "size": n}] for n in range(times)}
    return json.dumps({"partitionToWriteStats": stats}).encode()


def avro_record(times: int) -> bytes:
    """The same with an array of records in the middle."""
    inner = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    items = number(times) + b"\x02" * times + number(0)
    return commit({"type": "array", "items": inner}, items + b"\0")


def avro_header(times: int) -> bytes:
    """A file with so many entries in its header."""
    entries = b"".join(text(b"k%d" % n) + text(b"v") for n in range(times))
    return b"Obj\x01" + number(times) + entries + number(0) + SYNC


def deflated_commit(times: int) -> bytes:
    """A file whose block takes so many KB after decompression."""
    deflate = zlib.compressobj(9, wbits=-15)
    block = number(times << 10) + bytes(times << 10) + b"\0"
    return commit("bytes", deflate.compress(block) + deflate.flush(), "deflate")


def chain(times: int) -> bytes:
    """A schema of so many records, each of which names the next one."""
    inner: Any = "int"
    for n in range(times // 8, 0, -1):  # Python decodes no thousand of them
        inner = {"type": "record", "name": f"r{n}", "fields": [{"name": "f", "type": inner}]}
    return avro_file(inner, b"\x02")


def log_header(times: int) -> bytes:
    """A block with so many entries in its header."""
    return log_block("001", b"", header=dict.fromkeys(range(10, times + 10), "x"))


def cells(times: int) -> list[tuple[bytes, bytes]]:
    """So many cells of texts."""
    return [(b"k%06d" % n, b"\x02a") for n in range(times)]


def footer(table: pa.Table, rows_of_group: int) -> bytes:
    """The metadata of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=rows_of_group)
    content = sink.getvalue().to_pybytes()
    return content[-8 - int.from_bytes(content[-8:-4], "little") : -8]


def many_columns(times: int) -> bytes:
    return footer(pa.table({f"c{n}": [n] for n in range(times // 4)}), 1)


def many_groups(times: int) -> bytes:
    return footer(pa.table({"c": range(times)}), 1)


def column_index(pages: int) -> bytes:
    """A struct with a list of so many numbers, which is what page indexes are made of."""
    return b"\x03\x19\xf5" + varint(pages) + b"\x02" * pages + b"\0"


def varint(value: int) -> bytes:
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def bloom_rows(times: int) -> bytes:
    """A filter of so many rows of a byte."""
    row = struct.pack(">iiBi", -1, 1, 1, 8)
    return row + struct.pack(">iii", 10, 1, times) + (row + b"\xff") * times


_HFILE = hfile(cells(3), schema='"string"')
_ROWS: Mapping[int, str] = {2: '{"type":"record","name":"r","fields":[{"name":"id","type":"int"}]}'}


def rows(times: int) -> bytes:
    """A block of so many rows."""
    content = struct.pack(">ii", 1, times) + (struct.pack(">i", 1) + b"\x02") * times
    return log_block("001", content, kind=3, header=_ROWS)


_INPUTS: Mapping[str, Mapping[str, Written]] = {
    "commit": {
        "partitions": record,
        "a record": avro_record,
        "entries of a header": avro_header,
        "deflated": deflated_commit,
        "types": chain,
    },
    "json": {"partitions": record, "no end": b"[".__mul__, "objects": b'{"a":'.__mul__},
    "properties": {
        **{repr(unit): unit.__mul__ for unit in (b"a", b" ", b"\\\n", b"\\", b"#\n", b"=")},
        "entries": b"a=b\n".__mul__,
        "escapes": b"\\u0041".__mul__,
    },
    "log": {
        "headers through all later ones": log_frame(0, 26).__mul__,
        "headers of long blocks": log_frame(1 << 40, 26).__mul__,
        "empty entries": log_frame(1 << 40, 0).__mul__,
        "magics": MAGIC.__mul__,
        "zeros": bytes(64).__mul__,
        "blocks": lambda times: log_block("001", _HFILE) * (times // 8),
        "entries of a header": log_header,
        "deleted keys": lambda times: delete_block("001", [str(n) for n in range(times)]),
        "deletes": delete_block("001", ["k"]).__mul__,
    },
    "log_of_rows": {
        "rows": rows,
        "blocks": rows(1).__mul__,
        "commands": (
            delete_block("001", []) + log_block("2", b"", kind=0, header={1: "3"})
        ).__mul__,
    },
    "hfile": {
        "cells": lambda times: hfile(cells(times), schema='"string"'),
        "blocks": lambda times: hfile(cells(times), schema='"string"', block_size=1, levels=2),
        "checksums": lambda times: hfile(cells(times), schema='"string"', gzip=False, crc32=True),
        "entries of the info": lambda times: hfile(
            cells(1), schema='"string"', info={b"k%d" % n: b"v" for n in range(times)}
        ),
    },
    "cells": {"cells": (struct.pack(">iiH", 2, 0, 0) + b"\0").__mul__},
    "bloom_filter": {"rows": bloom_rows},
    "parquet_footer": {"columns": many_columns, "row groups": many_groups},
    "column_index": {"numbers": column_index, "structs": (b"\x03" + b"\x1c" * 30).__mul__},
    "offset_index": {"numbers": column_index},
}
_CASES = [(name, case) for name, cases in _INPUTS.items() for case in cases]
#: Regular expressions, Python's own decoder, the kernel.
_IN_C = ("json", "properties", "cells")


@pytest.mark.parametrize(("name", "case"), _CASES)
def test_work_is_linear(name: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "library", lambda: None)  # whose work nobody counts
    assert_linear(PARSERS[name].parse, _INPUTS[name][case])


@pytest.mark.parametrize(("name", "case"), [case for case in _CASES if case[0] in _IN_C])
def test_time_in_c_is_linear(name: str, case: str) -> None:
    assert_linear_in_time(PARSERS[name].parse, _INPUTS[name][case])


def test_checking_types_that_name_each_other_in_a_long_chain_is_linear() -> None:
    def checked(content: bytes) -> None:
        chain: list[Any] = ["int"]
        for at in range(len(content), 0, -1):
            fields = [
                {"name": "n", "type": "int"},
                {"name": "next", "type": ["null", f"R{at + 1}"]},
            ]
            chain.append({"type": "record", "name": f"R{at}", "fields": fields})
        record_reader(chain)

    assert_linear(checked, bytes)


def test_a_parser_that_is_not_linear_is_found() -> None:
    def copied(content: bytes) -> None:
        for at in range(len(content)):
            _ = content[at:]

    def searched(content: bytes) -> None:
        for _ in content:
            content.count(b"x")

    with pytest.raises(AssertionError, match="work"):
        assert_linear(copied, bytes)
    with pytest.raises(AssertionError, match="times as long"):
        assert_linear_in_time(searched, bytes)
