"""Indexes of the extension that follow Hudi's writers: commit, callback, refresh, pruning."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.runtime import free_port
from devtools.tables import HudiTable, TableSpec, create, upsert
from pyhudi_expr import scan
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable as OpenTable
from tests.index.prune.matching_slices import INDEXES_ALONE, read
from tests.service.service_process import Process

pytestmark = pytest.mark.spark

PATIENCE = 120.0
_LATE = "city = 'late'"


@pytest.fixture
def table(spark: SparkSession, table_root: Path, request: pytest.FixtureRequest) -> HudiTable:
    """Eight files, and a secondary index in the extension."""
    name = f"followed_{request.node.originalname}"
    spec = TableSpec(name, stats_columns=None, extra={"hoodie.table.timeline.timezone": "UTC"})
    made = create(rows(spark, "true", "'c' || id div 4"), spec, table_root)
    execute(
        spark,
        f"CREATE INDEX cities ON '{made.uri}' (city) OPTIONS (store = 'extension', shards = '1')",
    )
    return made


def rows(spark: SparkSession, where: str, city: str) -> DataFrame:
    """Ids from 0 to 79, ten in a file. Files are larger than their indexes."""
    filler = "concat_ws('', transform(sequence(1, 1000), x -> md5(cast(id * 1000 + x as string))))"
    return spark.sql(
        f"SELECT id, {city} AS city, {filler} AS filler FROM range(0, 80, 1, 8) WHERE {where}"
    )


def pruned(table: HudiTable, text: str) -> PruneResult:
    return Pruner(INDEXES_ALONE).prune(table.uri, PruneRequest(parse_predicate(text)))


def written_with_callback(table: HudiTable, frame: DataFrame, port: int, **more: str) -> None:
    callback = {
        **table.spec.extra,
        "hoodie.write.commit.callback.on": "true",
        "hoodie.write.commit.callback.http.url": f"http://127.0.0.1:{port}/",
        **{f"hoodie.write.commit.callback.http.{name}": value for name, value in more.items()},
    }
    upsert(replace(table, spec=replace(table.spec, extra=callback)), frame)


def wait_until_current(table: HudiTable) -> None:
    end = time.monotonic() + PATIENCE
    while {one.state for one in index_statuses(OpenTable.open(table.uri))} != {State.ACTIVE}:
        assert time.monotonic() < end
        time.sleep(0.1)


def assert_no_row_is_lost(spark: SparkSession, table: HudiTable, text: str) -> None:
    """Without pruning Spark reads and filters each file."""
    expected = sorted(row.id for row in read(spark, table.uri).where(text).select("id").collect())
    assert expected
    found = scan(table.uri, text, ["id"]).to_table().column("id").to_pylist()
    assert sorted(found) == expected


def test_a_commit_refreshes_the_index_by_hudis_callback_to_the_service(
    spark: SparkSession, table: HudiTable, tmp_path: Path
) -> None:
    port, token = free_port(), tmp_path / "token"
    token.write_text("a token of the tests")
    service = Process(
        tmp_path,
        callback_address=f"127.0.0.1:{port}",
        table_roots=[str(table.path.parent)],
        token_file=str(token),
        refresh_options=["--master", "local[1]"],
    )
    try:
        key = {"api.key": token.read_text()}
        written_with_callback(table, rows(spark, "id in (12, 61)", "'late'"), port, **key)
        behind = service.wait_for_log("index refresh", table=table.uri)
        assert behind["behind"] == 1
        wait_until_current(table)
        assert pruned(table, _LATE).files_kept == 2
        assert_no_row_is_lost(spark, table, _LATE)
        lag = f"{{cities}}{{{table.uri}}}"
        with PruningClient(port=service.port, timeout=PATIENCE, token=token.read_text()) as client:
            answer = client.prune(table.uri, parse_predicate(_LATE))
        assert answer.counts is not None
        assert answer.counts.filesConsidered - answer.counts.filesDropped == 2
        assert service.metrics()[f"pyhudi_index_lag_instants{lag}"] == 0
        assert service.metrics()[f"pyhudi_index_lag_seconds{lag}"] == 0

        # Another commit, whose callback does not show the token.
        written_with_callback(table, rows(spark, "id = 33", "'late'"), port)
        with PruningClient(port=service.port, timeout=PATIENCE, token=token.read_text()) as client:
            client.prune(table.uri, parse_predicate(_LATE))
        assert service.metrics()[f"pyhudi_index_lag_instants{lag}"] == 1
        assert 0 < service.metrics()[f"pyhudi_index_lag_seconds{lag}"] < PATIENCE
        assert service.metrics()["pyhudi_index_refreshes_total{refreshed}"] == 1
        assert_no_row_is_lost(spark, table, _LATE)
    finally:
        service.kill()


@contextmanager
def following(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`pyhudi index follow` until the end of the block."""
    command = [sys.executable, "-m", "pyhudi_expr.cli", "index", "follow", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.mark.long
def test_the_command_refreshes_at_its_start_and_after_each_callback(
    spark: SparkSession, table: HudiTable
) -> None:
    upsert(table, rows(spark, "id = 5", "'late'"))
    port = free_port()
    options = ("--every", "3600", "--callback", f"127.0.0.1:{port}", "--master", "local[1]")
    with following(table.uri, *options) as process:
        wait_until_current(table)
        assert pruned(table, _LATE).files_kept == 1
        assert process.stderr is not None
        assert "commit callbacks" in process.stderr.readline()
        written_with_callback(table, rows(spark, "id = 77", "'late'"), port)
        wait_until_current(table)
    assert pruned(table, _LATE).files_kept == 2
    assert_no_row_is_lost(spark, table, _LATE)
