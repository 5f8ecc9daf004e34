"""Run the checks of an audit, one metadata partition after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from pyhudi_expr.errors import CorruptFile, HudiError, UnsupportedTable
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import statuses
from pyhudi_expr.index.lookups.record_index import unusable_reason
from pyhudi_expr.manage.audit import expressions, file_lists, filters, structure
from pyhudi_expr.manage.audit.column_facts import FileFacts, MergedSlices, file_facts
from pyhudi_expr.manage.audit.column_statistics import (
    audited_columns,
    check_column_stats,
    check_log_stats,
)
from pyhudi_expr.manage.audit.findings import Audit, Fault, Finding
from pyhudi_expr.manage.audit.key_places import check_coverage, check_record_index
from pyhudi_expr.manage.audit.partition_statistics import check_partition_stats
from pyhudi_expr.manage.audit.remedies import with_remedies
from pyhudi_expr.manage.audit.scope import MOST, AuditedRecords, AuditedTable, written_slices
from pyhudi_expr.manage.audit.slice_keys import RowReader, SliceKeys, read_keys
from pyhudi_expr.manage.audit.structure import check_stored_keys
from pyhudi_expr.manage.audit.value_entries import check_values
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION_INDEX_PREFIX,
    FILES,
    HOODIE_DIR,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX_PREFIX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.extension import Extension

Progress = Callable[[int, int, str], None]
"""Called with what is done, of how much, and the unit."""


def no_progress(_done: int, _total: int, _what: str) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class AuditOptions:
    """What is audited, and how.

    Attributes:
        sample: The number of file slices to draw at random; None: all.
        seed: Draws them; the same seed draws the same slices.
    """

    sample: int | None = None
    seed: int = 0


RowChecks = Callable[[AuditedRecords, AuditedTable, Sequence[str], list[str]], Iterable[Finding]]
"""Checks indexes of rows and of functions instead of this process: of a metadata table's partitions
of these names. What cannot be checked is appended to the last argument."""


def audit(
    table: HudiTable,
    options: AuditOptions,
    progress: Progress = no_progress,
    row_checks: RowChecks | None = None,
) -> Audit:
    """Check the metadata of a table as it is now.

    Args:
        table: The table.
        options: What is checked.
        progress: Called as files are read.
        row_checks: Checks indexes of rows and of functions; None: this process does.

    Raises:
        HudiError: The table itself cannot be read: its properties, timeline or schema.
    """
    opened = structure.OpenedCatalog.of(table)
    catalog = opened.catalog
    run = _Run.begin(opened, options, progress, row_checks)
    indexes = [] if opened.findings else statuses(catalog)
    found = [*opened.findings, *run.findings()]
    newest = catalog.table.refreshed()
    if newest is not catalog.table:
        found = _of_current_files(found, newest)
        run.unchecked.append(
            f"files that were replaced or deleted since {catalog.table.instant}, while this ran: "
            f"the table is as of {newest.instant} now"
        )
    findings = with_remedies(found, table.base_path, indexes)
    whole = run.table.is_whole
    return Audit(
        table=table.base_path,
        instant=catalog.table.instant,
        checked=tuple(run.checked),
        findings=findings,
        unchecked=tuple(dict.fromkeys(run.unchecked)),
        slices=run.table.slices.num_slices,
        slices_total=run.table.every.num_slices,
        seed=None if whole else options.seed,
    )


def _of_current_files(findings: Sequence[Finding], newest: HudiTable) -> list[Finding]:
    """Return the findings that are not about files which have left the table's snapshot."""
    listing = newest.listing(TableView.SNAPSHOT)
    paths = {*listing.paths(np.arange(listing.num_files)), *listing.partition_paths, "."}
    return [one for one in findings if one.file.startswith(HOODIE_DIR) or one.file in paths]


