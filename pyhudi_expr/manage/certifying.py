"""Certificates of an index of keys or values, written after all its entries were read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import metadata_of
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import index_status, no_such_index
from pyhudi_expr.manage.operations import Action, Change
from pyhudi_expr.tables.hudi_names import RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.certificates import stored
from pyhudi_expr.tables.mdt.certificates.certificates import RecordCertificate, ValueCertificate
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

Certified = Mapping[str, tuple[int, int]]
"""For each metadata partition the number of record keys, and of doubtful file groups."""


@dataclass(frozen=True)
class EntryReader:
    """Who reads all entries of an index.

    Attributes:
        records: Makes the certificate of the record index of a metadata table.
        values: Makes that of a secondary index, which is named by its metadata partition.
    """

    records: Callable[[MetadataTable], RecordCertificate]
    values: Callable[[MetadataTable, str], ValueCertificate]


READER = EntryReader(stored.certify_records, stored.certify_values)
"""Reads them in this process."""


@dataclass(frozen=True)
class CertificationPlan:
    """What is certified.

    Attributes:
        store: Which metadata table holds the index.
        partitions: The record index, and the secondary one that needs it.
    """

    table: str
    store: Store
    partitions: tuple[str, ...]

    @property
    def operation(self) -> str:
        """The operation."""
        return "index verify --certify"

    @property
    def changes(self) -> tuple[Change, ...]:
        """The certificates, which replace older ones."""
        return tuple(Change(Action.WRITE, stored.path_of(name)) for name in self.partitions)


@dataclass(frozen=True)
class IndexCertification:
    """The certification of one index.

    Attributes:
        table: The base path.
        name: The index.
        reader: Reads its entries.
    """

    table: str
    name: str
    reader: EntryReader

    def plan(self) -> CertificationPlan:
        """Return the partitions.

        Raises:
            HudiError: There is no such index, or it is not one of keys or values.
        """
        table = HudiTable.open(self.table)
        status = index_status(table, self.name)
        if status is None:
            raise HudiError(no_such_index(table, self.name))
        metadata = _metadata(table, status.store)
        if status.kind not in (RECORD_INDEX, SECONDARY_INDEX) or (
            RECORD_INDEX not in metadata.partitions
        ):
            raise HudiError(
                f"{table.base_path}: {status.name} is of kind {status.kind}; only record and "
                "secondary indexes are certified"
            )
        others = (one for one in status.partitions if one != RECORD_INDEX)
        return CertificationPlan(table.base_path, status.store, (RECORD_INDEX, *others))

    def check(self, plan: CertificationPlan) -> None:
        """Nothing has to hold: a certificate is about the state that it names."""

    def act(self, plan: CertificationPlan) -> Certified:
        """Read all entries, and write what they say."""
        metadata = _metadata(HudiTable.open(self.table), plan.store)
        records = self.reader.records(metadata)
        stored.write_certificate(metadata, RECORD_INDEX, records)
        entries = int(records.sums.counts.sum())
        found = {RECORD_INDEX: (entries, 0)}
        for partition in plan.partitions[1:]:
            values = self.reader.values(metadata, partition)
            stored.write_certificate(metadata, partition, values)
            found[partition] = (entries, len(values.doubtful))
        return found

    def verify(self, plan: CertificationPlan, done: Certified) -> Certified:
        """Check that each certificate can be read."""
        metadata = _metadata(HudiTable.open(self.table), plan.store)
        for partition in plan.partitions:
            if not stored.is_readable(metadata, partition):
                raise HudiError(f"the certificate {stored.path_of(partition)} cannot be read")
        return done

    def restore(self, plan: CertificationPlan) -> str:
        """Leave what is there: no answer depends on a certificate."""
        return "queries count the entries themselves, as without a certificate"


def _metadata(table: HudiTable, store: Store) -> MetadataTable:
    found = metadata_of(table, store)
    if found is None:
        raise HudiError(f"{table.base_path}: the metadata table of its indexes is gone")
    return found
