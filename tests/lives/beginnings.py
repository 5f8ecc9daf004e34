"""The first writes of a life, and the states in which other writers leave tables."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from devtools.runtime import other_hudi_bundle
from devtools.spark import spark_session
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, create
from tests.lives.life import TABLE, Life, base_settings
from tests.lives.model import COLUMNS, Row, RowModel
from tests.lives.sessions import Sessions
from tests.lives.shapes import Beginning, Keys, Ordering, Script, Shape, parsed

_FIRST = 24
_AS_TEXT = ("d", "m", "ts")
"""Columns whose values JSON has not."""
_HUDI_1_0 = "1.0.2"
_HFILE_HEADER = struct.Struct(">8siiqBii")
_FILE_INFO = b"FILEINF2"
_NAME, _OTHER_NAME = b"KEY_VALUE_VERSION", b"KEY_VALUE_VERSIO_"


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
            _forget_read_points(file)


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


def _forget_read_points(file: Path) -> None:
    """Rename the entry of the file info that says that cells end with their read point.

    Cells have one in any case, and Hudi's reader skips it.
    """
    content = file.read_bytes()
    start = content.rindex(_FILE_INFO)
    magic, on_disk, size, previous, _, per_checksum, data = _HFILE_HEADER.unpack_from(
        content, start
    )
    packed = content[start + _HFILE_HEADER.size : start + data]
    is_packed = packed[:2] == b"\x1f\x8b"
    plain = gzip.decompress(packed) if is_packed else packed
    assert _NAME in plain
    changed = plain.replace(_NAME, _OTHER_NAME)
    again = gzip.compress(changed) if is_packed else changed
    checksums = bytes(-(-(_HFILE_HEADER.size + len(again)) // per_checksum) * 4)
    header = _HFILE_HEADER.pack(
        magic,
        len(again) + len(checksums),
        size,
        previous,
        0,
        per_checksum,
        _HFILE_HEADER.size + len(again),
    )
    behind = content[start + _HFILE_HEADER.size + on_disk :]
    file.write_bytes(content[:start] + header + again + checksums + behind)
    _forget_checksum(file)


def _forget_checksum(file: Path) -> None:
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


# ---- another version of Hudi: a process has one JVM with one Hudi


def _written_by_hudi_1_0(life: Life, rows: list[Row]) -> None:
    request = life.path.with_name(f"{life.path.name}.json")
    script = Script(life.shape, ()).text()
    request.write_text(json.dumps([script, life.uri, [_plain(row) for row in rows]]))
    command = [sys.executable, "-m", "tests.lives.beginnings", str(request)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def _plain(row: Row) -> dict[str, object]:
    return {
        name: str(value) if name in _AS_TEXT and value is not None else value
        for name, value in row.items()
    }


def _write_by_this_hudi(spark: SparkSession, shape: Shape, path: str, rows: list[Row]) -> None:
    life = Life(shape, Path(path), None, RowModel.of(shape), settings=base_settings(shape))
    texts = {name: "string" if name in _AS_TEXT else type_ for name, type_ in COLUMNS.items()}
    schema = ", ".join(f"{name} {type_}" for name, type_ in texts.items())
    frame = spark.createDataFrame([tuple(row[name] for name in COLUMNS) for row in rows], schema)
    casts = (f"cast({name} AS {type_}) {name}" for name, type_ in COLUMNS.items())
    typed = frame.selectExpr(*casts)
    options = {**life.options(), "hoodie.metadata.record.index.enable": "true"}
    writer = typed.coalesce(1).write.format("hudi").options(**options)
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
