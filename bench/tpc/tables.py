"""Write the tables of a suite by PySpark: for Hudi in both types, and as plain Parquet.

`python -m bench.tpc.tables SUITE SCALE DIRECTORY` writes all of them; a separate process releases
Spark's memory. Each form of a table has the same rows in the same files.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere

from bench.tpc import suites
from bench.tpc.data import Data
from devtools import tables
from devtools.process import run_logged
from devtools.runtime import WORK, hudi_bundle
from devtools.spark import spark_session
from devtools.tables import TableSpec, TableType, create, upsert

PLAIN = "plain"
_THREADS = 3
#: Of the merge-on-read tables, every fourth file has updates in a log file, of a row in ten.
_UPDATED_FILES, _UPDATED_ROWS = 4, 10


def directory(data: Data, form: str) -> Path:
    """Return where a form of the tables is: the lower-case name of a type of table, or `PLAIN`."""
    return data.directory / form


def facts(data: Data) -> list[str]:
    """Return the tables that have updates."""
    return [name for name, layout in data.suite.tables.items() if layout.updated]


def columns(data: Data, table: str) -> list[tuple[str, str]]:
    """Return the name and the Hive type of each column of a plain table."""
    listed = json.loads((directory(data, PLAIN) / f"{table}.json").read_text())
    return [(name, kind) for name, kind in listed]


def ensure_written(data: Data) -> None:
    """Write all tables, unless they were written by this code.

    Raises:
        devtools.process.ServerError: Spark failed; the message shows the end of its output.
    """
    marker = data.directory / "written-by"
    if marker.is_file() and marker.read_text() == _fingerprint():
        return
    arguments = (data.suite.name, str(data.scale), str(data.directory))
    command = [sys.executable, "-m", "bench.tpc.tables", *arguments]
    run_logged("Spark", command, output=WORK / "bench" / "spark.log")
    marker.write_text(_fingerprint())


def write_hudi(
    spark: SparkSession, data: Data, table: str, type_: TableType, files: int | None = None
) -> Path:
    """Write a table for Hudi, with `files` base files (by default those of its layout).

    A merge-on-read table is first written with old values in some rows. Updates in log files bring
    the generated ones, so that its rows are those of the other forms.

    Returns:
        Its base path.
    """
    pieces = _pieces(spark, data, table, files)
    try:
        return _write_hudi(pieces, data, table, type_)
    finally:
        pieces.unpersist()


def _write_hudi(pieces: DataFrame, data: Data, table: str, type_: TableType) -> Path:
    layout = data.suite.tables[table]
    spec = TableSpec(table, type_, key=layout.key, ordering=layout.key[0])
    parent = directory(data, type_.name.lower())
    if type_ is TableType.COW:
        return create(pieces, spec, parent).path
    assert layout.updated is not None
    is_updated = (F.spark_partition_id() % _UPDATED_FILES == 0) & (
        F.pmod(F.xxhash64(*layout.key), F.lit(_UPDATED_ROWS)) == 0
    )
    old = F.when(is_updated, F.expr(f"{layout.updated} + 1")).otherwise(F.col(layout.updated))
    written = create(pieces.withColumn(layout.updated, old), spec, parent)
    upsert(written, pieces.where(is_updated))
    return written.path


def _pieces(spark: SparkSession, data: Data, table: str, files: int | None = None) -> DataFrame:
    """Return the rows in their order, in as many partitions as there will be files."""
    layout = data.suite.tables[table]
    order = (layout.order or layout.key[0], *layout.key)
    rows = spark.read.parquet(str(data.source(table)))
    pieces = rows.repartitionByRange(files or layout.files, *order).sortWithinPartitions(*order)
    # Each form has to have the same files.
    return pieces.persist()


def _write_every_form(spark: SparkSession, data: Data, table: str) -> None:
    pieces = _pieces(spark, data, table)
    _write_hudi(pieces, data, table, TableType.COW)
    if data.suite.tables[table].updated:
        _write_hudi(pieces, data, table, TableType.MOR)
    plain = directory(data, PLAIN)
    pieces.write.mode("overwrite").parquet(str(plain / table))
    described = [(column.name, column.dataType.simpleString()) for column in pieces.schema]
    (plain / f"{table}.json").write_text(json.dumps(described))
    pieces.unpersist()
    print(table, flush=True)


def _each(names: Iterable[str], write: Callable[[str], None]) -> None:
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(write, names))


def _fingerprint() -> str:
    digest = hashlib.sha256(hudi_bundle().name.encode())
    for file in (__file__, suites.__file__, tables.__file__):
        digest.update(Path(str(file)).read_bytes())
    return digest.hexdigest()


def _main(suite: str, scale: str, place: str) -> None:
    data = Data(suites.SUITES[suite], float(scale), Path(place))
    with spark_session("tpc", heap="3g") as spark:
        _each(data.suite.tables, lambda name: _write_every_form(spark, data, name))


if __name__ == "__main__":
    _main(*sys.argv[1:])
