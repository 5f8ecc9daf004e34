"""A table whose files were moved: queries have all rows, or say at once what is wrong."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from pyhudi_expr.manage.hive.session import QueryError
from pyhudi_expr.tables.hudi_names import METADATA_DIR, PROPERTIES_FILE
from tests.hive.query_results import FETCH, MR, Hive

pytestmark = pytest.mark.hive

HUDIS_RETRIES = 5.0
"""The seconds for which Hudi looks for the properties of a table again."""


@pytest.fixture(scope="module")
def moved(
    hive: Hive, golden: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A table in Hive whose `.hoodie` was moved away."""
    root = tmp_path_factory.mktemp("moved")
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], root / "table")
    hive.run(create_with_handler("moved", path))
    assert hive.query("SELECT txn_id FROM moved WHERE region = 'us'").rows
    (path / ".hoodie").rename(root / "away")
    yield "moved"
    hive.run("DROP TABLE moved")


@pytest.mark.smoke("SELECT txn_id FROM {} WHERE region = 'us'-fetch")
@pytest.mark.parametrize("engine", [FETCH, MR])
@pytest.mark.parametrize(
    "query", ["SELECT txn_id FROM {}", "SELECT txn_id FROM {} WHERE region = 'us'"]
)
def test_a_scan_fails_clearly_and_at_once(hive: Hive, moved: str, query: str, engine: str) -> None:
    begin = time.monotonic()
    with pytest.raises(QueryError) as caught:
        hive.query(query.format(moved), engine)
    assert "is not in a Hudi table" in str(caught.value)
    assert time.monotonic() - begin < 2 * HUDIS_RETRIES


@pytest.mark.smoke
def test_another_file_among_the_lists_of_files_loses_no_row(
    hive: Hive, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """Of two file groups, Hudi looks for a partition in one."""
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    hive.run(create_with_handler("misplaced", path))
    rows = hive.query("SELECT txn_id FROM misplaced").rows
    lists = path / METADATA_DIR / "files"
    file = next(lists.glob("files-0000-0_*.hfile"))
    shutil.copy(file, lists / file.name.replace("files-0000-0", "col-stats-0000-0"))
    try:
        assert hive.query("SELECT txn_id FROM misplaced").rows == rows
    finally:
        hive.run("DROP TABLE misplaced")


@pytest.mark.smoke
def test_a_table_with_the_properties_of_its_metadata_table_is_not_empty(
    hive: Hive, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    hive.run(create_with_handler("mistaken", path))
    shutil.copy(path / METADATA_DIR / PROPERTIES_FILE, path / PROPERTIES_FILE)
    try:
        with pytest.raises(QueryError, match="is that of a metadata table"):
            hive.query("SELECT txn_id FROM mistaken")
    finally:
        hive.run("DROP TABLE mistaken")
