"""`pyhudi index` through all subcommands, on a table that a metastore names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from devtools.runtime import java
from pyhudi_expr.cli.main import main
from pyhudi_expr.cli.spark_session import spark_session
from pyhudi_expr.spark.indexes import execute

pytestmark = [pytest.mark.spark, pytest.mark.long]

_METASTORE = "spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:metastore;create=true"
_HIVE = "spark.sql.catalogImplementation=hive"
_SYNCED = """
CREATE EXTERNAL TABLE trips (amount int)
ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'
WITH SERDEPROPERTIES ('path' = '{path}')
STORED AS
INPUTFORMAT 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat'
OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat'
LOCATION '{path}'
"""
"""As Hudi's sync to Hive registers tables, without properties that need Hudi on the class path."""
_COMMANDS = (
    ("create", "ranges", "--using", "column_stats", "--columns", "amount"),
    ("create", "shops", "--columns", "merchant_name", "--store", "extension", "--shards", "2"),
    ("create", "shops", "--columns", "merchant_name", "--if-not-exists"),
    ("list",),
    ("verify", "shops"),
    ("verify", "shops", "--certify"),
    ("verify", "shops", "--certify", "--spark"),
    ("refresh", "shops"),
    ("drop", "shops"),
    ("drop", "shops", "--if-exists"),
    ("create", "nothing", "--columns", "merchant_nam"),
)


def test_each_command_accepts_a_table_name_and_prints_json(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """In a separate process, because each process has one metastore."""
    path = tmp_path / "trips"
    shutil.copytree(golden["cow_v9_txns_nonpart_nometa"], path)
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.commands.test_index_with_spark", str(path)],
        env={
            **os.environ,
            "JAVA_HOME": str(java().resolve().parent.parent),
            "PYTHONPATH": os.getcwd(),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    answers = list(map(json.loads, done.stdout.splitlines()))
    ranges, shops, again, listed, verified, *certified = answers[:7]
    refreshed, dropped, after_drop, nothing, named = answers[7:]
    assert ranges["code"] == 0
    assert list(ranges["answer"]["built"]["records"]) == ["column_stats"]
    assert ranges["answer"]["built"]["notes"] == ["the table had no metadata table; one was made"]
    enabled = ranges["answer"]["built"]["writer_options"]
    assert enabled["hoodie.metadata.index.column.stats.column.list"] == "amount"
    assert shops["answer"]["built"]["name"] == "shops"
    assert set(shops["answer"]["built"]["bytes"]) == {"record_index", "secondary_index_shops"}
    assert again == {"code": 0, "answer": {"built": None}}
    states = {one["name"]: (one["store"], one["state"]) for one in listed["answer"]["indexes"]}
    assert states == {"ranges": ("hudi", "active"), "shops": ("extension", "active")}
    (found,) = verified["answer"]["partitions"]
    assert (found["partition"], found["missing"]) == ("secondary_index_shops", 0)
    assert found["checked"] > 0
    here, in_spark = [one["answer"]["certified"] for one in certified]
    keys = found["checked"]
    assert here == in_spark == {"record_index": [keys, 0], "secondary_index_shops": [keys, 0]}
    assert refreshed == {"code": 0, "answer": {"built": None}}
    assert dropped["answer"] == after_drop["answer"] == {"dropped": "shops"}
    assert nothing == {"code": 1, "answer": None}
    assert "did you mean merchant_name" in done.stderr
    assert named == ["ranges"]


def run(path: str) -> None:
    """The program of the process; prints a line for each command, and one for a statement."""
    with spark_session("tables", "local[2]", [_METASTORE, _HIVE]) as spark:
        spark.sql(_SYNCED.format(path=path))
    for command, *rest in _COMMANDS:
        given = ["index", command, "default.trips", *rest, "--conf", _METASTORE, "--json"]
        code, text = _answer([*given, "--master", "local[2]"])
        _print({"code": code, "answer": json.loads(text) if text else None})
    with spark_session("tables", "local[2]", [_METASTORE, _HIVE]) as spark:
        listed_by_sql: Any = execute(spark, "SHOW INDEXES ON default.trips")
        _print([one.name for one in listed_by_sql])


def _answer(arguments: list[str]) -> tuple[int, str]:
    answer = StringIO()
    with redirect_stdout(answer):
        code = main(arguments)
    return code, answer.getvalue()


def _print(line: object) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    run(sys.argv[1])
