"""The reader reads what the writer writes, in the same layout as Hudi's own HFiles."""

import io
import json
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.hfile.writer import write, write_batches
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.file_group import all_cells

_CELLS = st.dictionaries(st.binary(max_size=40), st.binary(max_size=400), max_size=40)


def written(cells: Iterable[tuple[bytes, bytes]], schema: str = '"bytes"') -> bytes:
    sink = io.BytesIO()
    size = write(sink, cells, schema)
    assert size == len(sink.getvalue())
    return sink.getvalue()


class Memory:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read_at(self, nbytes: int, offset: int) -> bytes:
        return self._content[offset : offset + nbytes]


def opened(content: bytes) -> HFile:
    return HFile(Memory(content), len(content), "written")


@given(cells=_CELLS)
def test_every_written_cell_is_found(cells: dict[bytes, bytes]) -> None:
    hfile = opened(written(sorted(cells.items())))
    found = all_cells(hfile)
    assert dict(zip(found.keys, found.values, strict=True)) == cells
    assert hfile.num_cells == len(cells)
    some = sorted(cells)[::3]
    assert hfile.lookup(some).keys == some


def test_keys_are_found_among_many_blocks() -> None:
    cells = [(b"%06d" % number, bytes([number % 256]) * 5_000) for number in range(1_000)]
    content = written(cells)
    found = opened(content).prefix([b"0005"])
    assert found.keys == [key for key, _ in cells[500:600]]
    assert found.values == [value for _, value in cells[500:600]]
    assert content.count(b"DATABLK*") == 5


def test_memory_does_not_grow_with_the_file() -> None:
    class NullSink:
        def write(self, content: bytes, /) -> None:
            pass

    def batches(count: int) -> Iterator[tuple[ByteStrings, ByteStrings]]:
        for batch in range(count):
            keys = [b"%08d" % (batch * 5_000 + row) for row in range(5_000)]
            yield ByteStrings.of(keys), ByteStrings.of([key * 25 for key in keys])

    def most_memory(count: int) -> int:
        tracemalloc.start()
        try:
            write_batches(NullSink(), batches(count), '"bytes"')
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert most_memory(50) < 1.2 * most_memory(5)


def test_the_longest_key_may_start_a_block() -> None:
    longest = b"z" * 32_767
    cells = [(b"k", b"v" * (1 << 20)), (longest, b"w")]
    assert opened(written(cells)).lookup([longest]).values == [b"w"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([b"b", b"a"], "does not sort behind"),
        ([b"a", b"a"], "does not sort behind"),
        ([b"k" * 32_768], "32768 bytes"),
    ],
)
def test_keys_in_wrong_order_are_refused(keys: list[bytes], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written((key, b"") for key in keys)


def test_a_rewritten_file_of_hudi_has_the_same_cells_and_file_info(
    golden: Mapping[str, Path],
) -> None:
    metadata = golden["cow_v9_txns_simple_meta"] / ".hoodie" / "metadata"
    for path in sorted(metadata.glob("*/*.hfile")):
        original = opened(path.read_bytes())
        cells = all_cells(original)
        again = opened(written(zip(cells.keys, cells.values, strict=True), original.schema))
        assert all_cells(again) == cells
        for fact, value in again.info.items():
            assert original.info[fact] == value, fact


def test_the_record_schema_equals_that_of_hudis_files(golden: Mapping[str, Path]) -> None:
    files = golden["cow_v9_txns_simple_meta"] / ".hoodie" / "metadata" / "files"
    newest = opened(max(files.glob("*.hfile")).read_bytes())
    assert _undocumented(json.loads(newest.schema)) == json.loads(RECORD_SCHEMA)


def _undocumented(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _undocumented(value) for key, value in node.items() if key != "doc"}
    return [_undocumented(item) for item in node] if isinstance(node, list) else node
