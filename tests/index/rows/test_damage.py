"""Damaged footers and page indexes raise nothing; those that contradict themselves prove nothing.

Damage that leaves a page index in form, and within what the footer says, cannot be told.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.index.statistics.parquet_footers import read_bounds
from pyhudi_expr.tables.parquet.compact_protocol import NotParquetError
from pyhudi_expr.tables.parquet.footer import ChunkPlaces, parse_footer
from pyhudi_expr.tables.parquet.page_index import read_locations, read_statistics
from pyhudi_expr.tables.parquet.value_sets import BloomHeader, read_dictionary
from pyhudi_expr.tables.storage import Storage
from tests.example_counts import examples
from tests.index.rows.ranges_of_files import evaluated, rows_of
from tests.index.statistics_entries import UNKNOWN, column, plain

ROWS, GROUP_ROWS, PAGE_ROWS = 90, 30, 10
SCHEMA = pa.schema([("n", pa.int64()), ("s", pa.string()), ("x", pa.decimal128(30, 2))])
ONE = parse_predicate("n = 45 AND s = '045' AND x = 45")
OTHER = parse_predicate("n IN (1, 33) OR s = 'none'")


def content() -> bytes:
    """A file of three row groups with three pages each, and Bloom filters."""
    numbers = range(ROWS)
    table = pa.table([list(numbers), [f"{n:03d}" for n in numbers], list(numbers)], schema=SCHEMA)
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        row_group_size=GROUP_ROWS,
        max_rows_per_page=PAGE_ROWS,
        write_batch_size=1,
        write_page_index=True,
        use_dictionary=["n"],
        bloom_filter_options={"s": {"ndv": 100, "fpp": 0.01}},
    )
    return sink.getvalue().to_pybytes()


CONTENT = content()
FOOTER_BYTES = int.from_bytes(CONTENT[-8:-4], "little")
FOOTER = parse_footer(CONTENT[-8 - FOOTER_BYTES : -8], len(CONTENT))


def places(group: int, column: int) -> ChunkPlaces:
    found = FOOTER.places(group, column)
    assert found is not None
    return found


def stored(range_: tuple[int, int] | None) -> bytes:
    assert range_ is not None
    return CONTENT[range_[0] : sum(range_)]


def possible(data: bytes, predicate: HudiExpression) -> set[int]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "f.parquet")
        path.write_bytes(data)
        files = evaluated([path], predicate, SCHEMA).files
        return rows_of(files[0]) if files else set(range(ROWS))


def test_an_undamaged_file_is_judged_by_its_pages() -> None:
    assert possible(CONTENT, ONE) == set(range(40, 50))
    assert possible(CONTENT, OTHER) == {*range(10), *range(30, 40)}


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_random_damage_raises_nothing(data: st.DataObject) -> None:
    end_of_pages = max(places(group, column).chunk[1] for group in range(3) for column in range(3))
    damaged = bytearray(CONTENT)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(end_of_pages, len(CONTENT) - 9 - FOOTER_BYTES))
        damaged[at] = data.draw(st.integers(0, 255))
    possible(bytes(damaged), data.draw(st.sampled_from([ONE, OTHER])))


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_a_damaged_footer_raises_nothing(data: st.DataObject) -> None:
    damaged = bytearray(CONTENT)
    at = data.draw(st.integers(len(CONTENT) - 8 - FOOTER_BYTES, len(CONTENT) - 1))
    damaged[at] ^= 1 << data.draw(st.integers(0, 7))
    possible(bytes(damaged), ONE)


@pytest.mark.parametrize("keep", [0, 3, 7, 11, 100, len(CONTENT) - 1])
def test_a_file_that_is_cut_off_is_read_whole(keep: int) -> None:
    assert possible(CONTENT[:keep], ONE) == set(range(ROWS))


class _Keys(pe.KmsClient):
    """Wraps keys by themselves: what is tested is a reader without any."""

    def __init__(self, configuration: pe.KmsConnectionConfig) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> str:
        return base64.b64encode(key_bytes).decode()

    def unwrap_key(  # type: ignore[override]  # the stubs err
        self, wrapped_key: str, master_key_identifier: str
    ) -> bytes:
        return base64.b64decode(wrapped_key)


@pytest.mark.parametrize("has_plain_footer", [True, False])
def test_an_encrypted_file_is_read_whole(tmp_path: Path, has_plain_footer: bool) -> None:
    configuration = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"n": ["n"]}, plaintext_footer=has_plain_footer
    )
    properties = pe.CryptoFactory(_Keys).file_encryption_properties(
        pe.KmsConnectionConfig(), configuration
    )
    path = tmp_path / "f.parquet"
    table = pq.read_table(pa.BufferReader(CONTENT))
    pq.write_table(table, path, encryption_properties=properties, row_group_size=GROUP_ROWS)
    assert not evaluated([path], ONE, SCHEMA).files
    [found] = read_bounds(Storage.open(str(tmp_path)), [path.name], [column(pa.int64(), "n")])
    [bounds] = plain(found)
    assert bounds == UNKNOWN


def exchanged(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bytes:
    """The file with one part at the place of another of the same length."""
    assert one is not None
    assert other is not None
    assert one[1] == other[1]
    damaged = bytearray(CONTENT)
    damaged[one[0] : sum(one)] = stored(other)
    return bytes(damaged)


@pytest.mark.parametrize("part", ["column_index", "offset_index"])
def test_the_page_index_of_another_row_group_is_not_believed(part: str) -> None:
    parts = [getattr(places(group, 0), part) for group in range(3)]
    damaged = exchanged(parts[1], parts[2])
    only_n = parse_predicate("n = 45")
    assert possible(CONTENT, only_n) == set(range(40, 50))
    assert possible(damaged, only_n) == set(range(GROUP_ROWS, 2 * GROUP_ROWS))


def test_an_offset_index_in_another_form_is_the_same() -> None:
    index = stored(places(0, 0).offset_index)
    expected = read_locations(index, GROUP_ROWS, places(0, 0).chunk).first_row
    # The first field's number as an integer of its own.
    long_form = b"\x09\x02" + index[1:]
    found = read_locations(long_form, GROUP_ROWS, places(0, 0).chunk).first_row
    assert found.tolist() == expected.tolist() == [0, 10, 20]


def test_many_pages_are_decoded_at_once() -> None:
    table = pa.table({"n": np.arange(40_000)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, max_rows_per_page=10, write_batch_size=1, write_page_index=True)
    data = sink.getvalue().to_pybytes()
    length = int.from_bytes(data[-8:-4], "little")
    found = parse_footer(data[-8 - length : -8], len(data)).places(0, 0)
    assert found is not None
    assert found.offset_index is not None
    offset, size = found.offset_index
    rows = read_locations(data[offset : offset + size], 40_000, found.chunk).first_row
    assert rows.tolist() == list(range(0, 40_000, 10))


def _cut(data: bytes) -> bytes:
    return data[:-3]


def _fewer_rows(data: bytes) -> bytes:
    return data.replace(b"\x16\x28\x00", b"\x16\x14\x00")  # the third page begins at row 10, too


@pytest.mark.parametrize(
    "damage", [_cut, _fewer_rows, *(lambda _, one=one: one for one in (b"", b"\0", b"\x19\xfc"))]
)
def test_a_damaged_offset_index_is_none(damage: Callable[[bytes], bytes]) -> None:
    index = stored(places(0, 0).offset_index)
    with pytest.raises(NotParquetError):
        read_locations(damage(index), GROUP_ROWS, places(0, 0).chunk)


def test_a_dictionary_whose_encoding_is_a_struct_is_none() -> None:
    dictionary = stored(places(0, 0).dictionary)
    assert read_dictionary(dictionary, 1)
    header = b"\x15\x04\x15\x02\x15\x02\x4c\x15\x02\x1c\0\0\0"
    with pytest.raises(NotParquetError):
        read_dictionary(header, 1)


@pytest.mark.parametrize("damage", [_cut, lambda _: b"", lambda _: b"\x00"])
def test_a_damaged_column_index_is_none(damage: Callable[[bytes], bytes]) -> None:
    index = stored(places(0, 0).column_index)
    assert len(read_statistics(index, 3).lower) == 3
    with pytest.raises(NotParquetError):
        read_statistics(damage(index), 3)
    with pytest.raises(NotParquetError):
        read_statistics(index, 4)


@pytest.mark.parametrize("nested", [b"\x19", b"\x1c"])
def test_what_is_nested_without_end_is_refused(nested: bytes) -> None:
    """Lists of one list, and structs of one struct."""
    with pytest.raises(NotParquetError, match="nested too deep"):
        BloomHeader.read(b"\x19" + nested * 5000, 0)
