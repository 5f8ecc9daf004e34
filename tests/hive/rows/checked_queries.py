"""Queries of tables with many pages, with and without skipping of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from tests.hive.query_results import Answer, Hive
from tests.hive.rows.paged_tables import write_table

_WITHOUT_ROWS = {"hudi.pruning.rows": "false"}
#: How the files of each table are written.
LAYOUTS: Mapping[str, Mapping[str, Any]] = {
    "paged_v1": {"pages": "1.0", "dictionaries": True},
    "paged_v2": {"pages": "2.0", "dictionaries": False},
    "unpaged": {"pages": "1.0", "dictionaries": True, "index": False},
}
PREDICATES = [
    "id = 7123",
    "id IN (1, 2999, 3000, 12345, 17999)",
    "id BETWEEN 4990 AND 5010 OR id > 17990",
    "s LIKE 's0000801%'",
    "word = 'word 20'",
    "l < 500000000000",
    "d BETWEEN 100 AND 110 AND i IS NOT NULL",
    "f > 2240.0",
    "m = 50.10 OR w > 17990000000000000",
    "day = DATE '2000-01-20'",
    "at < TIMESTAMP '2020-01-01 03:00:00'",
    "i IS NULL AND id < 2000",
    "st.a = 3 AND id BETWEEN 8000 AND 8100",
    "NOT (id < 17900)",
    "b AND id % 1000 = 5 AND id > 15000",
]


@contextmanager
def tables_of_pages(
    server: HiveServer, directory: Path, settings: Mapping[str, str]
) -> Iterator[Hive]:
    """The tables in a server, and a service that evaluates the rows of small files, too."""
    config = directory / "service.toml"
    config.write_text("row_file_bytes = 0\nrow_seconds = 30\n")
    own = {"hudi.pruning.timeout.ms": "30000", **settings}
    with (
        ServiceProcess(directory, "--config", str(config)) as service,
        Hive(server, service, directory / "scans", own) as running,
    ):
        for name, layout in LAYOUTS.items():
            write_table(directory / name, **layout)
            running.run(create_with_handler(name, directory / name))
        yield running
        for name in LAYOUTS:
            running.run(f"DROP TABLE {name}")


def check(hive: Hive, query: str, engine: str, **settings: str) -> Answer:
    """Run a query with and without pruning of rows, and of anything."""
    answer = hive.query(query, engine, settings=settings)
    whole = hive.query(query, engine, settings={**settings, **_WITHOUT_ROWS})
    unpruned = hive.query(query, engine, pruning=False, settings=settings)
    assert repr(answer.rows) == repr(unpruned.rows), f"{query} ({engine})"
    assert repr(whole.rows) == repr(unpruned.rows), f"{query} ({engine})"
    assert (whole.scan.files_in_part, whole.scan.rows_selected) == (0, 0)
    return answer
