"""Virtual keys turned on and off, and files rewritten with and without stored keys.

`enable` changes properties only: files keep their column, and rows that are written from then on
have neither a key nor a commit time. `rewrite` leaves the column out of old files. `disable` first
writes the slices anew in which a row has no key, while the table still has virtual keys, so that
each of its commits leaves a table that all can use; then statistics of the meta columns, which
Hudi's writers have left out. The properties change last, when no row lacks its key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.invariants import (
    SliceKeys,
    active_indexes,
    require_clusterable,
    require_stored_keys,
    slices_without_keys,
    stopped_indexes,
    stored_keys,
)
from pyhudi_expr.manage.operations import Action, Change, run
from pyhudi_expr.manage.virtual_key_settings import (
    VirtualKeySettings,
    check_rewritable,
    key_statistics,
    merge_definition,
    outdated_statistics,
    require_enabling,
    require_no_hudi_key_indexes,
    require_no_key_indexes,
    settings_disabled,
    settings_enabled,
)
from pyhudi_expr.tables import hudi_names, properties
from pyhudi_expr.tables.hudi_names import METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import KeyDefinition, is_virtual
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.pending_writes import writers_at_work
from pyhudi_expr.tables.storage import Storage

_PURPOSE = "virtual keys"
Settings = tuple[tuple[str, str | None], ...]
"""Properties with their values; None: there is none."""


@dataclass(frozen=True)
class KeyPlan:
    """What changes.

    Attributes:
        slices: The file slices that are written anew.
        before: The properties that the operation is about, as they are.
        after: The same, as they will be.
        statistics: The metadata partitions that are built anew.
        indexes: The indexes that answer.
    """

    operation: str
    table: str
    slices: tuple[SliceKeys, ...]
    statistics: tuple[str, ...]
    before: Settings
    after: Settings
    indexes: frozenset[str] = field(compare=False)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The files that are replaced, then statistics, then the properties."""
        files = [change for one in self.slices for change in _replaced(one)]
        built = [Change(Action.WRITE, f"{METADATA_DIR}/{name}") for name in self.statistics]
        settings = [
            Change(Action.REMOVE, key) if value is None else Change(Action.SET, key, value)
            for key, value in self.after
            if (key, value) not in self.before
        ]
        return (*files, *built, *settings)


@dataclass(frozen=True)
class Rewritten:
    """What a rewriter has done.

    Attributes:
        instants: The instants of its commits.
        file_groups: Number of rewritten file groups.
        skipped: Number of file groups with pending compactions or clusterings.
    """

    instants: tuple[str, ...] = ()
    file_groups: int = 0
    skipped: int = 0


class SliceRewriter(Protocol):
    """Writes file slices anew by Hudi's clustering, with the same rows."""

    def __call__(self, slices: Sequence[SliceKeys]) -> Rewritten:
        """Rewrite them, in commits each of which leaves the table whole. Raises HudiError."""


class StatisticsBuilder(Protocol):
    """Builds the table's `column_stats` anew, with its `partition_stats`, of the same columns."""

    def __call__(self) -> tuple[str, ...]:
        """Build them; return what was left out, as sentences. Raises HudiError."""


@dataclass(frozen=True)
class KeyReport:
    """The report.

    Attributes:
        rewritten: What was written anew.
        notes: Indexes that do not answer any more, or not for all.
    """

    rewritten: Rewritten
    notes: tuple[str, ...]


def enable(table: HudiTable, settings: VirtualKeySettings, lock: TableLock) -> KeyDefinition:
    """Enable virtual keys in the table's properties, under its lock; return the definition.

    On a table that has virtual keys, `keep_column` may still end the contingency.

    Raises:
        HudiError: The request is refused, and nothing is changed.
    """
    return run(EnableVirtualKeys(table.storage, settings, lock))


