"""Log files: their blocks, and how damage is handled."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.log_files import BlockKind, LogFile
from tests.example_counts import examples
from tests.tables.mdt.file_bytes import delete_block, log_block


def opened(content: bytes) -> LogFile:
    return LogFile(pa.BufferReader(content), len(content), "t.log")


def kinds(log: LogFile) -> list[tuple[BlockKind, str | None]]:
    return [(block.kind, block.instant) for block in log.blocks]


FIRST, SECOND = log_block("001", b"first"), log_block("002", b"second" * 50_000)


def test_blocks_come_in_order_with_their_content() -> None:
    log = opened(FIRST + SECOND + log_block("003", b"", kind=0, header={1: "002"}))
    assert kinds(log) == [
        (BlockKind.HFILE, "001"),
        (BlockKind.HFILE, "002"),
        (BlockKind.COMMAND, "003"),
    ]
    assert [log.content(block) for block in log.blocks] == [b"first", b"second" * 50_000, b""]
    assert log.blocks[2].rolled_back == "002"


def test_a_delete_block_lists_keys() -> None:
    log = opened(delete_block("001", ["a", "é"]) + delete_block("002", []))
    assert [log.deleted_keys(block) for block in log.blocks] == [[b"a", "é".encode()], []]


def test_an_unknown_delete_block_is_refused() -> None:
    log = opened(log_block("001", b"\0\0\0\1\0\0\0\1x", kind=1))
    with pytest.raises(CorruptFile, match="delete block version 1"):
        log.deleted_keys(log.blocks[0])


def test_a_truncated_last_block_is_damage_with_its_instant() -> None:
    assert kinds(opened(FIRST + SECOND[:-3])) == [
        (BlockKind.HFILE, "001"),
        (BlockKind.CORRUPT, "002"),
    ]


def test_damage_ends_at_the_next_block() -> None:
    log = opened(FIRST + SECOND[:9] + FIRST)
    assert kinds(log) == [
        (BlockKind.HFILE, "001"),
        (BlockKind.CORRUPT, None),
        (BlockKind.HFILE, "001"),
    ]


def test_an_empty_file_has_no_blocks() -> None:
    assert opened(b"").blocks == ()


@settings(max_examples=examples(300))
@given(st.integers(0, 2 * len(FIRST) - 1), st.integers(0, 255))
def test_damage_never_hangs_or_reads_beyond_the_file(at: int, byte: int) -> None:
    content = bytearray(FIRST + FIRST)
    content[at] = byte
    log = opened(bytes(content))
    for block in log.blocks:
        assert len(log.content(block)) == block.length


@settings(max_examples=examples(100))
@given(st.binary(max_size=200))
def test_any_bytes_can_be_opened(content: bytes) -> None:
    assert all(block.kind in BlockKind for block in opened(b"#HUDI#" + content).blocks)
