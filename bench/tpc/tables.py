"""Write the tables of a suite by PySpark: for Hudi in both types, and as plain Parquet.

`python -m bench.tpc.tables SUITE SCALE DIRECTORY FORM...` writes those that are missing; a separate
process releases Spark's memory. Each form of a table has the same rows, in files of like ranges.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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

COW, MOR = (type_.name.lower() for type_ in (TableType.COW, TableType.MOR))
PLAIN = "plain"
_THREADS = 3
#: Of the merge-on-read tables, every fourth file has updates in a log file, of a row in ten.
_UPDATED_FILES, _UPDATED_ROWS = 4, 10


def path(data: Data, form: str, table: str) -> Path:
    """Return where a form of a table is: `COW`, `MOR` or `PLAIN`."""
    return data.directory / form / table


def has_form(data: Data, form: str, table: str) -> bool:
    """Return whether the table is written in this form: only facts are merge on read."""
    return form != MOR or data.suite.tables[table].updated is not None


def columns(data: Data, table: str) -> list[tuple[str, str]]:
    """Return the name and the Hive type of each column of a plain table."""
    return [(name, kind) for name, kind in json.loads(_marker(data, PLAIN, table).read_text())]


def ensure_written(data: Data, forms: Iterable[str]) -> None:
    """Write the tables that this code has not written yet; an interrupted run is continued.

    Raises:
        devtools.process.ServerError: Spark failed; the message shows the end of its output.
    """
    written_by = data.directory / "written-by"
    if not written_by.is_file() or written_by.read_text() != _fingerprint():
        for form in (COW, MOR, PLAIN):
            shutil.rmtree(data.directory / form, ignore_errors=True)
        written_by.write_text(_fingerprint())
    missing = [form for form in forms if any(_missing(data, form))]
    if missing:
        place = (data.suite.name, str(data.scale), str(data.directory))
        command = [sys.executable, "-m", "bench.tpc.tables", *place, *missing]
        run_logged("Spark", command, output=WORK / "bench" / "spark.log")


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
    parent = path(data, type_.name.lower(), table).parent
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
    # What is updated in log files has to be what is old in the base files.
    return pieces.persist()


def _write(spark: SparkSession, data: Data, form: str, table: str) -> None:
    pieces = _pieces(spark, data, table)
    if form == PLAIN:
        pieces.write.mode("overwrite").parquet(str(path(data, form, table)))
    else:
        _write_hudi(pieces, data, table, TableType[form.upper()])
    described = [(column.name, column.dataType.simpleString()) for column in pieces.schema]
    pieces.unpersist()
    _marker(data, form, table).write_text(json.dumps(described))
    print(form, table, flush=True)


def _marker(data: Data, form: str, table: str) -> Path:
    """Return the file that describes a complete table."""
    return path(data, form, table).with_suffix(".json")


def _missing(data: Data, form: str) -> Iterator[str]:
    for table in data.suite.tables:
        if has_form(data, form, table) and not _marker(data, form, table).is_file():
            yield table


def _fingerprint() -> str:
    digest = hashlib.sha256(hudi_bundle().name.encode())
    for file in (__file__, suites.__file__, tables.__file__):
        digest.update(Path(str(file)).read_bytes())
    return digest.hexdigest()


def _main(suite: str, scale: str, place: str, *forms: str) -> None:
    data = Data(suites.SUITES[suite], float(scale), Path(place))
    with spark_session("tpc", heap="3g") as spark, ThreadPoolExecutor(_THREADS) as pool:
        for form in forms:
            list(pool.map(partial(_write, spark, data, form), _missing(data, form)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
