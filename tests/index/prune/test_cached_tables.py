"""Which tables a pruner keeps in memory between questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.tables.synthetic import write_table
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    for name in "abc":
        write_table(tmp_path / name, files=6, partitions=2)
    return [str(tmp_path / name) for name in "abc"]


def request(sql: str) -> PruneRequest:
    return PruneRequest(parse_predicate(sql))


def test_the_memory_of_a_table_counts_what_its_questions_have_read(tables: list[str]) -> None:
    pruner = Pruner()
    for sql in ("id = 1", "id = 1 AND spread = 1", "id = 2"):
        pruner.prune(tables[0], request(sql))
        snapshot = pruner.open(tables[0])
        assert pruner.held() == (1, snapshot.nbytes)


def test_beyond_the_memory_limit_the_least_recently_used_table_is_forgotten(
    tables: list[str],
) -> None:
    one = Pruner()
    one.prune(tables[0], request("id = 1"))
    pruner = Pruner(PruneOptions(cache_bytes=one.held()[1] * 5 // 2))
    kept = [pruner.open(table) for table in tables[:2]]
    for table in (tables[1], tables[0], tables[2]):
        pruner.prune(table, request("id = 1"))
    assert pruner.held() == (2, 2 * one.held()[1])
    assert pruner.open(tables[0]) is kept[0]
    assert pruner.open(tables[1]) is not kept[1]


def test_a_table_that_grows_beyond_the_limit_makes_others_forgotten(tables: list[str]) -> None:
    whole = Pruner()
    whole.prune(tables[0], request("id = 1 AND spread = 1 AND amount = 1"))
    pruner = Pruner(PruneOptions(cache_bytes=whole.held()[1] * 3 // 2))
    for table in tables[:2]:
        pruner.open(table)
    assert pruner.held()[0] == 2
    pruner.prune(tables[1], request("id = 1 AND spread = 1 AND amount = 1"))
    assert pruner.held()[0] == 1
