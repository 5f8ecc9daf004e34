"""A table's lags are taken once for each state in which it was opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.service import staleness
from pyhudi_expr.service.staleness import IndexLag, Staleness, index_lags
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension import Extension


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[HudiTable]:
    """The tables whose lags were taken."""
    found: list[HudiTable] = []

    def counted(table: HudiTable, extension: Extension | None) -> tuple[IndexLag, ...]:
        found.append(table)
        return index_lags(table, extension)

    monkeypatch.setattr(staleness, "index_lags", counted)
    return found


def opened(golden: Mapping[str, Path]) -> TableSnapshot:
    return Pruner().open(str(golden["cow_v9_txns_simple_meta"]))


def test_also_of_a_table_without_lags(golden: Mapping[str, Path], taken: list[HudiTable]) -> None:
    seen, first = Staleness(), opened(golden)
    for _ in range(3):
        seen.opened("/t", first)
    assert taken == [first.table]
    second = opened(golden)
    seen.opened("/t", second)
    assert taken[1:] == [second.table]
    seen.opened("/u", second)
    assert len(taken) == 3


def test_again_after_a_callback(golden: Mapping[str, Path], taken: list[HudiTable]) -> None:
    seen, snapshot = Staleness(), opened(golden)
    seen.opened("/t", snapshot)
    seen.found("/t", (IndexLag("riders", 0, None),))
    seen.opened("/t", snapshot)
    assert len(taken) == 2
