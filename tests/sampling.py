"""The tests with Spark or Hive that `make test` runs."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Sequence

import pytest

_STRIDE = 5
_ENGINES = frozenset({"spark", "hive"})


def mark_further_cases(items: Sequence[pytest.Item]) -> None:
    """Mark as `further` all but every fifth case with Spark or Hive of each file.

    At least one case of each file remains, the same each time. Where the count begins differs from
    file to file, so that together they take every type of table, version and engine. Long cases are
    not counted.
    """
    files = defaultdict(list)
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if marks & _ENGINES and "long" not in marks:
            files[item.nodeid.split("::", 1)[0]].append(item)
    for name, cases in files.items():
        stride = min(_STRIDE, len(cases))
        first = zlib.crc32(name.encode()) % stride
        for number, case in enumerate(cases):
            if number % stride != first:
                case.add_marker(pytest.mark.further)
