"""What makes Hive delete or move a table's files is refused for Hudi tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.hive.query_results import Hive
from tests.hive.statements.kept_files import (
    CASES,
    WRITES,
    Case,
    drop_database_around,
    drops_databases,
    kept,
    refusal,
    run_case,
)

pytestmark = pytest.mark.hive


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_byte_of_the_table_changes(
    hive: Hive, golden: Mapping[str, Path], tmp_path: Path, case: Case
) -> None:
    with kept(hive, golden["cow_v9_txns_simple_meta"], tmp_path) as table:
        run_case(hive, table, case)


@pytest.mark.parametrize("write", WRITES)
def test_writes_are_refused(
    hive: Hive, golden: Mapping[str, Path], tmp_path: Path, write: str
) -> None:
    with kept(hive, golden["cow_v9_txns_simple_meta"], tmp_path) as table:
        assert refusal(hive, write.format(t=table))


@pytest.mark.smoke
def test_a_database_around_the_table_stays(
    hive: Hive, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    if not drops_databases(hive):
        pytest.skip("no DROP DATABASE without spring-jdbc: `make runtime` fetches it")
    drop_database_around(hive, golden["cow_v9_txns_simple_meta"], tmp_path)
