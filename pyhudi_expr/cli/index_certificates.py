"""`pyhudi index verify --certify`: write the certificates of an index of keys or values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.spark_session import spark_session
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.certifying import READER, Certified, IndexCertification
from pyhudi_expr.manage.operations import run


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
