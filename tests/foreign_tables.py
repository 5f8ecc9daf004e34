"""Copy-on-write tables whose files other writers than Hudi have written, in one commit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError

from pyhudi_expr.tables.hudi_names import COLUMN_STATS, META_COLUMNS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.timeline_writer import WrittenFile, commit_record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INSTANT = "20240111000000000"
_COMPLETED = "20240111000001000"
COLUMN_LAYOUT = 2
"""The layout of timelines since version 8."""


@dataclass(frozen=True)
class ForeignFile:
    """A file with the values of column `c`, in a partition of its own.

    Attributes:
        name: The partition's value.
        options: Options of pyarrow's writer.
        metadata: Pairs of the footer.
    """

    name: str
    values: pa.Array
    options: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


def write_foreign_table(path: Path, avro: Any, version: int, files: Sequence[ForeignFile]) -> None:
    """Write a table with the columns id, c and p, the partition.

    Args:
        path: The table's directory, which is not there yet.
        avro: The type of column c in the table's schema.
        version: The table's version: 6, 8 or 9.
        files: The files. A row's id is its file's number times 1000 and its own.
    """
    layout = COLUMN_LAYOUT if version >= 8 else 1
    hoodie = path / ".hoodie"
    timeline = hoodie / "timeline" if layout == COLUMN_LAYOUT else hoodie
    timeline.mkdir(parents=True)
    fields = [_nullable("id", "long"), _nullable("c", avro), _nullable("p", "string")]
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": str(version),
        "hoodie.table.initial.version": str(version),
        "hoodie.timeline.layout.version": str(layout),
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.partition.fields": "p",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.table.keygenerator.type": "SIMPLE",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
        "hoodie.table.create.schema": json.dumps(_record(fields)).replace(":", "\\:"),
    }
    lines = "".join(f"{key}={value}\n" for key, value in properties.items())
    (hoodie / "hoodie.properties").write_text(lines)
    written = [_write(path, number, file) for number, file in enumerate(files)]
    meta = [_nullable(name, "string") for name in META_COLUMNS]
    record = commit_record(
        layout, written, "BULK_INSERT", {"schema": json.dumps(_record([*meta, *fields]))}
    )
    (timeline / f"{INSTANT}.commit.requested").touch()
    if layout == COLUMN_LAYOUT:
        (timeline / f"{INSTANT}.inflight").touch()
        (timeline / f"{INSTANT}_{_COMPLETED}.commit").write_bytes(record)
    else:
        (timeline / f"{INSTANT}.inflight").touch()
        (timeline / f"{INSTANT}.commit").write_bytes(record)


def _write(table: Path, number: int, file: ForeignFile) -> WrittenFile:
    partition = f"p={file.name}"
    directory = table / partition
    directory.mkdir()
    (directory / ".hoodie_partition_metadata").write_text(
        f"commitTime={INSTANT}\npartitionDepth=1\n"
    )
    group = f"{number:08d}-0000-4000-8000-000000000000-0"
    name, rows = f"{group}_0-1-0_{INSTANT}.parquet", len(file.values)
    ids = [number * 1000 + row for row in range(rows)]
    stored = [
        [INSTANT] * rows,
        [f"{INSTANT}_{number}_{row}" for row in range(rows)],
        [str(id_) for id_ in ids],
        [partition] * rows,
        [name] * rows,
    ]
    columns = {
        **{
            meta: pa.array(texts, pa.string())
            for meta, texts in zip(META_COLUMNS, stored, strict=True)
        },
        "id": pa.array(ids, pa.int64()),
        "c": file.values,
        "p": pa.array([file.name] * rows, pa.string()),
    }
    pq.write_table(
        pa.table(columns).replace_schema_metadata(dict(file.metadata)),
        directory / name,
        **file.options,
    )
    return WrittenFile(group, f"{partition}/{name}", (directory / name).stat().st_size, rows)


def _nullable(name: str, avro: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", avro], "default": None}


def _record(fields: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": "t", "fields": list(fields)}


def index_by_hudi(spark: SparkSession, path: Path, version: int, columns: Sequence[str]) -> None:
    """Let Hudi make the metadata table of a table without one, with `column_stats`.

    Hudi then makes `partition_stats`, which cannot be turned off, and fails where it has to unite
    some types. The finished `column_stats` stays in use.
    """
    jvm: Any = spark._jvm
    hudi = jvm.org.apache.hudi
    options = {
        "hoodie.table.name": "t",
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.index.column.stats.enable": "true",
        "hoodie.metadata.index.column.stats.column.list": ",".join(columns),
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
    }
    client = hudi.HoodieCLIUtils.createHoodieWriteClient(
        spark._jsparkSession,
        str(path),
        jvm.PythonUtils.toScalaMap(options),
        jvm.scala.Option.empty(),
    )
    try:
        context = client.getEngineContext()
        builder = hudi.common.table.HoodieTableMetaClient.builder()
        meta = builder.setConf(context.getStorageConf()).setBasePath(str(path)).build()
        hudi.metadata.SparkMetadataWriterFactory.create(
            context.getStorageConf(), client.getConfig(), context, meta.getTableConfig()
        ).close()
    except Py4JJavaError:
        if COLUMN_STATS not in HudiTable.open(str(path)).properties.metadata_partitions:
            raise
    finally:
        client.close()
