"""The compiled kernel: it is built where possible, and its results equal those of numpy."""

import ctypes
import shutil
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devtools.generators.kernel_types import TARGET, generate
from pyhudi_expr.tables.mdt.bytes import kernel
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, StringIndex, concat_byte_strings
from pyhudi_expr.tables.mdt.hfile import cells
from pyhudi_expr.tables.mdt.hfile.blocks import DamagedIndexError, root_index

STRINGS = st.lists(st.binary(max_size=6), max_size=30)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_kernel_is_built_if_there_is_a_compiler() -> None:
    assert kernel.library() is not None, "run `python hatch_build.py`"


def test_the_types_are_those_of_the_header(tmp_path: Path) -> None:
    generate(tmp_path / "types.py")
    fresh = (tmp_path / "types.py").read_text()
    assert TARGET.read_text() == fresh, "run `python -m devtools.generators.kernel_types`"


def test_a_library_of_other_source_is_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kernel, "_checksum", lambda: -1)
    assert kernel.library.__wrapped__() is None
    assert "kernel is not used" in caplog.text


@given(strings=STRINGS, searched=STRINGS)
def test_strings_are_found_at_their_index(strings: list[bytes], searched: list[bytes]) -> None:
    ordered = sorted(set(strings))
    lookups = [*searched, *strings]
    expected = [ordered.index(key) if key in ordered else -1 for key in lookups]
    found = ByteStrings.of(ordered).search(ByteStrings.of(lookups))
    assert found.tolist() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "library", lambda: None)
        assert ByteStrings.of(ordered).search(ByteStrings.of(lookups)).tolist() == expected


@given(strings=STRINGS, prefixes=st.lists(st.binary(max_size=3), max_size=10))
def test_the_strings_with_a_prefix_lie_between_its_bounds(
    strings: list[bytes], prefixes: list[bytes]
) -> None:
    ordered = sorted([*strings, b"\xff", b"\xff\xff"])
    chosen = [*prefixes, b"\xff", b""]
    for engine in (kernel.library(), None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "library", lambda found=engine: found)
            bounds = zip(*ByteStrings.of(ordered).prefix_bounds(chosen), strict=True)
            for prefix, (start, end) in zip(chosen, bounds, strict=True):
                expected = [string for string in ordered if string.startswith(prefix)]
                assert ordered[start:end] == expected


@given(parts=st.lists(STRINGS, max_size=4), chosen=st.lists(st.integers(0, 29), max_size=10))
def test_strings_become_arrow_arrays(parts: list[list[bytes]], chosen: list[int]) -> None:
    together = [string for part in parts for string in part]
    strings = concat_byte_strings([ByteStrings.of(part) for part in parts])
    rows = [row for row in chosen if row < len(together)]
    some = strings.take(np.array(rows, np.int64))
    for engine in (kernel.library(), None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "library", lambda found=engine: found)
            assert strings.array().to_pylist() == together
            assert some.compact().array().to_pylist() == [together[row] for row in rows]


@given(blocks=st.lists(st.binary(max_size=80), max_size=4))
def test_both_implementations_agree_on_any_bytes(blocks: list[bytes]) -> None:
    assert _parsed(blocks) == _parsed_slowly(blocks)


@given(
    rows=st.lists(st.tuples(st.binary(max_size=5), st.binary(max_size=5)), max_size=6),
    at=st.integers(0),
    bit=st.integers(0, 7),
)
def test_both_implementations_agree_on_damaged_cells(
    rows: list[tuple[bytes, bytes]], at: int, bit: int
) -> None:
    block = bytearray(b"".join(_cell(row, value) for row, value in rows))
    whole = _parsed([bytes(block)])
    assert not isinstance(whole, int)
    assert list(zip(whole.keys, whole.values, strict=True)) == rows
    if block:
        block[at % len(block)] ^= 1 << bit
    assert _parsed([bytes(block)]) == _parsed_slowly([bytes(block)])


ROWS = st.lists(st.binary(max_size=300), min_size=1, max_size=4)


@given(rows=ROWS, suffix=st.binary(max_size=40), cut=st.integers(0, 20))
def test_a_block_index_is_parsed_by_both_implementations(
    rows: list[bytes], suffix: bytes, cut: int
) -> None:
    block = b"".join(_entry(number, row, suffix) for number, row in enumerate(rows))
    for engine in (kernel.library(), None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "library", lambda found=engine: found)
            index = root_index(block, len(rows))
            assert index.first_rows.to_list() == rows
            assert index.offset.tolist() == [number << 40 for number in range(len(rows))]
            assert index.size.tolist() == list(range(len(rows)))
            with pytest.raises(DamagedIndexError):
                root_index(block[: -1 - cut], len(rows))


