"""Statements take the lock that the session's settings name, as Hudi's own statements do."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.locks import DIRECTORY, PROVIDER, WAIT, LockNotAcquired, UnknownLock
from pyhudi_expr.tables.process_owner import this_process
from tests.tables.directory_contents import contents

pytestmark = pytest.mark.spark


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    return tmp_path / "table"


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session with settings of its own."""
    return spark.newSession()


def test_a_lock_that_cannot_be_taken_is_refused(session: SparkSession, table: Path) -> None:
    before = contents(table)
    session.sql(f"SET {PROVIDER}=org.example.ZookeeperBasedLockProvider")
    for statement in ("CREATE INDEX i ON '{}' (merchant_name)", "DROP INDEX merchant_idx ON '{}'"):
        with pytest.raises(UnknownLock, match=r"org\.example\.ZookeeperBasedLockProvider"):
            execute(session, statement.format(table))
    assert contents(table) == before


@pytest.mark.smoke
def test_the_lock_path_and_time_out_come_from_the_settings(
    session: SparkSession, table: Path, tmp_path: Path
) -> None:
    session.sql(f"SET {DIRECTORY}={tmp_path}/locks")
    session.sql(f"SET {WAIT}=100")
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks/lock").write_text(json.dumps(this_process()))
    with pytest.raises(LockNotAcquired, match=f"{tmp_path}/locks/lock for 0.1 s"):
        execute(session, f"DROP INDEX merchant_idx ON '{table}'")
    (tmp_path / "locks/lock").unlink()
    execute(session, f"DROP INDEX merchant_idx ON '{table}'")
    assert list((tmp_path / "locks").iterdir()) == []
