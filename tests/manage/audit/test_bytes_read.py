"""Where footers suffice, nothing but the metadata and footers is read."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.changes import partitions
from pyhudi_expr.tables.storage import Storage
from tests.manage.audit.living_rows import BLOOMS
from tests.manage.audit.living_table import LivingTable

Ranges = dict[str, list[tuple[int, int]]]


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> Ranges:
    """The ranges of bytes that are read of each Parquet file."""
    found: Ranges = defaultdict(list)
    open_input = Storage.open_input

    def recording(self: Storage, path: str, size: int | None = None) -> Any:
        source = open_input(self, path, size)
        if not path.endswith(".parquet"):
            return source
        return pa.PythonFile(_Recorded(source, found[path]), mode="r")

    monkeypatch.setattr(Storage, "open_input", recording)
    return found


class _Recorded:
    """A file that notes what is read of it."""

    def __init__(self, source: pa.NativeFile, ranges: list[tuple[int, int]]) -> None:
        self._source, self._ranges = source, ranges
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        start = self._source.tell()
        content = self._source.read(None if size < 0 else size)
        self._ranges.append((start, start + len(content)))
        return content

    def seek(self, position: int, whence: int = 0) -> int:
        return self._source.seek(position, whence)

    def tell(self) -> int:
        return self._source.tell()

    def size(self) -> int:
        return self._source.size()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._source.close()
        self.closed = True


_OF_FILES = frozenset({"files", COLUMN_STATS, PARTITION_STATS, BLOOMS})


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> LivingTable:
    """Files of megabytes, most of it in a column without statistics. Floats have none either: the
    footers of this writer do not say whether there is NaN."""
    path = tmp_path_factory.mktemp("large") / "table"
    measured = ("id", "name", "intField", "amount", "born", "_hoodie_record_key")
    found = LivingTable(path, Random(5), measured=measured, padding=100_000)
    found.begin({"a": [range(20), range(20, 40)], "b": [range(40, 60)]})
    opened = found.open()
    others = [*opened.properties.metadata_partitions - _OF_FILES]
    partitions.drop(opened, others, TableLock(opened.storage))
    return found


def test_statistics_lists_and_filters_are_checked_by_footers(
    large: LivingTable, ranges: Ranges
) -> None:
    found = audit(large.open(), AuditOptions())
    assert found.findings == ()
    assert found.checked == tuple(f"hudi {name}" for name in sorted(_OF_FILES))
    assert len(ranges) == len(large.groups)
    for path, read in ranges.items():
        file = large.path / path
        assert sum(stop - start for start, stop in read) < file.stat().st_size / 10
        assert min(start for start, _ in read) > file.stat().st_size / 2


def test_only_lists_and_base_files_keys_are_read_of_a_table_without_indexes(
    table: LivingTable, ranges: Ranges
) -> None:
    opened = table.open()
    names = [*opened.properties.metadata_partitions - {"files"}]
    partitions.drop(opened, names, TableLock(opened.storage))
    assert audit(table.open(), AuditOptions()).checked == ("hudi files",)
    # Whether rows store their keys is read from footers: one request for each of these small files.
    assert all(path.endswith(".parquet") for path in ranges)
    assert all(len(read) == 1 for read in ranges.values())
