"""How far an extension's indexes are behind, by the timeline and the coverage alone."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pyhudi_expr.service.staleness import index_lags
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension import Extension
from tests.tables.mdt.extension import example_index


@pytest.fixture
def path(golden: Mapping[str, Path], tmp_path: Path) -> str:
    """A table with the indexes `city` and `record_index` in its extension."""
    path = str(shutil.copytree(golden["cow_v9_txns_nonpart_nometa"], tmp_path / "t"))
    example_index.build(path, [("city 1", "key 1")])
    return path


def commit(path: str, requested: str, completed: str) -> None:
    timeline = Path(path, ".hoodie", "timeline")
    newest = max(timeline.glob("*commit"))
    shutil.copy(newest, timeline / f"{requested}_{completed}.commit")


def test_an_index_that_covers_the_newest_commit_does_not_lag(path: str) -> None:
    table = HudiTable.open(path)
    lags = index_lags(table, Extension.open(table))
    assert [(lag.index, lag.instants, lag.since) for lag in lags] == [
        ("city", 0, None),
        ("record_index", 0, None),
    ]
    assert lags[0].seconds(datetime.now(timezone.utc)) == 0


def test_the_lag_begins_when_the_first_uncovered_commit_completed(path: str) -> None:
    for requested, completed in (
        ("29990101000000000", "29990101000010000"),
        ("29990101000005000", "29990101000007000"),
    ):
        commit(path, requested, completed)
    table = HudiTable.open(path)
    assert table.properties.timeline_zone == "LOCAL"
    first = datetime(2999, 1, 1, 0, 0, 7).astimezone()
    for lag in index_lags(table, Extension.open(table)):
        assert (lag.instants, lag.since) == (2, first)
        assert lag.seconds(first + timedelta(seconds=90)) == 90


def test_a_table_without_an_extension_has_no_lag(golden: Mapping[str, Path]) -> None:
    table = HudiTable.open(str(golden["cow_v9_txns_nonpart_nometa"]))
    assert index_lags(table, Extension.open(table)) == ()
