"""Indexes of a table on S3 are built, verified, refreshed and dropped as on a local disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.s3.proxy import RecordingProxy
from devtools.s3.server import S3Server
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import (
    OPTIONS_VARIABLE,
    Storage,
    set_storage_options,
    using_storage_options,
)
from tests.stored_files import StoredFiles

pytestmark = [pytest.mark.spark, pytest.mark.s3]

_TABLE = "cow_v9_timebasedkeygen_nonhivestyle"
_PREDICATES = ("account_id = 'ACC002'", "txn_id = 'TXN001'", "amount > 100", "account_id IS NULL")


@contextmanager
def of_process(options: Mapping[str, str]) -> Iterator[None]:
    """Sets them for the process: Spark's workers have started before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OPTIONS_VARIABLE, "")
        set_storage_options(options)
        yield


GiveOptions = Callable[[Mapping[str, str]], AbstractContextManager[None]]


@pytest.fixture
def table(golden: Mapping[str, Path], s3_server: S3Server, s3_bucket: str) -> str:
    uri = f"s3a://{s3_bucket}/table"
    storage = Storage.open(uri, s3_server.storage_options())
    StoredFiles.of_directory(golden[_TABLE]).restore(storage)
    return uri


def kept(table: str) -> list[list[str]]:
    return [
        Pruner().prune(table, PruneRequest(parse_predicate(predicate))).kept_paths()
        for predicate in _PREDICATES
    ]


@pytest.mark.parametrize(
    ("store", "give"), [("hudi", of_process), ("extension", using_storage_options)]
)
def test_an_index_is_built_verified_and_dropped(
    spark: SparkSession, s3_server: S3Server, table: str, store: str, give: GiveOptions
) -> None:
    with give(s3_server.storage_options()):
        _build_verify_and_drop(spark, table, store)


def test_options_of_an_opened_table_reach_the_tasks(
    spark: SparkSession, s3_server: S3Server, table: str
) -> None:
    options = s3_server.storage_options()
    statement = f"CREATE INDEX accounts ON '{table}' USING secondary_index (account_id)"
    execute(spark, statement, storage_options=options)
    opened = HudiTable.open(table, options)
    (status,) = [one for one in index_statuses(opened) if one.name == "accounts"]
    assert all(found.is_right for found in verify(spark, opened, status))


@pytest.mark.smoke
def test_a_build_reads_data_files_by_ranges_alone(
    spark_on_s3: SparkSession, s3_proxy: RecordingProxy, table: str
) -> None:
    with s3_proxy.recording() as recording:
        execute(
            spark_on_s3,
            f"CREATE INDEX accounts ON '{table}' USING secondary_index (account_id)"
            " OPTIONS (store = 'extension')",
        )
    of_data = [
        one
        for one in recording.requests
        if one.path.endswith(".parquet") and "/.hoodie/" not in one.path
    ]
    assert {one.method for one in of_data} == {"GET"}, recording.summary()
    assert all(one.range for one in of_data)


def _build_verify_and_drop(spark: SparkSession, table: str, store: str) -> None:
    before = kept(table)
    built = execute(
        spark,
        f"CREATE INDEX accounts ON '{table}' USING secondary_index (account_id)"
        f" OPTIONS (store = '{store}')",
    )
    assert built is not None
    opened = HudiTable.open(table)
    (status,) = [one for one in index_statuses(opened) if one.name == "accounts"]
    for found in verify(spark, opened, status):
        assert (found.missing, found.superfluous, found.different) == (0, 0, 0)
    with_index = kept(table)
    for files, now in zip(before, with_index, strict=True):
        assert set(now) <= set(files)
    assert execute(spark, f"REFRESH INDEX accounts ON '{table}'") is None
    execute(spark, f"DROP INDEX accounts ON '{table}'")
    assert kept(table) == before
    assert not any(".tmp" in entry.name for entry in Storage.open(table).list(recursive=True))
