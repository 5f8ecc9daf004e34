"""Bytes that other readers of Parquet files need for a query: DuckDB, DataFusion and PyIceberg.

Each reads in this process, whose counter counts everything that it reads, footers included. They
are set to skip as much as they can.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

_TABLE = "t"


def bytes_read(process: int | str) -> int:
    """Return the bytes that a process has read, of everything."""
    lines = Path(f"/proc/{process}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


def by_duckdb(path: Path, query: str, rows: int) -> int:
    """Return the bytes that DuckDB reads.

    Args:
        path: The directory with the Parquet files.
        query: SQL with `{}` for the table's name.
        rows: The number of rows that it has.

    Raises:
        ValueError: It has another number of rows.
    """
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        before = bytes_read("self")
        found = connection.execute(query.format(f"read_parquet('{path}/*.parquet')")).fetchall()
        return _checked(bytes_read("self") - before, len(found), rows)


def by_datafusion(path: Path, query: str, rows: int) -> int:
    """Return the bytes that DataFusion reads, with page indexes and late materialisation.

    The arguments and the error are those of `by_duckdb`.
    """
    from datafusion import SessionConfig, SessionContext

    of_parquet = "datafusion.execution.parquet"
    config = SessionConfig().set("datafusion.execution.time_zone", "UTC")
    for name in ("pruning", "enable_page_index", "pushdown_filters", "reorder_filters"):
        config = config.set(f"{of_parquet}.{name}", "true")
    context = SessionContext(config)
    before = bytes_read("self")
    context.register_parquet(_TABLE, str(path), file_extension=".parquet")
    found = context.sql(query.format(_TABLE)).to_arrow_table()
    return _checked(bytes_read("self") - before, found.num_rows, rows)


def by_pyiceberg(path: Path, condition: str, columns: tuple[str, ...], rows: int) -> int:
    """Return the bytes that PyIceberg reads to plan and to read a scan of an Iceberg table.

    The table has the files of a directory as they are. `condition` and `columns` are those of the
    query; the other arguments and the error are those of `by_duckdb`.
    """
    import pyarrow.parquet as pq
    from pyiceberg.catalog.sql import SqlCatalog

    files = sorted(map(str, path.glob("*.parquet")))
    with TemporaryDirectory() as directory:
        catalog = SqlCatalog("files", uri="sqlite://", warehouse=f"file://{directory}")
        catalog.create_namespace("bench")
        table = catalog.create_table(f"bench.{_TABLE}", pq.read_schema(files[0]))
        table.add_files(files)
        before = bytes_read("self")
        found = table.scan(row_filter=condition, selected_fields=columns).to_arrow()
        return _checked(bytes_read("self") - before, found.num_rows, rows)


def _checked(read: int, found: int, expected: int) -> int:
    if found != expected:
        raise ValueError(f"{found} rows, and not {expected}")
    return read
