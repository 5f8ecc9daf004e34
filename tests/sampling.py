"""The tests with Spark or Hive that `make test` runs."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Sequence
from enum import Enum

import pytest

_STRIDE = 16
_ENGINES = frozenset({"spark", "hive"})
_ELSEWHERE = frozenset({"long", "containers", "cluster", "engines"})
"""Marks of tests that `make test` never runs."""
_LIVES = frozenset(
    f"tests/{name}.py"
    for name in (
        "devtools/test_tables",
        "hive/adoption/test_many_tables",
        "hive/queries/test_concurrency",
        "index/prune/changes/test_incremental",
        "index/prune/changes/test_long_lived_pruner",
        "index/prune/changes/test_table_services",
        "index/prune/tables/test_expression_indexes",
        "index/prune/tables/test_key_indexes",
        "spark/builds/test_catch_up",
        "spark/builds/test_composite_indexes",
        "spark/builds/test_index_follow",
        "spark/builds/test_random_histories",
        "spark/extension/test_changes",
        "spark/extension/test_hudi_scenarios",
        "spark/extension/test_two_writers",
        "spark/s3/test_every_death",
    )
)
"""Files whose cases each write a table of their own in many commits, so that one of them takes as
long as a hundred others. Of such tests the random histories of `tests/index/prune` remain."""

_Table = frozenset[tuple[str, str]]


def mark_further_cases(items: Sequence[pytest.Item]) -> None:
    """Mark as `further` all but a sixteenth of the cases with Spark or Hive of each file.

    Of files that write few tables at least one case remains, the same each time. Where the count
    begins differs from file to file. Writing a table takes longer than most cases, so a file takes
    its cases from the kinds of tables that files before it have written, and from another kind only
    if it has no case of those. Cases of other targets are not counted.
    """
    files = defaultdict(list)
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if marks & _ENGINES and not marks & _ELSEWHERE:
            files[item.nodeid.split("::", 1)[0]].append(item)
    written: set[_Table] = set()
    for name, cases in sorted(files.items()):
        first = zlib.crc32(name.encode())
        kept = frozenset[pytest.Item]() if name in _LIVES else _sample(cases, first, written)
        written.update(map(_table, kept))
        for case in cases:
            if case not in kept:
                case.add_marker(pytest.mark.further)


def _sample(
    cases: Sequence[pytest.Item], first: int, written: set[_Table]
) -> frozenset[pytest.Item]:
    """Every sixteenth case of those whose tables have been written, or of one kind of table."""
    wanted = -(-len(cases) // _STRIDE)
    candidates = [case for case in cases if _table(case) in written]
    if not candidates:
        kind = _table(cases[first % len(cases)])
        candidates = [case for case in cases if _table(case) == kind]
    stride = max(1, len(candidates) // wanted)
    return frozenset(candidates[first % stride :: stride][:wanted])


def _table(case: pytest.Item) -> _Table:
    """What a case's parameters say of its table: its type, version and partitions."""
    parameters = case.callspec.params if hasattr(case, "callspec") else {}
    return frozenset(
        (name, str(value))
        for name, value in parameters.items()
        if isinstance(value, Enum) or name == "version"
    )
