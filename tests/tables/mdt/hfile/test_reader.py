"""HFiles: look-ups agree with a full scan, read little, and detect damage."""

import contextlib
import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.hfile import reader
from pyhudi_expr.tables.mdt.hfile.reader import HFile, RecentCells
from tests.example_counts import examples
from tests.tables.mdt.file_bytes import hfile

pytestmark = pytest.mark.usefixtures("engine")

ROWS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(str.encode)
TABLES = st.dictionaries(ROWS, st.binary(max_size=20), max_size=60)
FORMS = st.fixed_dictionaries(
    {
        "block_size": st.sampled_from([1, 60, 10_000]),
        "gzip": st.booleans(),
        "crc32": st.booleans(),
        # Some of Hudi's native writers do not say that cells end with their read point.
        "info": st.sampled_from([{}, {b"KEY_VALUE_VERSION": b"\0\0\0\1"}]),
    }
)


def opened(content: bytes) -> HFile:
    return HFile(pa.BufferReader(content), len(content), "t.hfile")


def cells(file: HFile) -> dict[bytes, bytes]:
    return {k: v for part in file.scan() for k, v in zip(part.keys, part.values, strict=True)}


@settings(max_examples=examples(60))
@given(
    table=TABLES,
    form=FORMS,
    levels=st.sampled_from([1, 2]),
    keys_looked_up=st.lists(ROWS, max_size=5),
)
def test_look_ups_equal_a_full_scan(
    table: dict[bytes, bytes], form: dict, levels: int, keys_looked_up: list[bytes]
) -> None:
    file = opened(hfile(sorted(table.items()), levels=levels if table else 1, **form))
    assert cells(file) == table
    keys = [*keys_looked_up, *list(table)[::3]]
    found = file.lookup(keys)
    assert dict(zip(found.keys, found.values, strict=True)) == {
        key: table[key] for key in keys if key in table
    }
    prefixes = [*keys_looked_up, *(key[:1] for key in table)][:4]
    found = file.prefix(prefixes)
    assert found.keys == sorted(key for key in table if key.startswith(tuple(prefixes)))


@settings(max_examples=examples(60))
@given(table=TABLES, prefixes=st.lists(ROWS, max_size=4))
def test_keys_may_be_sorted_as_java_sorts_texts(
    table: dict[bytes, bytes], prefixes: list[bytes]
) -> None:
    in_utf16 = sorted(table.items(), key=lambda cell: cell[0].decode().encode("utf-16-be"))
    file = opened(hfile(in_utf16, block_size=1))
    assert sorted(file.lookup(list(table)).keys) == sorted(table)
    keys_looked_up = sorted(key for key in table if key.startswith(tuple(prefixes)))
    assert sorted(file.prefix(prefixes).keys) == keys_looked_up


def test_only_the_blocks_that_are_needed_are_read() -> None:
    table = [(b"%06d" % number, bytes(100)) for number in range(20_000)]
    content = hfile(table, block_size=16_384, gzip=False)
    file = opened(content)
    assert file.lookup([b"000777", b"010000"]).keys == [b"000777", b"010000"]
    assert file.prefix([b"00077"]).keys == [b"%06d" % number for number in range(770, 780)]
    assert file.bytes_read < 64 * 1024 + 5 * 20_000 < len(content) / 10


def test_blocks_that_were_just_read_are_not_read_again() -> None:
    table = [(b"%06d" % number, bytes(100)) for number in range(20_000)]
    file = opened(hfile(table, block_size=16_384, gzip=False))
    first = file.lookup([b"000777"]), file.prefix([b"01000"])
    before = file.bytes_read
    assert file.lookup([b"000777", b"000778"]).keys == [b"000777", b"000778"]
    assert (file.lookup([b"000777"]), file.prefix([b"01000"])) == first
    assert file.bytes_read == before


def test_another_file_of_the_same_name_is_read() -> None:
    files = [opened(hfile([(b"k", value)])) for value in (b"old", b"new")]
    assert [file.lookup([b"k"]).values for file in files] == [[b"old"], [b"new"]]


def test_look_ups_without_a_block_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    recent = RecentCells(1_000_000)
    monkeypatch.setattr(reader, "_RECENT", recent)
    file = opened(hfile([(b"k", b"value")]))
    assert not file.lookup([b"a"])
    assert not opened(hfile([])).prefix([b"k"])
    assert len(recent) == 0
    assert file.lookup([b"k"]).values == [b"value"]
    assert len(recent) == 1


def test_what_is_looked_up_does_not_hold_the_other_cells_of_its_blocks() -> None:
    table = {f"{number:06d}".encode(): b"v" * 50 for number in range(5000)}
    file = opened(hfile(sorted(table.items()), block_size=10_000, gzip=False, crc32=False))
    for found in (file.lookup([b"000777", b"004000"]), file.prefix([b"000777", b"004000"])):
        assert found.keys == [b"000777", b"004000"]
        held = len(found.key_strings.data), len(found.value_strings.data)
        assert held == (2 * len(b"000777"), 2 * 50)


def test_the_schema_is_in_the_file_info() -> None:
    assert opened(hfile([], schema='"long"')).schema == '"long"'


SAMPLE = hfile([(b"%03d" % n, b"value %d" % n) for n in range(50)], block_size=300, levels=2)


@pytest.mark.parametrize("length", range(0, len(SAMPLE), 37))
def test_a_truncated_file_is_corrupt(length: int) -> None:
    with pytest.raises(CorruptFile, match=r"t\.hfile"):
        cells(opened(SAMPLE[:length]))


@settings(max_examples=examples(400))
@given(st.integers(0, len(SAMPLE) - 1), st.integers(0, 7), st.booleans())
def test_a_flipped_bit_changes_nothing_or_is_detected(at: int, bit: int, by_key: bool) -> None:
    damaged = bytearray(SAMPLE)
    damaged[at] ^= 1 << bit
    with contextlib.suppress(CorruptFile):
        file = opened(bytes(damaged))
        if by_key:
            found = file.lookup([b"007", b"042"])
            assert found.values == [b"value 7", b"value 42"]
        else:
            assert cells(file) == cells(opened(SAMPLE))


@pytest.mark.parametrize("value", [bytes(1_000_000), random.Random(7).randbytes(300_000)])
@pytest.mark.parametrize("claimed", [0, 900, 2_000_000])
def test_a_block_has_the_size_that_it_claims(value: bytes, claimed: int) -> None:
    bomb = bytearray(hfile([(b"k", value)]))
    bomb[12:16] = claimed.to_bytes(4, "big")
    with pytest.raises(CorruptFile, match="has not the size that it claims"):
        cells(opened(bytes(bomb)))


def test_checksums_are_compared() -> None:
    content = bytearray(hfile([(b"k", b"v" * 50)], gzip=False, crc32=True))
    content[60] ^= 1
    with pytest.raises(CorruptFile, match="checksum"):
        cells(opened(bytes(content)))