@given(
    rows=ROWS,
    damages=st.lists(st.tuples(st.integers(0), st.binary(min_size=1, max_size=5)), max_size=3),
    count=st.integers(0, 6),
)
def test_both_implementations_agree_on_a_damaged_block_index(
    rows: list[bytes], damages: list[tuple[int, bytes]], count: int
) -> None:
    block = bytearray(b"".join(_entry(number, row, b"") for number, row in enumerate(rows)))
    for at, damage in damages:
        start = at % len(block)
        block[start : start + len(damage)] = damage
    assert _indexed(bytes(block), count, None) == _indexed(bytes(block), count, kernel.library())


def _entry(number: int, row: bytes, suffix: bytes) -> bytes:
    """An entry of a root index: [i64 offset][i32 size][vint key length][key]."""
    key = len(row).to_bytes(2, "big") + row + suffix
    short = len(key) < 128
    width = (len(key).bit_length() + 7) // 8
    length = (
        bytes([len(key)]) if short else bytes([256 - 112 - width]) + len(key).to_bytes(width, "big")
    )
    return b"".join([(number << 40).to_bytes(8, "big"), number.to_bytes(4, "big"), length, key])


def _indexed(block: bytes, count: int, engine: kernel.Kernel | None) -> list[object] | None:
    """The entries, or None if they are damaged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "library", lambda: engine)
        try:
            index = root_index(block, count)
        except DamagedIndexError:
            return None
    return [index.first_rows.to_list(), index.offset.tolist(), index.size.tolist()]


def _cell(row: bytes, value: bytes) -> bytes:
    key = len(row).to_bytes(2, "big") + row + b"suffix"
    return b"".join([len(key).to_bytes(4, "big"), len(value).to_bytes(4, "big"), key, value, b"\0"])


def _parsed(blocks: Sequence[bytes]) -> cells.Cells | int:
    """The cells, or which block is damaged."""
    try:
        return cells.parse(blocks)
    except cells.DamagedBlockError as error:
        return error.block


def _parsed_slowly(blocks: Sequence[bytes]) -> cells.Cells | int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "library", lambda: None)
        return _parsed(blocks)


@given(strings=STRINGS, searched=STRINGS, skipped=st.integers(0, 3))
def test_an_index_finds_every_string(
    strings: list[bytes], searched: list[bytes], skipped: int
) -> None:
    own = pa.array(strings, pa.binary()).slice(skipped)
    lookups = pa.array([*searched, *strings], pa.binary())
    kept = strings[skipped:]
    expected = [kept.index(string) if string in kept else -1 for string in [*searched, *strings]]
    for engine in (kernel.library(), None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "library", lambda found=engine: found)
            index = StringIndex(own)
            assert index.find(lookups).tolist() == expected
            assert index.are_distinct == (len(set(kept)) == len(kept))


@pytest.fixture
def build_hook() -> ModuleType:
    """`hatch_build.py`, which is not part of the package."""
    spec = spec_from_file_location("hatch_build", Path(__file__).parents[4] / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("compiler", ["/nonexistent/cc", "false"])
def test_the_kernel_is_optional(
    compiler: str, build_hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pyhudi_expr" / "tables" / "mdt" / "bytes"
    folder.mkdir(parents=True)
    for name in ("kernel.c", "kernel.h"):
        shutil.copy(kernel.LIBRARY.with_name(name), folder)
    outdated = folder / kernel.LIBRARY.name
    outdated.write_text("of older source")
    monkeypatch.setenv("CC", compiler)
    assert build_hook.build(tmp_path) is None
    assert not outdated.exists()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_kernel_is_built_next_to_its_source(build_hook: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "pyhudi_expr" / "tables" / "mdt" / "bytes"
    folder.mkdir(parents=True)
    for name in ("kernel.c", "kernel.h"):
        shutil.copy(kernel.LIBRARY.with_name(name), folder)
    assert build_hook.build(tmp_path) == folder / kernel.LIBRARY.name
    assert ctypes.CDLL(str(folder / kernel.LIBRARY.name)).kernel_source()