@dataclass
class _Run:
    """An audit on its way."""

    opened: structure.OpenedCatalog
    options: AuditOptions
    progress: Progress
    row_checks: RowChecks | None
    table: AuditedTable
    checked: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @staticmethod
    def begin(
        opened: structure.OpenedCatalog,
        options: AuditOptions,
        progress: Progress,
        row_checks: RowChecks | None,
    ) -> _Run:
        catalog = opened.catalog
        every = written_slices(catalog.table)
        slices = _sampled(every, options)
        schema = catalog.table.schema()
        table = AuditedTable(catalog.table, slices, every, schema)
        return _Run(opened, options, progress, row_checks, table)

    @property
    def catalog(self) -> IndexCatalog:
        """The table's indexes."""
        return self.opened.catalog

    def findings(self) -> Iterator[Finding]:
        """Check everything."""
        yield from structure.check_names(self.catalog.table)
        yield from check_stored_keys(self.table, self.unchecked)
        hudi = self._hudi()
        if hudi is None:
            yield from islice(structure.check_written_files(self.catalog.table), MOST)
        else:
            yield from structure.check_timeline(hudi, self.table)
            yield from self._checked(hudi)
        extension = self.catalog.extension
        if extension is not None:
            yield from self._checked(self._of_extension(extension))

    def _hudi(self) -> AuditedRecords | None:
        metadata = self.catalog.metadata
        if metadata is None:
            return None
        return AuditedRecords(
            Store.HUDI,
            metadata,
            self.opened.definitions,
            self.table.slices,
            self.table.is_whole,
        )

    def _of_extension(self, extension: Extension) -> AuditedRecords:
        """Return the extension, which describes only the slices that it covers."""
        covered = extension.coverage.covered(self.catalog.table, self.table.slices)
        whole = self.table.is_whole and bool(covered.all())
        whole = whole and not extension.coverage.missing_from(self.table.every).any()
        return AuditedRecords(
            Store.EXTENSION,
            extension.records,
            extension.definitions,
            self.table.slices.some(covered),
            whole,
        )

    def _checked(self, records: AuditedRecords) -> Iterator[Finding]:
        readable: list[str] = []
        for partition in sorted(records.records.partitions):
            broken = self._structure(records, partition)
            if broken is None:
                continue
            yield from broken
            self.checked.append(f"{records.store.value} {partition}")
            if not any(one.fault in _UNUSABLE for one in broken):
                readable.append(partition)
        if self.table.table.properties.base_file_format != _PARQUET:
            self.unchecked.append("all but lists of files: the base files are not Parquet files")
            readable = [one for one in readable if one == FILES]
        checks = [self._lists, self._statistics, self._filters]
        if self.row_checks is None:
            checks += [self._rows, self._functions]
        for check in checks:
            yield from check(records, readable)
        if self.row_checks is not None:
            own = [one for one in readable if one.startswith(_OF_ROWS)]
            found = self.row_checks(records, self.table, own, self.unchecked)
            yield from self._guarded(records, RECORD_INDEX, found)

    def _structure(self, records: AuditedRecords, partition: str) -> list[Finding] | None:
        """Return what is wrong with a partition as a whole; None if it cannot be read here."""
        try:
            return list(structure.check_structure(records, partition))
        except UnsupportedTable as error:
            self.unchecked.append(f"{partition}: {error}")
            return None

    def _lists(self, records: AuditedRecords, wanted: list[str]) -> Iterator[Finding]:
        if FILES in wanted:
            stored = self.table.table.stored_files()
            found = file_lists.check_file_lists(records, self.table, stored)
            yield from self._guarded(records, FILES, found)

    def _statistics(self, records: AuditedRecords, wanted: list[str]) -> Iterator[Finding]:
        partitions = {COLUMN_STATS, PARTITION_STATS} & set(wanted)
        if not partitions or not records.slices.num_files:
            return
        columns = audited_columns(records, self.table, partitions)
        storage, bases = self.table.table.storage, records.bases.listing
        facts = file_facts(storage, bases, columns, self._advancing(bases.num_files, "footers"))
        yield from _damaged(records, facts)
        if COLUMN_STATS in wanted:
            found = check_column_stats(records, facts)
            yield from self._guarded(records, COLUMN_STATS, found)
            found = check_log_stats(records, self.table, columns, self.unchecked)
            yield from self._guarded(records, COLUMN_STATS, found)
            self._note_unknown(COLUMN_STATS, facts)
        if PARTITION_STATS in wanted:
            merged = MergedSlices.read(self.table.table, records.slices, columns)
            self.unchecked += [f"{PARTITION_STATS}: {why}" for why in merged.failures]
            found = check_partition_stats(records, facts, merged)
            yield from self._guarded(records, PARTITION_STATS, found)

    def _note_unknown(self, partition: str, facts: FileFacts) -> None:
        for column, own in facts.columns.items():
            count = int(np.count_nonzero(own.is_stored & ~own.is_known))
            if count > len(facts.damaged):
                self.unchecked.append(
                    f"{partition}: {column.name} of {count} files, whose values are not "
                    f"{column.type}"
                )

    def _rows(self, records: AuditedRecords, wanted: list[str]) -> Iterator[Finding]:
        indexes = [one for one in wanted if one.startswith(SECONDARY_INDEX_PREFIX)]
        if not (indexes or RECORD_INDEX in wanted) or not records.slices.num_slices:
            return
        reader = row_reader(records, self.table, indexes, self.unchecked)
        if reader is None:
            return
        advance = self._advancing(records.slices.num_slices, "slices")
        keys = read_keys(reader, records.slices, advance)
        self.unchecked += [f"{RECORD_INDEX}: {why}" for why in keys.failures]
        for partition, found in self._row_checks(records, wanted, reader, keys):
            yield from self._guarded(records, partition, found)

    def _row_checks(
        self, records: AuditedRecords, wanted: list[str], reader: RowReader, keys: SliceKeys
    ) -> Iterator[tuple[str, Iterable[Finding]]]:
        extension = self.catalog.extension
        if records.store is Store.EXTENSION and extension is not None:
            yield (
                "coverage",
                check_coverage(records, self.table, extension, keys.names, keys.rows, keys.unread),
            )
        if RECORD_INDEX in wanted:
            yield RECORD_INDEX, check_record_index(records, reader, keys)
        for index in reader.values:
            yield index, check_values(records, index, reader, keys)

    def _filters(self, records: AuditedRecords, wanted: list[str]) -> Iterator[Finding]:
        if BLOOM_FILTERS not in wanted or not len(records.bases):
            return
        advance = self._advancing(len(records.bases), "filters")
        try:
            truth = filters.record_key_filters(self.table.table)
        except HudiError as error:
            self.unchecked.append(f"{BLOOM_FILTERS}: {error}")
            return
        found = filters.check_filters(records, self.table.table, truth, advance)
        yield from self._guarded(records, BLOOM_FILTERS, found)

    def _functions(self, records: AuditedRecords, wanted: list[str]) -> Iterator[Finding]:
        for name in wanted:
            definition = records.definitions.get(name)
            if not name.startswith(EXPRESSION_INDEX_PREFIX) or definition is None:
                continue
            try:
                if definition.type == BLOOM_FILTERS:
                    truth = expressions.expression_filter(self.table, definition)
                    found = filters.check_filters(records, self.table.table, truth)
                else:
                    found = expressions.check_expression_bounds(records, self.table, definition)
                yield from self._guarded(records, name, found)
            except HudiError as error:
                self.unchecked.append(f"{error}; use --spark")

    def _guarded(
        self, records: AuditedRecords, partition: str, found: Iterable[Finding]
    ) -> Iterator[Finding]:
        """Return findings; an error while they are looked for is one, too."""
        try:
            yield from found
        except CorruptFile as error:
            yield records.unreadable(partition, error.file, error.reason, _READING)

    def _advancing(self, total: int, what: str) -> Callable[[int], None]:
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            self.progress(done, total, what)

        return advance


