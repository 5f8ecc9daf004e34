"""The first writes of a life, and the states in which other writers leave tables."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from devtools.runtime import other_hudi_bundle
from devtools.spark import spark_session
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, create
from tests.lives.life import TABLE, Life, base_settings
from tests.lives.model import Row, RowModel
from tests.lives.sessions import Sessions
from tests.lives.shapes import Beginning, Keys, Ordering, Script, Shape, parsed
from tests.tables.mdt.file_bytes import with_renamed_info

_FIRST = 24
_HUDI_1_0 = "1.0.2"


def begin(shape: Shape, path: Path, sessions: Sessions, random: Random) -> Life:
    """Write the first rows of a table, and leave it as its beginning says."""
    life = Life(shape, path, sessions, RowModel.of(shape), settings=base_settings(shape))
    rows = life.model.drawn(random, range(_FIRST))
    if shape.beginning is Beginning.HUDI_1_0:
        _written_by_hudi_1_0(life, rows)
    elif shape.keys is Keys.VIRTUAL:
        _create_virtual(life, rows)
    else:
        statistics = str(shape.has_statistics).lower()
        more = {"hoodie__metadata__index__column__stats__enable": statistics}
        life.write(rows, "bulk_insert", sessions.plain, **more)
    life.model.put(rows)
    _leave(life)
    return life


def _leave(life: Life) -> None:
    metadata = life.path / ".hoodie" / "metadata"
    if life.shape.beginning is Beginning.NO_FOLDER:
        shutil.rmtree(metadata)
    if life.shape.beginning is Beginning.NATIVE_HFILES:
        for file in metadata.rglob("*.hfile"):
            # Their cells end with a read point in any case, and Hudi's reader skips it.
            file.write_bytes(with_renamed_info(file.read_bytes(), b"KEY_VALUE_VERSION"))
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _create_virtual(life: Life, rows: list[Row]) -> None:
    shape = life.shape
    life.keys = Keys.VIRTUAL
    table = VirtualTable(
        TABLE,
        ("id",),
        "ord" if shape.ordering is Ordering.EVENT_TIME else "",
        ("p",) if shape.is_partitioned else (),
        shape.type.value == "MERGE_ON_READ",
        options={**life.options(), **life.settings},
    )
    create(life.frame(life.sessions.plain, rows), life.uri, table)


# ---- another version of Hudi: a process has one JVM with one Hudi


def _written_by_hudi_1_0(life: Life, rows: list[Row]) -> None:
    request = life.path.with_name(f"{life.path.name}.json")
    script = Script(life.shape, ()).text()
    request.write_text(json.dumps([script, life.uri, [_texts(row) for row in rows]]))
    command = [sys.executable, "-m", "tests.lives.beginnings", str(request)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def _texts(row: Row) -> dict[str, str | None]:
    """Values that JSON has; `Life.frame` writes them as it writes the values."""
    return {name: None if value is None else str(value) for name, value in row.items()}


def _write_by_this_hudi(spark: SparkSession, shape: Shape, path: str, rows: list[Row]) -> None:
    life = Life(shape, Path(path), None, RowModel.of(shape), settings=base_settings(shape))
    options = {**life.options(), "hoodie.metadata.record.index.enable": "true"}
    writer = life.frame(spark, rows).write.format("hudi").options(**options)
    writer.option("hoodie.datasource.write.operation", "bulk_insert").mode("append").save(path)
    spark.sql(f"CREATE TABLE {life.name} USING hudi LOCATION '{path}'")
    for name, value in options.items():
        spark.conf.set(name, value)
    spark.sql(f"CREATE INDEX by_double ON {life.name} (d)")


def main(request: Path) -> None:
    """The program of the process."""
    line, path, rows = json.loads(request.read_text())
    with spark_session("hudi-1.0", bundle=other_hudi_bundle(_HUDI_1_0)) as spark:
        _write_by_this_hudi(spark, parsed(line).shape, path, rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
