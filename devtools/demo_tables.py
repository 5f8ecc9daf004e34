"""Write the demo's two tables, or reuse those of an earlier run.

`python -m devtools.demo_tables` writes them. It is a separate process, so that Spark's memory is
released afterwards.
"""

import argparse
import hashlib
import shutil
import sys
from pathlib import Path

from devtools.events import change_events, events_spec, write_events
from devtools.process import run_logged
from devtools.runtime import WORK, hudi_bundle
from devtools.spark import spark_session
from devtools.tables import TableType

DIRECTORY = WORK / "demo" / "tables"
EVENTS = DIRECTORY / "events"
RETURNS = DIRECTORY / "returns"

EVENT_FILES = 250
EVENT_ROWS_PER_FILE = 3_600
RETURN_FILES = 50
RETURN_ROWS_PER_FILE = 4_000
DAYS = 10

_MARKER = DIRECTORY / "written-by"
_SOURCES = ("demo_tables.py", "events.py", "tables.py")


def are_written() -> bool:
    """Return whether the tables exist, are complete, and were written by the current code."""
    return _MARKER.is_file() and _MARKER.read_text() == _fingerprint()


def ensure_written(log: Path) -> None:
    """Write the tables unless they are written, in a process whose output goes to `log`.

    Raises:
        devtools.process.ServerError: Spark failed; the message shows the end of its output.
    """
    if not are_written():
        run_logged("Spark", [sys.executable, "-m", "devtools.demo_tables"], output=log)


def write() -> None:
    """Write both tables: copy on write in one commit, merge on read in three."""
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    with spark_session("demo") as spark:
        write_events(
            spark,
            DIRECTORY,
            events_spec(EVENTS.name, TableType.COW),
            files=EVENT_FILES,
            rows_per_file=EVENT_ROWS_PER_FILE,
            days=DAYS,
        )
        returns = write_events(
            spark,
            DIRECTORY,
            events_spec(RETURNS.name, TableType.MOR),
            files=RETURN_FILES,
            rows_per_file=RETURN_ROWS_PER_FILE,
            days=DAYS,
        )
        change_events(spark, returns, rows_per_file=RETURN_ROWS_PER_FILE, every=5)
    _MARKER.write_text(_fingerprint())


def _fingerprint() -> str:
    digest = hashlib.sha256(hudi_bundle().name.encode())
    for name in _SOURCES:
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    argparse.ArgumentParser(prog="devtools.demo_tables", description=write.__doc__).parse_args()
    write()
