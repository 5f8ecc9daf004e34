"""A look at a table serves the questions that were asked before it, and no later one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bench.tables import synthetic
from pyhudi_expr.index.known_tables import TableState
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.snapshot import TableSnapshot


@pytest.fixture
def table(tmp_path: Path) -> Path:
    synthetic.write_table(tmp_path / "table", files=20, partitions=2)
    return tmp_path / "table"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[TableSnapshot]:
    """The snapshots whose tables were looked at."""
    found: list[TableSnapshot] = []
    really_look = TableSnapshot.state_now

    def looked(snapshot: TableSnapshot) -> TableState:
        found.append(snapshot)
        return really_look(snapshot)

    monkeypatch.setattr(TableSnapshot, "state_now", looked)
    return found


def test_questions_that_were_asked_before_a_look_share_it(
    table: Path, looks: list[TableSnapshot]
) -> None:
    pruner, asked = Pruner(), time.monotonic()
    first = pruner.open(str(table), asked=asked)
    assert [pruner.open(str(table), asked=asked) for _ in range(5)] == [first] * 5
    assert not looks  # it was opened since then
    later = time.monotonic()
    assert [pruner.open(str(table), asked=later) for _ in range(5)] == [first] * 5
    assert looks == [first]


def test_a_question_that_is_asked_after_a_commit_sees_it(
    table: Path, looks: list[TableSnapshot]
) -> None:
    pruner, before = Pruner(), time.monotonic()
    first = pruner.open(str(table), asked=before)
    synthetic.add_commit(table, files=20, number=0)
    after = time.monotonic()
    assert pruner.open(str(table), asked=before) is first
    found = pruner.open(str(table), asked=after)
    assert found is not first
    assert found.table.instant != first.table.instant
    assert pruner.open(str(table), asked=before) is found
    assert pruner.open(str(table)).table.instant == found.table.instant
