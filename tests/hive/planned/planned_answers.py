"""Rows and plans of queries that keys restrict, compared with those of other plans."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

import pytest
from _pytest.mark.structures import ParameterSet

from tests.hive.planned.conftest import FILES
from tests.hive.query_results import TEZ, Answer, Hive

WAITING = {"hudi.pruning.joins.planned": "false"}
SHUFFLE = {"hive.auto.convert.join": "false"}
_NONE: dict[str, str] = {}


def same_rows(hive: Hive, query: str, settings: dict[str, str] = _NONE) -> Answer:
    """The answer by planned keys; its rows are those of every other plan."""
    everything = hive.query(query, TEZ, pruning=False, settings=settings)
    waited = hive.query(query, TEZ, settings={**settings, **WAITING})
    answer = hive.query(query, TEZ, settings=settings)
    assert answer.rows == waited.rows == everything.rows, query
    return answer


def explained(hive: Hive, query: str, settings: dict[str, str] = _NONE) -> str:
    """Hive's plan as a text."""
    rows = hive.query(f"EXPLAIN {query}", TEZ, settings=settings).rows
    return "\n".join(str(row[0]) for row in rows)


def reads(plan: str) -> list[int]:
    """How many files of the fact its scans read, as EXPLAIN says."""
    return sorted(int(n) for n in re.findall(rf"reads (\d+) of {FILES} files", plan))


def cases(named: Mapping[str, object], soon: Set[str]) -> list[ParameterSet]:
    """All of them, of which `make test` runs some."""
    return [
        pytest.param(case, id=name, marks=[] if name in soon else [pytest.mark.long])
        for name, case in named.items()
    ]
