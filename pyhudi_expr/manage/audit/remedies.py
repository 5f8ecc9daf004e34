"""What mends what an audit found: rebuilt indexes, or a metadata table made anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, statuses
from pyhudi_expr.manage.audit.findings import Audit, Fault, Finding, Severity
from pyhudi_expr.manage.building import Builder, build_index
from pyhudi_expr.manage.dropping import drop_index
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.index_plan import (
    EXPRESSION,
    EXPRESSION_OPTION,
    FOLLOWS_THE_FIRST,
    KINDS,
    STORE_OPTION,
    TYPE_OPTION,
    has_others_with_logs,
    plan_index,
)
from pyhudi_expr.manage.indexing.statements import CreateIndex, DropIndex
from pyhudi_expr.manage.operations import Action, Change
from pyhudi_expr.tables.hudi_names import (
    FILES,
    HOODIE_DIR,
    METADATA_DIR,
    PROPERTIES_FILE,
    RECORD_INDEX,
    SECONDARY_INDEX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes import bootstrap, partitions
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict
from pyhudi_expr.tables.mdt.extension import EXTENSION_DIR
from pyhudi_expr.tables.mdt.index_definitions import index_definitions
from pyhudi_expr.tables.pending_writes import wait_for_all_writers

_OF_FILES = frozenset({Fault.UNREADABLE, Fault.FILE_LOST, Fault.FILE_MISPLACED})
_WHOLE_TABLE = frozenset({FILES, "all"})
"""Partitions without which no other is right."""


@dataclass(frozen=True)
class Stored:
    """A directory below the table."""

    path: str
    files: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.path} ({self.files} files, {self.bytes:,} bytes)"


@dataclass(frozen=True)
class Repair:
    """What is done.

    Attributes:
        remakes: Whether Hudi's metadata table is deleted and made again, with its file lists.
        dropped: The indexes to drop, in this order, each with what that removes.
        removed: What the metadata table has beside these indexes.
        built: The indexes to build, in this order. They need Spark.
        mended: The findings that this mends.
        left: Findings that this does not mend, as texts.
    """

    table: str
    remakes: bool
    dropped: Mapping[str, tuple[Stored, ...]]
    removed: tuple[Stored, ...]
    built: tuple[CreateIndex, ...]
    mended: tuple[Finding, ...]
    left: tuple[str, ...]

    @property
    def operation(self) -> str:
        """The operation."""
        return "audit --repair"

    @property
    def changes(self) -> tuple[Change, ...]:
        """The directories that are removed, then what is made again."""
        gone = [one for each in self.dropped.values() for one in each]
        gone += self.removed if self.remakes else ()
        made = [Change(Action.WRITE, f"{METADATA_DIR}/{FILES}")] if self.remakes else []
        return (
            *(Change(Action.REMOVE, one.path, bytes=one.bytes) for one in gone),
            *made,
            *(Change(Action.WRITE, one.name) for one in self.built),
        )

    @property
    def steps(self) -> list[str]:
        """What is done, as lines for a person."""
        lines = [
            f"drop the index {name}: removes {_named(what)}" for name, what in self.dropped.items()
        ]
        if self.remakes:
            lines.append(
                "make Hudi's metadata table again from the storage's files: removes "
                f"{_named(self.removed)}"
            )
        return lines + [f"build the index {one.name} ({one.kind})" for one in self.built]


def _named(stored: Sequence[Stored]) -> str:
    return ", ".join(map(str, stored)) or "nothing"


def with_remedies(
    findings: Sequence[Finding], table: str, indexes: Sequence[IndexStatus]
) -> tuple[Finding, ...]:
    """Return the findings with what mends each."""
    return tuple(replace(one, remedy=_remedy(one, table, indexes)) for one in findings)


def _remedy(finding: Finding, table: str, indexes: Sequence[IndexStatus]) -> str:
    if finding.fault is Fault.FILE_MISPLACED:
        return "move the file back, or delete it if newer file slices have its rows"
    if finding.file == PROPERTIES_FILE:
        return "restore the file from a backup"
    if finding.fault in _OF_FILES and ".hoodie/" not in finding.file:
        return "restore the file from a backup, or the table to a savepoint"
    if finding.store is Store.HUDI and finding.partition in _WHOLE_TABLE:
        return f"pyhudi audit {table} --repair makes the metadata table again"
    if finding.fault is Fault.STORED_KEY_MISSING:
        return f"pyhudi virtual-keys disable {table} stores them again"
    index = _index_of(finding, indexes)
    if index is None:
        return f"pyhudi index drop {table} {finding.partition}"
    if not _can_be_built(index):
        return f"drop {index.name}, and let Hudi's writers build it again"
    return f"pyhudi audit {table} --repair drops {index.name} and builds it again"


def _index_of(finding: Finding, indexes: Sequence[IndexStatus]) -> IndexStatus | None:
    own = (one for one in indexes if one.store is finding.store)
    if finding.store is Store.EXTENSION and finding.partition not in {
        partition for one in indexes for partition in one.partitions
    }:
        # The record index below a secondary one, or what all of them share.
        return next((one for one in own if one.kind == SECONDARY_INDEX), None)
    return next((one for one in own if finding.partition in one.partitions), None)


def _can_be_built(index: IndexStatus) -> bool:
    return index.kind in KINDS and (bool(index.columns) or index.kind not in _WITH_COLUMNS)


_WITH_COLUMNS = frozenset(KINDS) - {RECORD_INDEX, "bloom_filters"}


def plan_repair(audit: Audit, catalog: IndexCatalog) -> Repair:
    """Plan how to mend the findings of an audit.

    Raises:
        HudiError: The table's indexes cannot be read.
    """
    indexes = statuses(catalog)
    remakes = any(f.store is Store.HUDI and f.partition in _WHOLE_TABLE for f in audit.findings)
    left = [f"{one.file}: {one.remedy}" for one in audit.findings if _is_of_data(one)]
    found = {
        index.name: index
        for finding in audit.findings
        if (index := _index_of(finding, indexes)) is not None
    }
    wrong = dict(found)
    for one in indexes:
        with_others = one.store is Store.HUDI and remakes
        needs_record_index = one.kind == SECONDARY_INDEX and any(
            other.kind == RECORD_INDEX and other.store is one.store for other in found.values()
        )
        if with_others or needs_record_index:
            wrong.setdefault(one.name, one)
    # Secondary indexes need the record index: they go first, and come last.
    ordered = sorted(wrong.values(), key=lambda one: one.kind != SECONDARY_INDEX)
    unbuilt = {one.name: why for one in ordered if (why := _why_not_built(catalog, one))}
    harmless = set[str]() if remakes else unbuilt.keys() - _harmful(audit, indexes)
    left += [
        f"{name} only costs time, and cannot be built again ({why}): it stays as it is"
        if name in harmless
        else f"{name} is dropped, and not built again: {why}"
        for name, why in unbuilt.items()
    ]
    ordered = [one for one in ordered if one.name not in harmless]
    names = {one.name for one in ordered}
    mended = tuple(
        one
        for one in audit.findings
        if (remakes and one.store is Store.HUDI and not _is_of_data(one))
        or ((index := _index_of(one, indexes)) is not None and index.name in names)
    )
    named = {partition for one in indexes for partition in one.partitions}
    others = sorted(catalog.table.properties.metadata_partitions - named)
    return Repair(
        table=audit.table,
        remakes=remakes,
        dropped={one.name: _stored(catalog, one.store, one.partitions) for one in ordered},
        removed=_stored(catalog, Store.HUDI, [*others, HOODIE_DIR]),
        built=tuple(
            _creation(catalog, one) for one in reversed(ordered) if one.name not in unbuilt
        ),
        mended=mended,
        left=tuple(left),
    )


def _why_not_built(catalog: IndexCatalog, index: IndexStatus) -> str:
    """Return why an index cannot be built after it was dropped; "" if it can."""
    if not _can_be_built(index):
        return "Hudi's writers build it"
    properties = catalog.table.properties
    if index.store is Store.HUDI and index.kind == SECONDARY_INDEX:
        own = [one for one in index.partitions if one != RECORD_INDEX]
        if has_others_with_logs(properties, own[0]):
            return FOLLOWS_THE_FIRST
    try:
        plan_index(catalog.table, _creation(catalog, index))
    except HudiError as refusal:
        return str(refusal)
    return ""


def _is_of_data(finding: Finding) -> bool:
    """Return whether a finding is about a data file, which is not touched."""
    return finding.fault is Fault.STORED_KEY_MISSING or (
        finding.fault in _OF_FILES and ".hoodie/" not in finding.file
    )


def _harmful(audit: Audit, indexes: Sequence[IndexStatus]) -> set[str]:
    """Return the indexes by which queries lose rows, or fail."""
    worse = (one for one in audit.findings if one.severity is not Severity.SLOWER)
    return {index.name for one in worse if (index := _index_of(one, indexes)) is not None}


def _stored(catalog: IndexCatalog, store: Store, partitions: Sequence[str]) -> tuple[Stored, ...]:
    """Return which directories partitions are in, and how much is in them."""
    root = METADATA_DIR if store is Store.HUDI else EXTENSION_DIR
    storage = catalog.table.storage
    found = []
    for name in partitions:
        files = [one for one in storage.list(f"{root}/{name}", recursive=True) if one.is_file]
        if files:
            size = sum(one.size for one in files)
            found.append(Stored(f"{root}/{name}", len(files), size))
    return tuple(found)


def _creation(catalog: IndexCatalog, index: IndexStatus) -> CreateIndex:
    """Return the statement that builds an index as it was: as registered, or as Hudi defines it."""
    known = catalog.registered.get(index.name)
    options = {STORE_OPTION: index.store.value}
    if known is not None:
        options |= known.options
    elif index.kind == EXPRESSION:
        (partition,) = index.partitions
        definition = index_definitions(catalog.table)[partition]
        own = {EXPRESSION_OPTION: definition.function, TYPE_OPTION: definition.type}
        options |= {**definition.options, **own}
    return CreateIndex(index.name, catalog.table.base_path, index.kind, index.columns, options)


@dataclass(frozen=True)
class TableRepair:
    """The repair of what an audit found.

    Attributes:
        found: The audit.
        options: How indexes are built, and which lock is taken.
        build: Builds an index.
        audited: Audits the table again.
        say: Called with each step before it is done.
    """

    found: Audit
    options: BuildOptions
    build: Builder
    audited: Callable[[], Audit]
    say: Callable[[str], None]

    def plan(self) -> Repair:
        """Return what mends the findings. Raises HudiError."""
        return plan_repair(self.found, IndexCatalog.open(HudiTable.open(self.found.table)))

    def check(self, plan: Repair) -> None:
        """Check that what is dropped can be built again: no writer is left that builds wait for.

        Where Hudi's metadata table is made again, the table's lock is needed, too.
        """
        table = HudiTable.open(plan.table)
        if plan.built:
            wait_for_all_writers(table, self.options.wait, IndexConflict)
        if plan.remakes:
            self.options.lock(table.storage).check()

    def act(self, plan: Repair) -> None:
        """Drop what is wrong, and build it again: an index that is not there loses no row."""
        steps = iter(plan.steps)
        for name in plan.dropped:
            self.say(next(steps))
            drop_index(DropIndex(name, plan.table, if_exists=True), self.options)
        if plan.remakes:
            self.say(next(steps))
            table = HudiTable.open(plan.table)
            lock = self.options.lock(table.storage)
            partitions.drop(table, sorted(table.properties.metadata_partitions), lock)
            bootstrap.ensure_metadata_table(table.refreshed(), lock)
        for request in plan.built:
            self.say(next(steps))
            build_index(replace(request, if_not_exists=True), self.options, self.build)

    def verify(self, plan: Repair, done: None) -> Audit:
        """Audit the table again, and check that no finding is left that should be mended."""
        after = self.audited()
        left = {_identity(one) for one in after.findings} & {_identity(one) for one in plan.mended}
        if left:
            partition, fault, place = min(left)
            raise HudiError(
                f"{len(left)} findings are left, such as {fault} of {partition} in {place}"
            )
        return after

    def restore(self, plan: Repair) -> str:
        """Leave what was dropped: it was wrong, and queries read more files without it."""
        return "no data file was touched; run it again, which builds what is missing"


def _identity(finding: Finding) -> tuple[str, str, str]:
    """Return what makes two findings of several audits the same."""
    return f"{finding.store.value} {finding.partition}", finding.fault.value, finding.place
