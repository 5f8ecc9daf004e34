"""The table of 2,000 small files of the Hive benchmark: written once, reused later.

`python -m bench.tables.event_table` writes it; a separate process releases Spark's memory.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

from pyspark.sql.types import StructType

from devtools import events, tables
from devtools.events import events_spec, write_events
from devtools.process import run_logged
from devtools.runtime import WORK, hudi_bundle
from devtools.spark import spark_session
from devtools.tables import HudiTable, TableType

FILES = 2_000
DAYS = 20
ROWS_PER_FILE = 1_000

_DIRECTORY = WORK / "bench" / "tables"
_SPEC = events_spec("bench_events", TableType.COW)
_SCHEMA = _DIRECTORY / "schema.json"
_MARKER = _DIRECTORY / "written-by"


def ensure_written() -> HudiTable:
    """Return the table; write it if it is missing, or was written by other code.

    Raises:
        devtools.process.ServerError: Spark failed; the message shows the end of its output.
    """
    if not _MARKER.is_file() or _MARKER.read_text() != _fingerprint():
        command = [sys.executable, "-m", "bench.tables.event_table"]
        run_logged("Spark", command, output=WORK / "bench" / "spark.log")
    schema = StructType.fromJson(json.loads(_SCHEMA.read_text()))
    return HudiTable(_SPEC, str(_DIRECTORY / _SPEC.name), schema)


def _write() -> None:
    shutil.rmtree(_DIRECTORY, ignore_errors=True)
    _DIRECTORY.mkdir(parents=True)
    with spark_session("bench") as spark:
        table = write_events(
            spark, _DIRECTORY, _SPEC, files=FILES, rows_per_file=ROWS_PER_FILE, days=DAYS
        )
    _SCHEMA.write_text(table.schema.json())
    _MARKER.write_text(_fingerprint())


def _fingerprint() -> str:
    digest = hashlib.sha256(f"{hudi_bundle().name} {FILES} {DAYS} {ROWS_PER_FILE}".encode())
    for module in (events, tables):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    _write()
