"""The size and freshness of a table's indexes, and the certificates that `index verify` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.table import Table

from pyhudi_expr.api.display import size_text
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.spark_session import spark_session
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog, reading_catalog
from pyhudi_expr.index.catalog.index_sizes import PartitionSize, index_sizes
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, checked_statuses, no_such_index
from pyhudi_expr.manage.certifying import READER, Certified, IndexCertification
from pyhudi_expr.manage.operations import run
from pyhudi_expr.tables.storage import Storage


def index_reports(catalog: IndexCatalog, name: str | None = None) -> list[reports.Report]:
    """Return a report of each index, or of the one of this name. Raises HudiError."""
    every = checked_statuses(catalog)
    found = [one for one in every if name is None or name in (one.name, *one.partitions)]
    if name is not None and not found:
        raise HudiError(no_such_index(catalog.table, name))
    return list(map(_report, found, index_sizes(catalog, found)))


def print_stats(base_path: str, name: str | None, as_json: bool) -> None:
    """Print the reports of a table's indexes, or of one of them."""
    with (
        progress_while("reading the indexes"),
        reading_catalog(Storage.open(base_path)) as catalog,
    ):
        found = index_reports(catalog, name)
    if as_json:
        echo(reports.as_json({"indexes": found}))
        return
    output = Table()
    for header in ("name", "kind", "state", "covers"):
        output.add_column(header, overflow="fold", no_wrap=header == "name")
    for header in ("entries", "shards", "size", "log files", "size of logs"):
        output.add_column(header, justify="right")
    for each in found:
        parts = each["metadata_partitions"]
        counts = [sum(part[key] for part in parts) for key in ("entries", "shards", "log_files")]
        logs = sum(part["log_bytes"] for part in parts)
        row = (each["name"], each["kind"], each["state"], each["covers"] or "-")
        sizes = size_text(each["bytes"]), size_text(logs)
        output.add_row(*row, f"{counts[0]:,}", str(counts[1]), sizes[0], str(counts[2]), sizes[1])
    reports.print_table(output)


def _report(status: IndexStatus, sizes: list[PartitionSize]) -> reports.Report:
    return {
        **reports.index_report(status),
        "bytes": sum(size.bytes for size in sizes),
        "metadata_partitions": [asdict(size) for size in sizes],
    }


def certified_here(table: str, name: str) -> Certified:
    """Read all entries of an index in this process, and write its certificates.

    Raises:
        HudiError: There is no such index, or it is not one of keys or values.
    """
    with progress_while(f"reading all entries of {name}"):
        return run(IndexCertification(table, name, READER))


def certified_in_spark(
    table: str, name: str, store: Store, settings: Mapping[str, Any]
) -> Certified:
    """Read all entries of an index in Spark's tasks, and write its certificates.

    Raises:
        HudiError: As for `certified_here`; or the index has changed meanwhile.
    """
    with spark_session(f"certifying {name}", settings["master"], settings["settings"]) as spark:
        from pyhudi_expr.spark.builds.certifying import reader
        from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors

        with translate_spark_errors():
            return run(IndexCertification(table, name, reader(spark, table, store)))


def report_certified(name: str, found: Certified, as_json: bool) -> None:
    """Print what the entries of an index say."""
    if as_json:
        echo(reports.as_json({"name": name, "certified": found}))
        return
    for partition, (entries, doubtful) in found.items():
        doubts = f", {doubtful} file groups with keys in doubt" if doubtful else ""
        echo(f"{partition}: certified {entries:,} entries{doubts}")
