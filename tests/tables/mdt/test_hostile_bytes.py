"""Crafted files of a metadata table: headers end with their block, decompression at a limit."""

from __future__ import annotations

import base64
import struct
import zlib

import pyarrow as pa
import pytest

from pyhudi_expr.tables.mdt.hfile.blocks import GZIP, HEADER, BlockReader
from pyhudi_expr.tables.mdt.log_files import MAGIC, BlockKind, LogFile
from pyhudi_expr.tables.mdt.records import bloom_filter
from pyhudi_expr.tables.parsing.budget import (
    FILE_BYTES,
    Budget,
    Limits,
    OverBudgetError,
    inflated_at_most,
    spending,
)
from tests.tables.mdt.file_bytes import log_block

_ONE, _AVRO, _MANY_ENTRIES = 1, 3, 0x7F7F7F7F
_DATA = b"DATABLK*"


def _frame(length: int, entry: int) -> bytes:
    """Return a block of a length whose header has endless entries, each of so many bytes."""
    frame = MAGIC + struct.pack(">qiii", length, _ONE, _AVRO, _MANY_ENTRIES)
    return frame + struct.pack(">ii", 0, entry)


def opened(content: bytes) -> LogFile:
    return LogFile(pa.BufferReader(content), len(content), "t.log")


def deflated(size: int, form: int) -> bytes:
    deflate = zlib.compressobj(9, wbits=form)
    return deflate.compress(bytes(size)) + deflate.flush()


def test_headers_that_overlap_are_no_log_file() -> None:
    with pytest.raises(OverBudgetError, match=r"t\.log: is no log file: headers of its blocks"):
        opened(_frame(1 << 20, 26) * 1000 + bytes(1 << 20))


def test_a_header_ends_with_its_block() -> None:
    damaged = MAGIC + struct.pack(">qiiiii", 40, _ONE, _AVRO, 1, 0, 100) + bytes(200)
    log = opened(damaged + log_block("001", b"first"))
    assert [block.kind for block in log.blocks] == [BlockKind.CORRUPT, BlockKind.HFILE]
    assert log.blocks[1].instant == "001"


def test_reading_draws_on_the_budget_of_the_question() -> None:
    content = log_block("001", bytes(1 << 20))
    with spending(Budget(Limits(read_bytes=1 << 19))):
        log = opened(content)
        with pytest.raises(OverBudgetError, match=r"t\.log: .*524288 bytes read"):
            log.content(log.blocks[0])


def test_a_block_of_an_hfile_is_decompressed_up_to_a_limit() -> None:
    size = 500 << 20
    packed = deflated(size, 31)
    block = HEADER.pack(_DATA, len(packed), size, -1, 0, 16384, HEADER.size + len(packed)) + packed
    reader = BlockReader(pa.BufferReader(block), len(block), "f.hfile")
    reader.codec = GZIP
    with pytest.raises(OverBudgetError, match=rf"f\.hfile: \d+ bytes would take {size} after"):
        reader.open_block(block, 0, frozenset({_DATA}))


def test_many_blocks_draw_on_one_budget() -> None:
    size = 8 << 20
    packed = deflated(size, 31)
    block = HEADER.pack(_DATA, len(packed), size, -1, 0, 16384, HEADER.size + len(packed)) + packed
    with spending(Budget(Limits(inflated_bytes=64 << 20))):
        reader = BlockReader(pa.BufferReader(block), len(block), "f.hfile")
        reader.codec = GZIP
        for _ in range(8):
            reader.open_block(block, 0, frozenset({_DATA}))
        with pytest.raises(OverBudgetError, match="bytes after decompression"):
            reader.open_block(block, 0, frozenset({_DATA}))


def test_a_bloom_filter_is_decompressed_up_to_a_limit() -> None:
    with pytest.raises(bloom_filter.UnreadableFilterError, match="would take"):
        bloom_filter.parse(bloom_filter.SIMPLE, base64.b64encode(deflated(200 << 20, 31)))


def test_a_larger_file_is_not_decompressed_to_more_than_one_that_is_not_compressed() -> None:
    assert inflated_at_most(1 << 20) < FILE_BYTES == inflated_at_most(100 << 20)


def test_a_damaged_compressed_filter_is_unreadable() -> None:
    packed = deflated(1000, 31)
    for damaged in (packed[:-9], packed[:20] + b"\xff\xff\xff" + packed[23:]):
        with pytest.raises(bloom_filter.UnreadableFilterError, match="damaged"):
            bloom_filter.parse(bloom_filter.SIMPLE, base64.b64encode(damaged))