@dataclass(frozen=True)
class EnableVirtualKeys:
    """Readers make the keys, and writers leave them out from now on."""

    storage: Storage
    settings: VirtualKeySettings
    lock: TableLock

    def plan(self) -> KeyPlan:
        """Return the properties that change."""
        table = HudiTable.at(self.storage)
        definition = merge_definition(table, self.settings)
        after = settings_enabled(table, definition, self.settings)
        return _plan("virtual-keys enable", table, (), (), after)

    def check(self, plan: KeyPlan) -> None:
        """Check the definition, and that no index is in the way."""
        self.lock.check()
        table = HudiTable.at(self.storage)
        require_enabling(table, merge_definition(table, self.settings), self.settings)

    def act(self, plan: KeyPlan) -> None:
        """Change the properties."""
        with self.lock.held(_PURPOSE) as lease:
            self.check(plan)
            if self.plan() != plan:
                raise HudiError("the table's properties were changed meanwhile; try again")
            lease.check()
            properties.update(self.storage, dict(plan.after))

    def verify(self, plan: KeyPlan, done: None) -> KeyDefinition:
        """Check the properties, and return the definition of the keys."""
        table = HudiTable.at(self.storage)
        _require_settings(table, plan.after)
        return merge_definition(table, self.settings)

    def restore(self, plan: KeyPlan) -> str:
        """Put the properties back."""
        _put_back(self.lock, plan)
        return "the properties are as before, and no file was written"


@dataclass(frozen=True)
class RewriteWithoutKeys:
    """Files that have stored keys are written anew without.

    Hudi's clustering makes no statistics of meta columns without values, and leaves those of
    partitions, which say that no row lacks an instant: Hudi's readers would skip rows by them.

    Attributes:
        partitions: Paths of partitions. None: all.
    """

    storage: Storage
    partitions: Collection[str] | None
    rewriter: SliceRewriter
    builder: StatisticsBuilder

    def plan(self) -> KeyPlan:
        """Return the slices that have stored keys, and the statistics to build.

        Raises:
            HudiError: A partition does not exist, or writers still write keys.
        """
        table = HudiTable.at(self.storage)
        check_rewritable(table)
        slices = self._slices(table)
        built = key_statistics(table) if slices else outdated_statistics(table)
        return _plan("virtual-keys rewrite", table, slices, built, {})

    def check(self, plan: KeyPlan) -> None:
        """Check that the files can be rewritten by clustering."""
        require_clusterable(HudiTable.at(self.storage))

    def act(self, plan: KeyPlan) -> KeyReport:
        """Rewrite the slices, and build statistics of the files without keys."""
        done = self.rewriter(plan.slices) if plan.slices else Rewritten()
        notes = self.builder() if outdated_statistics(HudiTable.at(self.storage)) else ()
        return KeyReport(done, notes)

    def verify(self, plan: KeyPlan, done: KeyReport) -> KeyReport:
        """Check that no planned slice is left but those with pending table services."""
        table = HudiTable.at(self.storage)
        planned = {(one.slice.partition, one.slice.file_id) for one in plan.slices}
        left = [one.slice for one in self._slices(table)]
        left = [one for one in left if (one.partition, one.file_id) in planned]
        if len(left) > done.rewritten.skipped:
            raise HudiError(f"{left[0].name} still has stored keys")
        return replace(done, notes=(*done.notes, *stopped_indexes(table, plan.indexes)))

    def restore(self, plan: KeyPlan) -> str:
        """Leave what was committed, which has the same rows."""
        return "rows and properties are as before; commits that were complete stay, run it again"

    def _slices(self, table: HudiTable) -> tuple[SliceKeys, ...]:
        listing = table.listing()
        unknown = sorted(set(self.partitions or ()) - set(listing.partitions.to_pylist()))
        if unknown:
            raise HudiError(f"{table.base_path}: there is no partition with files {unknown[0]!r}")
        return tuple(
            one
            for one in stored_keys(table, listing)
            if one.has_keys and (self.partitions is None or one.slice.partition in self.partitions)
        )


