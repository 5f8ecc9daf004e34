"""`pyhudi hive adopt`, and what becomes of Hive's tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from devtools.hiveserver import HUDI_INPUT_FORMAT_SETTINGS
from pyhudi_expr.cli.main import main
from tests.hive.adoption.metastore_state import State, metastore_state
from tests.hive.query_results import Hive, Rows

OUR_BASE_FILES, OUR_MERGED = "HudiCopyOnWriteInputFormat", "HudiMergeOnReadInputFormat"
HUDI_BASE_FILES, HUDI_MERGED = "HoodieParquetInputFormat", "HoodieParquetRealtimeInputFormat"
FORMATS_OF_SYNC = (
    f"INPUTFORMAT 'org.apache.hudi.hadoop.{HUDI_BASE_FILES}'"
    " OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat'"
    " SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'"
)
SYNCED = (
    "CREATE EXTERNAL TABLE {name} (`txn_id` string, `amount` decimal(15,2)) ROW FORMAT SERDE"
    " 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' STORED AS INPUTFORMAT"
    f" 'org.apache.hudi.hadoop.{HUDI_BASE_FILES}' OUTPUTFORMAT"
    " 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat' LOCATION '{path}'"
)
"""Registers a golden table as Hudi's sync does, but for most of its columns."""

Adopt = Callable[..., list[Mapping[str, Any]]]
"""The command with its arguments, and `code`, the expected exit code: what it reports of tables."""


def adopt_in(hive: Hive, capsys: pytest.CaptureFixture[str]) -> Adopt:
    """The command with a HiveServer2."""
    options = ["--hs2", f"127.0.0.1:{hive.server.port}", "--auth", "NOSASL", "--json"]

    def adopt(*arguments: str, code: int = 0) -> list[Mapping[str, Any]]:
        capsys.readouterr()
        found = main(["hive", "adopt", *arguments, *options])
        captured = capsys.readouterr()
        assert found == code, captured.out + captured.err
        tables: list[Mapping[str, Any]] = json.loads(captured.out)["tables"]
        return tables

    return adopt


def state(hive: Hive, name: str) -> State:
    """What the metastore holds."""
    with hive.server.session() as session:
        return metastore_state(session, name)


def outcomes(reported: list[Mapping[str, Any]]) -> dict[str, str]:
    """What has become of each table, by its name without the database."""
    return {each["table"].partition(".")[2]: each["outcome"] for each in reported}


def rows_by_hudi(hive: Hive, query: str) -> Rows:
    """The rows by Hudi's own input formats, which fail in vectorised queries."""
    return hive.query(query, settings=HUDI_INPUT_FORMAT_SETTINGS).rows
