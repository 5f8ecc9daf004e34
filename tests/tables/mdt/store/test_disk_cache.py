"""The disk cache: entries are found again, never confused, and limited in size."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache, Identity

IDENTITY = Identity("file:/t/base.hfile", 10, 1, "aa", "statistics 1 c")
TABLE = pa.table({"key": ["a", "b", None], "value": [1, None, 3]})
OTHER = pa.table({"text": pa.array(["x", "x"]).dictionary_encode()})


class Builder:
    """Builds tables, and counts its calls."""

    def __init__(self, *tables: pa.Table) -> None:
        self.tables = tables or (TABLE, OTHER)
        self.calls = 0

    def __call__(self) -> Iterator[pa.Table]:
        self.calls += 1
        yield from self.tables


def cached(directory: Path, identity: Identity = IDENTITY) -> Builder:
    """Reads through a new cache object, as another process would, and checks the result."""
    build = Builder()
    assert DiskCache(directory, 1 << 20).tables(identity, build) == [TABLE, OTHER]
    return build


def only_file(directory: Path) -> Path:
    (found,) = directory.iterdir()
    return found


def test_a_cached_table_is_found_again(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "directory"
    assert cached(directory).calls == 1
    assert cached(directory).calls == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"file": "file:/u/base.hfile"},
        {"size": 11},
        {"modified_ns": 2},
        {"tail": "ab"},
        {"content": "statistics 1 d"},
    ],
)
def test_another_file_is_another_table(tmp_path: Path, changed: dict[str, object]) -> None:
    cached(tmp_path)
    assert cached(tmp_path, replace(IDENTITY, **changed)).calls == 1
    assert cached(tmp_path).calls == 0


def test_a_cache_file_with_a_wrong_name_is_not_used(tmp_path: Path) -> None:
    cached(tmp_path)
    first = only_file(tmp_path)
    other = replace(IDENTITY, size=11)
    cached(tmp_path, other)
    (second,) = set(tmp_path.iterdir()) - {first}
    second.write_bytes(first.read_bytes())
    assert cached(tmp_path, other).calls == 1
    assert cached(tmp_path, other).calls == 0


@given(data=st.data())
def test_a_damaged_cache_file_is_detected_and_replaced(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("cache")
    cached(directory)
    file = only_file(directory)
    content = bytearray(file.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    cached(directory)
    assert cached(directory).calls == 0


def test_the_least_recently_used_table_is_evicted_first(tmp_path: Path) -> None:
    cached(tmp_path)
    size = only_file(tmp_path).stat().st_size
    (tmp_path / "notes.txt").write_text("not a cache file" * size)
    cache = DiskCache(tmp_path, 2 * size + 100)
    second, third = (replace(IDENTITY, size=number) for number in (11, 12))
    cache.tables(second, Builder())
    cache.tables(IDENTITY, Builder())
    cache.tables(third, Builder())
    assert len(list(tmp_path.iterdir())) == 3
    assert cached(tmp_path).calls == 0
    assert cached(tmp_path, third).calls == 0
    assert cached(tmp_path, second).calls == 1


def test_an_unusable_directory_only_disables_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert cached(tmp_path / "file" / "cache").calls == 1


def test_cached_tables_are_memory_mapped(tmp_path: Path) -> None:
    size = 1 << 22
    table = pa.table({"value": np.zeros(size // 8, np.int64)})
    cache = DiskCache(tmp_path, 1 << 30)
    before = pa.total_allocated_bytes()
    fresh = cache.tables(IDENTITY, Builder(table))
    again = cache.tables(IDENTITY, Builder())
    assert fresh == again == [table]
    assert pa.total_allocated_bytes() - before < size


def test_a_failed_build_is_not_cached(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.Table]:
        yield TABLE
        raise CorruptFile("base.hfile", "damaged")

    with pytest.raises(CorruptFile):
        DiskCache(tmp_path, 1 << 20).tables(IDENTITY, failing)
    assert not list(tmp_path.iterdir())


def test_tables_too_large_for_the_cache_are_used_uncached(tmp_path: Path) -> None:
    build = Builder()
    assert DiskCache(tmp_path, 10).tables(IDENTITY, build) == [TABLE, OTHER]
    assert build.calls == 1
    assert not list(tmp_path.iterdir())
