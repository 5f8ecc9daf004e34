"""What is audited: a table's slices as its storage has them, and its metadata tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, string_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.tables.hudi_names import INITIAL_VERSION, base_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, StoredFiles, TableView
from pyhudi_expr.tables.mdt.bytes.keys import column_partition_prefix, id128
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.slices.slice_rows import leaf_types

_WITH_COMPLETION_TIMES = ("8", "9")
HUDI_ONLY, BOTH = (Reader.HUDI,), (Reader.HUDI, Reader.PYHUDI)
MOST = 200
"""Findings of one kind about one column or partition that are listed one by one."""


@dataclass(frozen=True)
class AuditedTable:
    """The table.

    Attributes:
        slices: The slices that are checked, as the storage lists them.
        every: All slices of the snapshot.
        schema: The table's schema, with the meta columns.
    """

    table: HudiTable
    slices: FileListing
    every: FileListing
    schema: pa.Schema

    @property
    def is_whole(self) -> bool:
        """Whether all slices are checked."""
        return self.slices.num_slices == self.every.num_slices

    @computed_once
    def columns(self) -> Mapping[str, BoundColumn]:
        """The scalar columns that have an order, by their dotted names."""
        return {
            name: BoundColumn(name, type_, domain)
            for name, type_ in leaf_types(self.schema).items()
            if (domain := domain_of(type_)) is not None
        }


def written_slices(table: HudiTable) -> FileListing:
    """Return the slices of a table as its storage lists them, without files of dead writers.

    A task of a dead writer may end, and leave its file, after the write was rolled back. Such a
    file looks as if it were of an archived write. In tables that began with version 8 the archive
    says which writes were complete.

    Raises:
        HudiError: The table cannot be read.
    """
    stored, start = table.stored_files(), table.timeline.start
    began = table.properties.raw.get(INITIAL_VERSION, "")
    if start is not None and began in _WITH_COMPLETION_TIMES:
        bases = base_files(stored.name, table.properties.base_file_format.lower())
        written = zip(bases.row.tolist(), string_list(bases.instant), strict=True)
        old = [(row, instant) for row, instant in written if instant < start]
        archived = table.archived_times if old else {}
        dead = [row for row, instant in old if archived and instant not in archived]
        kept = np.delete(np.arange(len(stored.name)), dead)
        name, size = stored.name.take(pa.array(kept)), stored.size[kept]
        stored = StoredFiles(stored.partitions, stored.partition[kept], name, size)
    return table.listing(TableView.SNAPSHOT, files=stored)


@dataclass(frozen=True)
class AuditedRecords:
    """One metadata table: Hudi's, or the extension.

    Attributes:
        slices: The checked slices that it has to describe.
        is_whole: Whether entries that name no row of these slices are wrong.
    """

    store: Store
    records: MetadataTable
    definitions: Mapping[str, IndexDefinition]
    slices: FileListing
    is_whole: bool

    @computed_once
    def bases(self) -> BaseFiles:
        """The base files of the slices."""
        return BaseFiles(self.slices.base_files_only())

    def finding(
        self,
        partition: str,
        fault: Fault,
        severity: Severity,
        file: str,
        *,
        subject: str = "",
        expected: str = "",
        found: str = "",
        queries: str = "",
        readers: tuple[Reader, ...] = (),
    ) -> Finding:
        """Return a finding about one of its partitions; the extension is read by us only."""
        if self.store is Store.EXTENSION:
            readers = tuple(reader for reader in readers if reader is Reader.PYHUDI)
            if not readers and severity is Severity.ROWS_LOST:
                severity = Severity.SLOWER
        return Finding(
            store=self.store,
            partition=partition,
            fault=fault,
            severity=severity,
            file=file,
            subject=subject,
            expected=expected,
            found=found,
            queries=queries,
            readers=readers,
            remedy="",
        )

    def unreadable(self, partition: str, file: str, reason: str, queries: str) -> Finding:
        """Return the finding that a file cannot be read, and which queries fail by that."""
        return self.finding(
            partition,
            Fault.UNREADABLE,
            Severity.QUERY_FAILS,
            self.relative(file),
            expected="a file that can be read",
            found=reason,
            queries=queries,
        )

    def path_of(self, partition: str) -> str:
        """Return a partition's directory, from the table's base path."""
        return f"{self.relative(self.records.metadata.base_path)}/{partition}"

    def relative(self, path: str) -> str:
        """Return a path of this metadata table or of the table from the table's base path."""
        return _relative(path, self.records.metadata.base_path)


def _relative(path: str, metadata: str) -> str:
    base = metadata.split("/.hoodie/")[0]
    return path.removeprefix(base).lstrip("/")


@dataclass(frozen=True)
class BaseFiles:
    """Base files with the parts of their keys in indexes of files."""

    listing: FileListing

    def __len__(self) -> int:
        return self.listing.num_files

    @computed_once
    def paths(self) -> list[str]:
        """From the table's base path."""
        return self.listing.paths(np.arange(self.listing.num_files))

    @computed_once
    def names(self) -> list[str]:
        """The files' names."""
        return string_list(self.listing.file_name)

    @computed_once
    def partitions(self) -> list[str]:
        """The files' partitions."""
        return string_list(self.listing.partitions.take(self.listing.file_partition))

    def keys(self, column: str) -> AnyArray:
        """Return the key of each file's statistics of a column."""
        pairs = zip(self.partitions, self.name_ids, strict=True)
        keys = [column_partition_prefix(column, partition) + name for partition, name in pairs]
        return pa.array(keys, pa.string())

    @computed_once
    def name_ids(self) -> list[str]:
        """The hashes of the names in keys."""
        return [id128(name) for name in self.names]
