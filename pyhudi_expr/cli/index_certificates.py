"""`pyhudi index verify --certify`: write the certificates of an index of keys or values."""

from __future__ import annotations

import click

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.index.catalog.index_catalog import metadata_of
from pyhudi_expr.index.catalog.status import IndexStatus, index_status, no_such_index
from pyhudi_expr.mdt.certificates import stored
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.table.hudi_table import HudiTable


def print_certified(path: str, name: str, as_json: bool) -> None:
    """Certify an index, and print what its entries say.

    Raises:
        HudiError: There is no such index of keys or values, or it cannot be read.
    """
    with progress_while("reading the table"):
        table = HudiTable.open(path)
        status = index_status(table, name)
    if status is None:
        raise HudiError(no_such_index(table, name))
    with progress_while(f"reading all entries of {name}"):
        found = _certified(table, status)
    if as_json:
        click.echo(reports.as_json({"name": status.name, "certified": found}))
        return
    for partition, (entries, doubtful) in found.items():
        doubts = f", {doubtful} file groups with keys in doubt" if doubtful else ""
        click.echo(f"{partition}: certified {entries:,} entries{doubts}")


def _certified(table: HudiTable, status: IndexStatus) -> dict[str, tuple[int, int]]:
    """Return for each metadata partition the number of record keys, and of doubtful file groups."""
    mdt = metadata_of(table, status.store)
    if mdt is None:
        raise HudiError(f"{table.base_path}: the metadata table of {status.name} is gone")
    if status.kind not in (RECORD_INDEX, SECONDARY_INDEX) or RECORD_INDEX not in mdt.partitions:
        raise HudiError(
            f"{table.base_path}: {status.name} is of kind {status.kind}; only record and secondary "
            "indexes are certified"
        )
    records = stored.certify_records(mdt)
    stored.write_certificate(mdt, RECORD_INDEX, records)
    entries = int(records.entries.sum())
    found = {RECORD_INDEX: (entries, 0)}
    for partition in status.partitions:
        if partition != RECORD_INDEX:
            values = stored.certify_values(mdt, partition)
            stored.write_certificate(mdt, partition, values)
            found[partition] = (entries, len(values.doubtful))
    return found
