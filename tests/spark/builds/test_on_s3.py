"""Indexes of a table on S3 are built, verified, refreshed and dropped as on a local disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.s3.server import S3Server
from pyhudi_expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.prune import Pruner, PruneRequest
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.storage import OPTIONS_VARIABLE, Storage
from tests.stored_files import StoredFiles

pytestmark = [pytest.mark.spark, pytest.mark.s3]

_TABLE = "cow_v9_timebasedkeygen_nonhivestyle"
_PREDICATES = ("account_id = 'ACC002'", "txn_id = 'TXN001'", "amount > 100", "account_id IS NULL")


@pytest.fixture
def options(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The server's address and keys as storage options: Spark's workers have started before."""
    options = s3_server.storage_options()
    monkeypatch.setenv(OPTIONS_VARIABLE, json.dumps(options))
    return options


@pytest.fixture
def table(golden: Mapping[str, Path], s3_bucket: str, options: Mapping[str, str]) -> str:
    uri = f"s3a://{s3_bucket}/table"
    StoredFiles.of_directory(golden[_TABLE]).restore(Storage.open(uri))
    return uri


def kept(table: str) -> list[list[str]]:
    return [
        Pruner().prune(table, PruneRequest(parse_predicate(predicate))).kept_paths()
        for predicate in _PREDICATES
    ]


@pytest.mark.parametrize("store", ["hudi", "extension"])
def test_an_index_is_built_verified_and_dropped(
    spark: SparkSession, table: str, store: str
) -> None:
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
