"""Write the tables of the cluster's tests, or reuse those of an earlier run.

`python -m devtools.cluster.tables` writes them. It is a separate process, so that Spark's memory is
released afterwards.
"""

import argparse
import hashlib
import shutil
import sys
from pathlib import Path

from devtools.cluster.configuration import JARS
from devtools.events import change_events, events_spec, write_events
from devtools.process import run_logged
from devtools.runtime import hudi_bundle
from devtools.shared import one_at_a_time
from devtools.spark import spark_session
from devtools.tables import TableType

DIRECTORY = JARS / "tables"
EVENTS = DIRECTORY / "events"
"""Copy on write: 40 files of 500 rows."""
RETURNS = DIRECTORY / "returns"
"""Merge on read: 20 files of 500 rows, of which every fifth has log files."""

MANY = DIRECTORY / "many_events"
"""Copy on write: 250 files of 40 rows."""

ROWS_PER_FILE = 500
MANY_FILES, ROWS_OF_MANY = 250, 40
_DAYS = 4
_MARKER = DIRECTORY / "written-by"
_SOURCES = ("cluster/tables.py", "events.py", "tables.py")


def ensure_written(log: Path) -> None:
    """Write the tables unless they are written, in a process whose output goes to `log`.

    Processes that ask at the same time wait for the first one.

    Raises:
        devtools.process.ServerError: Spark failed; the message shows the end of its output.
    """
    with one_at_a_time(DIRECTORY.with_suffix(".lock")):
        if not (_MARKER.is_file() and _MARKER.read_text() == _fingerprint()):
            run_logged("Spark", [sys.executable, "-m", "devtools.cluster.tables"], output=log)


def write() -> None:
    """Write the tables: copy on write in one commit, merge on read in three."""
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    with spark_session("cluster") as spark:
        write_events(
            spark,
            DIRECTORY,
            events_spec(EVENTS.name, TableType.COW),
            files=40,
            rows_per_file=ROWS_PER_FILE,
            days=_DAYS,
        )
        returns = write_events(
            spark,
            DIRECTORY,
            events_spec(RETURNS.name, TableType.MOR),
            files=20,
            rows_per_file=ROWS_PER_FILE,
            days=_DAYS,
        )
        change_events(spark, returns, rows_per_file=ROWS_PER_FILE, every=5)
        write_events(
            spark,
            DIRECTORY,
            events_spec(MANY.name, TableType.COW),
            files=MANY_FILES,
            rows_per_file=ROWS_OF_MANY,
            days=2,
        )
    _MARKER.write_text(_fingerprint())


def _fingerprint() -> str:
    digest = hashlib.sha256(hudi_bundle().name.encode())
    for name in _SOURCES:
        digest.update((Path(__file__).parent.parent / name).read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    argparse.ArgumentParser(prog="devtools.cluster.tables", description=write.__doc__).parse_args()
    write()
