"""No sequence of DDL statements deletes or moves a byte of a Hudi table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.example_counts import examples
from tests.hive.query_results import Hive
from tests.hive.statements.kept_files import drops_databases
from tests.hive.statements.random_statements import run_lives

pytestmark = pytest.mark.hive


@pytest.mark.smoke
def test_random_statements_leave_the_directory_as_it_is(
    hive: Hive,
    metastore: str,
    golden: Mapping[str, Path],
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> None:
    if not drops_databases(hive):
        pytest.skip("no DROP DATABASE without spring-jdbc: `make runtime` fetches it")
    version = pytestconfig.getoption("--hive")
    run_lives(hive, metastore, version, golden["cow_v9_txns_simple_meta"], tmp_path, examples(8))