@dataclass(frozen=True)
class DisableVirtualKeys:
    """Each row gets its stored key, then readers and writers use the stored ones.

    It also mends a table that says that it stores its keys, and lacks some.
    """

    storage: Storage
    lock: TableLock
    rewriter: SliceRewriter
    builder: StatisticsBuilder

    def plan(self) -> KeyPlan:
        """Return the slices in which a row has no key, and the properties that change.

        Raises:
            HudiError: The table has no virtual keys, and lacks none.
        """
        table = HudiTable.at(self.storage)
        slices = tuple(slices_without_keys(table))
        if not is_virtual(table.properties) and not slices:
            raise HudiError(f"{table.base_path}: the table has no virtual keys")
        built = key_statistics(table) if slices else outdated_statistics(table)
        return _plan("virtual-keys disable", table, slices, built, settings_disabled(table))

    def check(self, plan: KeyPlan) -> None:
        """Check that no index is in the way, and that Hudi can rewrite the slices."""
        self.lock.check()
        table = HudiTable.at(self.storage)
        require_no_key_indexes(table)
        if plan.slices:
            require_no_hudi_key_indexes(table)
            require_clusterable(table)

    def act(self, plan: KeyPlan) -> KeyReport:
        """Rewrite the slices, build statistics, then change the properties if no writer works."""
        done = self._rewritten(plan) if plan.slices else Rewritten()
        notes = self.builder() if outdated_statistics(HudiTable.at(self.storage)) else ()
        with self.lock.held(_PURPOSE) as lease:
            table = HudiTable.at(self.storage)
            require_no_key_indexes(table)
            at_work = sorted(writers_at_work(table))
            if at_work:
                raise HudiError(
                    f"writers are at work ({', '.join(at_work)}), which would write rows without "
                    "keys; try again when they are done, or roll them back if they are gone"
                )
            require_stored_keys(table)
            lease.check()
            properties.update(self.storage, settings_disabled(table))
        return KeyReport(done, notes)

    def verify(self, plan: KeyPlan, done: KeyReport) -> KeyReport:
        """Check the properties, and that each row has its key, and each file its statistics."""
        table = HudiTable.at(self.storage)
        _require_settings(table, plan.after)
        require_stored_keys(table)
        if outdated_statistics(table):
            raise HudiError("column_stats lacks entries of stored keys: another writer is at work")
        return replace(done, notes=(*done.notes, *stopped_indexes(table, plan.indexes)))

    def restore(self, plan: KeyPlan) -> str:
        """Put the properties back; slices that were rewritten keep their keys, and their rows."""
        _put_back(self.lock, plan)
        return (
            "rows and properties are as before; slices whose keys are stored by now stay, run it "
            "again"
        )

    def _rewritten(self, plan: KeyPlan) -> Rewritten:
        table = HudiTable.at(self.storage)
        if table.properties.meta_fields:  # Hudi must merge by keys that it makes
            with self.lock.held(_PURPOSE) as lease:
                lease.check()
                properties.update(self.storage, {hudi_names.POPULATE_META_FIELDS: "false"})
        done = self.rewriter(plan.slices)
        if done.skipped:
            raise HudiError(
                f"{done.skipped} file groups have a pending compaction or clustering; run it "
                "(CALL run_compaction, run_clustering), then try again"
            )
        return done


def _plan(
    operation: str,
    table: HudiTable,
    slices: tuple[SliceKeys, ...],
    statistics: tuple[str, ...],
    after: Mapping[str, str | None],
) -> KeyPlan:
    raw = table.properties.raw
    return KeyPlan(
        operation,
        table.base_path,
        slices,
        statistics,
        tuple((key, raw.get(key)) for key in sorted(after)),
        tuple(sorted(after.items())),
        active_indexes(table),
    )


def _replaced(one: SliceKeys) -> list[Change]:
    base = [] if one.slice.base is None else [one.slice.base]
    return [
        *(Change(Action.REPLACE, one.slice.path(name), bytes=one.bytes) for name in base),
        *(Change(Action.REPLACE, one.slice.path(name)) for name in one.slice.logs),
    ]


def _require_settings(table: HudiTable, expected: Settings) -> None:
    for key, value in expected:
        found = table.properties.raw.get(key)
        if found != value:
            raise HudiError(
                f"{key} is {found!r} afterwards, and not {value!r}: another writer changed "
                "hoodie.properties"
            )


def _put_back(lock: TableLock, plan: KeyPlan) -> None:
    with lock.held(_PURPOSE) as lease:
        lease.check()
        properties.update(lock.storage, dict(plan.before))
