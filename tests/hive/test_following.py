"""Tables in Hive that follow their Hudi table, and the commit callbacks of Hudi's writers."""

from __future__ import annotations

import http.client
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import free_port, is_listening
from devtools.tables import TableSpec, create, upsert
from pyhudi_expr.hive.following import CommitCalls, repeat
from pyhudi_expr.table.errors import HudiError
from tests.hive.adoption.adopt_command import FORMATS_OF_SYNC, OUR_BASE_FILES, SYNCED, state
from tests.hive.adoption.metastore_state import input_formats
from tests.hive.query_results import Hive

LONG = 60.0


def post(port: int, body: str = "{}", method: str = "POST") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    connection.request(method, "/", body)
    return connection.getresponse().status


def test_a_step_is_repeated_at_once_after_a_call() -> None:
    outcomes = iter((None, HudiError("the second step")))

    def step() -> None:
        if (error := next(outcomes)) is not None:
            raise error

    with CommitCalls("127.0.0.1", 0) as calls:
        assert post(calls.port) == 204
        started = time.monotonic()
        with pytest.raises(HudiError, match="the second step"):
            repeat(step, calls.wait, LONG)
        assert time.monotonic() - started < LONG / 2


def test_other_requests_are_no_calls() -> None:
    with CommitCalls("127.0.0.1", 0) as calls:
        assert post(calls.port, method="GET") == 501
        connection = http.client.HTTPConnection("127.0.0.1", calls.port, timeout=LONG)
        connection.putrequest("POST", "/")
        connection.putheader("Content-Length", str(1 << 30))
        connection.endheaders()
        assert connection.getresponse().status == 413
        started = time.monotonic()
        calls.wait(0.1)
        assert time.monotonic() - started >= 0.1


def test_a_port_that_is_taken_is_named() -> None:
    with (
        CommitCalls("127.0.0.1", 0) as calls,
        pytest.raises(HudiError, match=f"127.0.0.1:{calls.port} cannot be listened on"),
    ):
        CommitCalls("127.0.0.1", calls.port)


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
