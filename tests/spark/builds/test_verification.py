"""Verification finds wrong index entries by comparing them with the files."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pyhudi_expr.index.catalog.status import index_status
from pyhudi_expr.spark.builds.verification import Verification, verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA

pytestmark = pytest.mark.spark

Records = dict[bytes, bytes]


@pytest.mark.smoke
def test_wrong_entries_are_reported(
    spark: SparkSession, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "table"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    options = "OPTIONS (store = 'extension', shards = 1)"
    execute(spark, f"CREATE INDEX keys ON '{path}' USING record_index {options}")
    execute(spark, f"CREATE INDEX shops ON '{path}' (merchant_name) {options}")
    execute(spark, f"CREATE INDEX ranges ON '{path}' USING column_stats(amount) {options}")
    for name in ("keys", "shops", "ranges"):
        assert counts(verified(spark, path, name)) == (0, 0, 0)

    rewrite(path, "secondary_index_shops", without_and_with_another)
    found = verified(spark, path, "shops")
    assert counts(found) == (2, 1, 0)
    assert not found.is_right
    assert sum(text.startswith("missing ") for text in found.examples) == 2
    assert any(text.startswith("superfluous nobody$") for text in found.examples)

    for partition, name in (("record_index", "keys"), ("column_stats", "ranges")):
        rewrite(path, partition, with_anothers_payload)
        found = verified(spark, path, name)
        assert counts(found) == (0, 0, 1)
        assert not found.is_right
        assert found.examples[0].startswith("different ")


def without_and_with_another(records: Records) -> Records:
    """One entry is removed, another has a value that no row has."""
    first, second, *_ = sorted(records)
    key = b"nobody$" + second.partition(b"$")[2]
    return {**{k: v for k, v in records.items() if k not in (first, second)}, key: records[second]}


def with_anothers_payload(records: Records) -> Records:
    """One key has the payload of another."""
    first, *others = sorted(records)
    return {**records, first: next(records[k] for k in others if records[k] != records[first])}


def rewrite(path: Path, partition: str, change: Callable[[Records], Records]) -> None:
    """Replaces the records of the extension's only base file of the partition."""
    (file,) = (path / EXTENSION_DIR / partition).glob("*.hfile")
    content = file.read_bytes()
    cells = HFile(pa.BufferReader(content), len(content), file.name).scan()
    records = {
        bytes(key): bytes(value)
        for part in cells
        for key, value in zip(part.keys, part.values, strict=True)
    }
    sink = io.BytesIO()
    hfile_writer.write(sink, sorted(change(records).items()), RECORD_SCHEMA)
    file.write_bytes(sink.getvalue())


def verified(spark: SparkSession, path: Path, name: str) -> Verification:
    table = HudiTable.open(str(path))
    status = index_status(table, name)
    assert status is not None
    (found,) = verify(spark, table, status)
    assert found.checked > 0
    return found


def counts(found: Verification) -> tuple[int, int, int]:
    return found.missing, found.superfluous, found.different
