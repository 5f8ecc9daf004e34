"""Tables in Hive that follow their Hudi table."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import free_port, is_listening
from devtools.tables import TableSpec, create, upsert
from tests.hive.adoption.adopt_command import FORMATS_OF_SYNC, OUR_BASE_FILES, SYNCED, state
from tests.hive.adoption.metastore_state import input_formats
from tests.hive.query_results import Hive


@contextmanager
def following(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`pyhudi hive ... --follow` until the end of the block."""
    command = [sys.executable, "-m", "pyhudi_expr.cli", "hive", *arguments, "--follow"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """What it prints up to a line with the text."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"{text!r} was not printed: {seen}")


@pytest.mark.smoke
@pytest.mark.spark
@pytest.mark.hive
def test_a_registered_table_follows_the_columns_at_hudis_commit_callback(
    hive: Hive, spark: SparkSession, table_root: Path
) -> None:
    port = free_port()
    callback = {
        "hoodie.write.commit.callback.on": "true",
        "hoodie.write.commit.callback.http.url": f"http://127.0.0.1:{port}/",
    }
    spec = TableSpec("followed_by_calls")
    table = create(spark.range(0, 4, 1, 1).selectExpr("id", "int(id) AS a"), spec, table_root)
    server = ("--hs2", f"127.0.0.1:{hive.server.port}", "--auth", "NOSASL")
    options = ("--every", "3600", "--callback", f"127.0.0.1:{port}")
    with following("register", str(table.path), *server, *options) as process:
        read_until(process, "commit callbacks")
        assert is_listening(port)
        wider = spark.range(3, 6, 1, 1).selectExpr("id", "int(id) AS a", "nullif('new', '') AS b")
        upsert(replace(table, spec=replace(spec, extra=callback)), wider)
        assert "ADD COLUMNS" in read_until(process, "ADD COLUMNS")
        read_until(process, "registered")
    query = "SELECT id, b FROM followed_by_calls WHERE id >= 2"
    assert hive.query_both_ways(query).rows == [(2, None), (3, "new"), (4, "new"), (5, "new")]


@pytest.mark.hive
def test_following_goes_on_after_a_failure(
    hive: Hive, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "table"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    other = shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "other")
    server = ("--hs2", f"127.0.0.1:{hive.server.port}", "--auth", "NOSASL", "--every", "0.2")
    with following("register", str(path), "--name", "followed_on", *server) as process:
        read_until(process, "registered")
        path.rename(tmp_path / "away")
        read_until(process, "no Hudi table here")
        other.rename(path)
        read_until(process, "DROP TABLE")
        read_until(process, "registered")


@pytest.mark.hive
def test_a_table_that_the_sync_sets_back_is_adopted_again(
    hive: Hive, golden: Mapping[str, Path]
) -> None:
    path, name = golden["cow_v9_txns_nonpart_nometa"], "default.set_back"
    hive.run(SYNCED.format(name=name, path=path))
    server = ("--hs2", f"127.0.0.1:{hive.server.port}", "--auth", "NOSASL", "--every", "0.2")
    with following("adopt", name, *server) as process:
        read_until(process, "adopted")
        assert input_formats(state(hive, name)) == {"": OUR_BASE_FILES}
        hive.run(f"ALTER TABLE {name} SET FILEFORMAT {FORMATS_OF_SYNC}")
        read_until(process, "adopted")
        assert input_formats(state(hive, name)) == {"": OUR_BASE_FILES}
