"""`pyhudi index verify --certify`: write the certificates of an index of keys or values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.spark_session import spark_session
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import metadata_of
from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.tables.hudi_names import RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.certificates import stored
from pyhudi_expr.tables.mdt.certificates.certificates import RecordCertificate, ValueCertificate
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

Certified = dict[str, tuple[int, int]]
"""For each metadata partition the number of record keys, and of doubtful file groups."""


@dataclass(frozen=True)
class _Reader:
    """Who reads all entries of an index.

    Attributes:
        records: Makes the certificate of the record index of a metadata table.
        values: Makes that of a secondary index, which is named by its metadata partition.
    """

    records: Callable[[MetadataTable], RecordCertificate]
    values: Callable[[MetadataTable, str], ValueCertificate]


def certified_here(table: HudiTable, status: IndexStatus, _: Mapping[str, Any]) -> Certified:
    """Read all entries of an index in this process, and write its certificates.

    Raises:
        HudiError: The index is not one of keys or values, or cannot be read.
    """
    with progress_while(f"reading all entries of {status.name}"):
        return _certified(table, status, _Reader(stored.certify_records, stored.certify_values))


def certified_in_spark(
    table: HudiTable, status: IndexStatus, settings: Mapping[str, Any]
) -> Certified:
    """Read all entries of an index in Spark's tasks, and write its certificates.

    Raises:
        HudiError: As for `certified_here`; or the index has changed meanwhile.
    """
    purpose = f"certifying {status.name}"
    with spark_session(purpose, settings["master"], settings["settings"]) as spark:
        from pyhudi_expr.spark.builds.certifying import counted, paired
        from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors

        given = (spark, table, status.store)
        with translate_spark_errors():
            return _certified(
                table, status, _Reader(partial(counted, *given), partial(paired, *given))
            )


def report_certified(name: str, found: Certified, as_json: bool) -> None:
    """Print what the entries of an index say."""
    if as_json:
        click.echo(reports.as_json({"name": name, "certified": found}))
        return
    for partition, (entries, doubtful) in found.items():
        doubts = f", {doubtful} file groups with keys in doubt" if doubtful else ""
        click.echo(f"{partition}: certified {entries:,} entries{doubts}")


def _certified(table: HudiTable, status: IndexStatus, reader: _Reader) -> Certified:
    mdt = metadata_of(table, status.store)
    if mdt is None:
        raise HudiError(f"{table.base_path}: the metadata table of {status.name} is gone")
    if status.kind not in (RECORD_INDEX, SECONDARY_INDEX) or RECORD_INDEX not in mdt.partitions:
        raise HudiError(
            f"{table.base_path}: {status.name} is of kind {status.kind}; only record and secondary "
            "indexes are certified"
        )
    records = reader.records(mdt)
    stored.write_certificate(mdt, RECORD_INDEX, records)
    entries = int(records.entries.sum())
    found = {RECORD_INDEX: (entries, 0)}
    for partition in status.partitions:
        if partition != RECORD_INDEX:
            values = reader.values(mdt, partition)
            stored.write_certificate(mdt, partition, values)
            found[partition] = (entries, len(values.doubtful))
    return found