def row_reader(
    records: AuditedRecords, table: AuditedTable, indexes: Sequence[str], unchecked: list[str]
) -> RowReader | None:
    """Return what reads the rows for indexes of rows; None if these cannot be checked.

    Args:
        records: The metadata table with the indexes.
        table: The table.
        indexes: Its secondary indexes.
        unchecked: Why indexes cannot be checked is appended.
    """
    values = {}
    lacking_nulls = set()
    for name in indexes:
        definition = records.definitions.get(name)
        columns = () if definition is None else definition.fields
        column = table.columns.get(columns[0]) if len(columns) == 1 else None
        if column is None:
            unchecked.append(f"{name}: it is not over one column that the table has")
        else:
            values[name] = column
            if definition is not None and definition.version == _WITHOUT_NULLS:
                lacking_nulls.add(name)
    try:
        reason = unusable_reason(records.records) if records.store is Store.HUDI else ""
        if not reason:
            slices, store = records.slices, records.store
            of_nulls = frozenset(lacking_nulls) if store is Store.HUDI else frozenset[str]()
            return RowReader.of(table.table, slices.instant, values, store, of_nulls)
        unchecked.append(f"{RECORD_INDEX}: no query uses it, as {reason}")
    except HudiError as error:
        unchecked.append(f"{RECORD_INDEX}: {error}")
    return None


_PARQUET = "PARQUET"
_WITHOUT_NULLS = "V1"
"""The version of indexes in which Hudi 1.0 writes no entries of NULL. Later ones write them, but
not for rows that have been NULL since. Hudi's readers look up values alone, never NULL."""
_OF_ROWS = (RECORD_INDEX, SECONDARY_INDEX_PREFIX, EXPRESSION_INDEX_PREFIX)
_READING = "those that read the file"
_UNUSABLE = frozenset(
    {
        Fault.UNREADABLE,
        Fault.PARTITION_MISSING,
        Fault.FILE_LOST,
        Fault.DEFINITION_MISSING,
    }
)


def _sampled(every: FileListing, options: AuditOptions) -> FileListing:
    if options.sample is None or options.sample >= every.num_slices:
        return every
    chosen = np.zeros(every.num_slices, np.bool_)
    random = np.random.default_rng(options.seed)
    chosen[random.choice(every.num_slices, options.sample, replace=False)] = True
    return every.some(chosen)


def _damaged(records: AuditedRecords, facts: FileFacts) -> Iterator[Finding]:
    for at, why in facts.damaged.items():
        yield records.unreadable(FILES, records.bases.paths[at], why, _READING)
