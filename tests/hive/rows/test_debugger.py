"""Hudi estimates sizes by JOL, which attaches an agent to its own process by default."""

from __future__ import annotations

import pytest

from devtools.matrix import Matrices
from devtools.tables import TableType
from tests.hive.query_results import FETCH, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive]


def test_no_process_stops_a_server_that_merges(hive: Hive, matrices: Matrices) -> None:
    name = hive.register(matrices.get(TableType.MOR).table)
    assert hive.query(f"SELECT id FROM {name} WHERE s >= 'updated_'", FETCH).rows
    printed = (hive.server.run_dir / "hiveserver2.out").read_text(errors="replace")
    assert "Serviceability Agent attach skipped" in printed
