"""The status of a table's indexes, existing and missing ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import Enum

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog, missing_metadata, unopened
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Store, kind_of
from pyhudi_expr.index.lookups.record_index import RecordIndex, record_index, unusable_reason
from pyhudi_expr.index.lookups.secondary_index import SecondaryIndex, secondary_indexes
from pyhudi_expr.index.lookups.value_places import AnsweredSlices
from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    FILES,
    METADATA_DIR,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.extension_changes import Extension
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition, index_definitions
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.tables.timeline import WRITE_ACTIONS, Instant

_RESTORE = "restore"
_MAY_DROP = WRITE_ACTIONS | {_RESTORE, "rollback"}
"""The actions of writers that may delete indexes which their settings do not enable."""


class State(str, Enum):
    """Whether a query can use an index."""

    ACTIVE = "active"
    """It covers the table's newest commit."""
    BUILDING = "building"
    """Nothing is pruned by it yet."""
    LAGGING = "lagging"
    """It covers an older commit; what was written since is read unpruned."""
    DROPPED = "dropped"
    """A writer whose settings do not enable it has deleted it, or a restore took it back; REFRESH
    INDEX brings it back."""
    PARTIAL = "partial"
    """Queries trust it about some file slices only, and read the others; the note says how many and
    why. Only `checked_statuses` reports it."""
    BROKEN = "broken"
    """Its files are gone or damaged, and no query uses it; the note says which."""
    DOUBTED = "doubted"
    """Queries do not trust it about any file slice, or it lacks entries; the note says why. Only
    `checked_statuses` reports it."""


_IN_USE = frozenset({State.ACTIVE, State.LAGGING})
"""The states in which queries read the index's files."""


@dataclass(frozen=True)
class IndexStatus:
    """The status of one index.

    Attributes:
        covers: The newest commit that the index covers; None if it covers none.
        note: What a user should know; empty if all is well.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    store: Store
    partitions: tuple[str, ...]
    state: State
    covers: str | None
    note: str = ""


def index_statuses(table: HudiTable) -> list[IndexStatus]:
    """Return the indexes of a table by name: those that exist, and those that are missing.

    Raises:
        HudiError: The table cannot be read.
    """
    return statuses(IndexCatalog.open(table))


def statuses(catalog: IndexCatalog) -> list[IndexStatus]:
    """Return the indexes of a catalog by name, see `index_statuses`. Raises HudiError."""
    table, metadata = catalog.table, catalog.metadata
    registered = catalog.registered.values()
    own = [index for index in registered if index.store is Store.EXTENSION]
    others = [index for index in registered if index.store is Store.HUDI]
    named = {partition for index in others for partition in index.partitions}
    made_by_hudi = [
        _unregistered(table, name, definition)
        for name, definition in _unregistered_partitions(table, named)
    ]
    missing = missing_metadata(catalog)
    of_hudi = [_registered(table, metadata, index, missing) for index in (*others, *made_by_hudi)]
    every = [*of_hudi, *_extension_statuses(table, catalog.extension, own)]
    return sorted(every, key=lambda status: status.name)


def index_status(table: HudiTable, name: str) -> IndexStatus | None:
    """Return the index of this name; if there is none, one with a metadata partition of this name.

    Raises:
        HudiError: The table cannot be read.
    """
    found = index_statuses(table)
    named = (status for status in found if status.name == name)
    holding = (status for status in found if name in status.partitions)
    return next(named, None) or next(holding, None)


def no_such_index(table: HudiTable, name: str) -> str:
    """Return the message that there is no index of this name, with the nearest one.

    Raises:
        HudiError: The table cannot be read.
    """
    names = [status.name for status in index_statuses(table)]
    near = get_close_matches(name, names, 1, 0.5)
    hint = f"; is it {near[0]}?" if near else ""
    return f"{table.base_path}: there is no index {name!r}{hint}"


def checked_statuses(catalog: IndexCatalog) -> list[IndexStatus]:
    """Return the indexes of a catalog by name, each checked whether queries trust its entries.

    This may count entries, which takes some seconds. A record index of Hudi's metadata table may
    exist, cover every commit, and still lack keys: Flink's writers with Hudi 0.14 delete entries
    and add none. Secondary indexes are resolved through the record index.

    Raises:
        HudiError: The table cannot be read.
    """
    found = _opened(catalog, statuses(catalog))
    counted = [status for status in found if _needs_record_index(status)]
    if not counted or catalog.metadata is None:
        return found
    accounts = _Accounts.of(catalog.metadata, counted)
    return [_checked(status, accounts) for status in found]


def is_broken(catalog: IndexCatalog, status: IndexStatus) -> bool:
    """Return whether the files of an index are gone or damaged, so that no query uses it."""
    return _opened(catalog, [status])[0].state is State.BROKEN


def _opened(catalog: IndexCatalog, found: Sequence[IndexStatus]) -> list[IndexStatus]:
    """Return the statuses after the indexes' files were opened."""
    extension = None if catalog.extension is None else catalog.extension.records
    of_store = {Store.HUDI: catalog.metadata, Store.EXTENSION: extension}
    whys = unopened(
        [of_store[one.store] if one.state in _IN_USE else None for one in found],
        [one.partitions for one in found],
    )
    return [
        replace(one, state=State.BROKEN, covers=None, note=f"{why}; refresh it") if why else one
        for one, why in zip(found, whys, strict=True)
    ]


def _needs_record_index(status: IndexStatus) -> bool:
    by_key = status.kind in (RECORD_INDEX, SECONDARY_INDEX)
    return by_key and status.store is Store.HUDI and status.state is State.ACTIVE


@dataclass(frozen=True)
class _Accounts:
    """For how many slices queries trust the indexes of keys and values.

    Attributes:
        state: That of the record index.
        note: Why it is not trusted.
        of_values: For each secondary index by its metadata partition, the account, or why there is
            none. Queries do not use indexes that are not here.
    """

    state: State
    note: str
    of_values: Mapping[str, AnsweredSlices | HudiError]

    @staticmethod
    def of(metadata: MetadataTable, statuses: Sequence[IndexStatus]) -> _Accounts:
        """Account for these indexes, all that the network allows at once."""
        wanted = {partition for status in statuses for partition in status.partitions}
        try:
            listing = current_listing(metadata.table, metadata, TableView.SNAPSHOT)
            records = record_index(metadata, listing)
            indexes = [] if records is None else secondary_indexes(metadata, listing, records)
        except HudiError as error:
            return _Accounts(State.DOUBTED, f"queries cannot read it: {error}", {})
        for partition in sorted(wanted):
            metadata.announce(partition)
        state, note = _record_index_state(metadata, records)
        chosen = [index for index in indexes if index.name in wanted]
        found = metadata.table.storage.at_once(_account, chosen)
        names = [index.name for index in chosen]
        return _Accounts(state, note, dict(zip(names, found, strict=True)))


def _account(index: SecondaryIndex) -> AnsweredSlices | HudiError:
    try:
        return index.account()
    except HudiError as error:
        return error


def _checked(status: IndexStatus, accounts: _Accounts) -> IndexStatus:
    """Return the status of an index, given how far queries trust the indexes of the table."""
    if not _needs_record_index(status):
        return status
    if status.kind == RECORD_INDEX:
        return replace(status, state=accounts.state, note=accounts.note)
    of_records = f"; its record index: {accounts.note}" if accounts.note else ""
    found = next((accounts.of_values.get(name) for name in status.partitions), None)
    if isinstance(found, HudiError):
        return replace(status, state=State.DOUBTED, note=f"queries cannot read it: {found}")
    if found is None:
        return replace(status, state=State.DOUBTED, note=f"queries do not use it{of_records}")
    if found.answered == found.slices:
        return status
    answers = f"it answers for {found.answered} of {found.slices} file slices, and the others "
    notes = [f"{answers}are read whatever the value is{of_records}"]
    if found.lacking:
        notes.append(f"it lacks values of their rows ({found.lacking} file slices); refresh it")
    if found.unreadable:
        notes.append(
            f"their rows cannot be compared with it ({found.unreadable} file slices); compact the "
            "table"
        )
    if found.unread:
        notes.append(f"their rows have not been compared with it ({found.unread} file slices)")
    state = State.PARTIAL if found.answered else State.DOUBTED
    return replace(status, state=state, note="; ".join(notes))


def account_of_values(metadata: MetadataTable, status: IndexStatus) -> AnsweredSlices | None:
    """Return for how many slices queries trust a secondary index of Hudi's metadata table.

    None if they do not use it at all.

    Raises:
        HudiError: An index cannot be read.
    """
    accounts = _Accounts.of(metadata, [status])
    found = next((accounts.of_values.get(name) for name in status.partitions), None)
    if isinstance(found, HudiError):
        raise found
    return found


def _record_index_state(metadata: MetadataTable, index: RecordIndex | None) -> tuple[State, str]:
    """Return whether queries trust the record index, and why not.

    Missing entries are a defect of the index. Rows that cannot be read here are not: these are rows
    of log files, until compaction.
    """
    try:
        account = None if index is None else index.account()
    except HudiError as error:
        return State.DOUBTED, f"queries cannot read it: {error}"
    if account is None:
        why = unusable_reason(metadata) or "it does not describe the newest snapshot"
        return State.DOUBTED, f"queries do not use it: {why}"
    notes = []
    read = f"of {account.slices} file slices are read whatever the key is, as"
    if account.lacking:
        notes.append(
            f"{account.lacking} {read} it lacks keys of their rows: a writer left keys out, or "
            "wrote keys twice; refresh it, or build it with store = 'extension'"
        )
    if account.unreadable:
        notes.append(
            f"{account.unreadable} {read} their rows cannot be compared with it; compact the table"
        )
    if account.unread:
        notes.append(f"{account.unread} {read} their rows have not been compared with it")
    return (State.DOUBTED if account.lacking else State.ACTIVE), "; ".join(notes)


def _extension_statuses(
    table: HudiTable, extension: Extension | None, registered: Sequence[RegisteredIndex]
) -> list[IndexStatus]:
    """Return the status of the extension's indexes, which all cover the same commits."""
    there = frozenset[str]() if extension is None else extension.partitions
    named = {partition for index in registered for partition in index.partitions}
    # The record index is created with the first secondary index.
    every = [
        *registered,
        *(_unnamed(name, None, Store.EXTENSION) for name in sorted(there - named - {RECORD_INDEX})),
    ]
    return [_extension_status(table, extension, index) for index in every]


def _extension_status(
    table: HudiTable, extension: Extension | None, index: RegisteredIndex
) -> IndexStatus:
    state, covers, note = State.DROPPED, None, "it is gone from the extension; refresh it"
    if extension is not None and set(index.partitions) <= extension.partitions:
        lacking = extension.coverage.first_uncovered(table)
        state, covers, note = State.ACTIVE, extension.coverage.newest, ""
        if lacking is not None:
            state = State.LAGGING
            note = f"the first that it does not cover is {lacking.requested} ({lacking.action})"
    return IndexStatus(
        index.name, index.kind, index.columns, index.store, index.partitions, state, covers, note
    )


def _registered(
    table: HudiTable, metadata: MetadataTable | None, index: RegisteredIndex, missing: str
) -> IndexStatus:
    """Return the status of an index of Hudi's metadata table; `missing`: why that is not there."""
    properties = table.properties
    covers = None if metadata is None else metadata.instant
    state, note = State.ACTIVE, ""
    if set(index.partitions) & properties.metadata_partitions_inflight:
        state, covers = State.BUILDING, None
    elif not set(index.partitions) <= properties.metadata_partitions:
        state, covers = State.DROPPED, None
        note = _how_it_went(table, index)
    elif missing:
        state, note = State.BROKEN, missing
    elif covers != table.instant:
        state, note = State.LAGGING, f"the table's newest commit is {table.instant}"
    return IndexStatus(
        index.name, index.kind, index.columns, index.store, index.partitions, state, covers, note
    )


def _unregistered(
    table: HudiTable, name: str, definition: IndexDefinition | None
) -> RegisteredIndex:
    """Return an index that is not registered, by its metadata partition."""
    index = _unnamed(name, definition, Store.HUDI)
    properties = table.properties
    there = properties.metadata_partitions | properties.metadata_partitions_inflight
    if name == COLUMN_STATS and PARTITION_STATS in there:
        return replace(index, partitions=(COLUMN_STATS, PARTITION_STATS))
    return index


def _unnamed(partition: str, definition: IndexDefinition | None, store: Store) -> RegisteredIndex:
    kind, name = kind_of(partition)
    return RegisteredIndex(
        name=name,
        kind=kind,
        columns=() if definition is None else definition.fields,
        options={},
        store=store,
        partitions=(partition,),
        created="",
    )


def _unregistered_partitions(
    table: HudiTable, registered: set[str]
) -> Iterator[tuple[str, IndexDefinition | None]]:
    properties = table.properties
    there = properties.metadata_partitions | properties.metadata_partitions_inflight
    definitions: Mapping[str, IndexDefinition] = index_definitions(table)
    for name in sorted(there - registered - {FILES, PARTITION_STATS}):
        yield name, definitions.get(name)


def _how_it_went(table: HudiTable, index: RegisteredIndex) -> str:
    """Return which action deleted a partition of the index, as far as the timelines show."""
    dropper = _first_without(table, index)
    if dropper is not None and dropper.action == _RESTORE:
        return f"deleted by the restore {dropper.requested}, which took it back; refresh it"
    by = f"by the commit {dropper.requested} ({dropper.action})" if dropper else "by a writer"
    return f"deleted {by}, whose settings do not enable it; see writer_options, then refresh it"


def _first_without(table: HudiTable, index: RegisteredIndex) -> Instant | None:
    """Return the first action after the index was built and last written.

    That is after the last commit to the metadata table that wrote to a lost partition. (A restore
    removes such commits.)
    """
    lost = set(index.partitions) - table.properties.metadata_partitions
    last = max(index.created, _last_written(table, lost))
    later = (i for i in table.timeline.instants if i.requested > last and i.is_completed)
    return next((i for i in later if i.action in _MAY_DROP), None)


def _last_written(table: HudiTable, partitions: Set[str]) -> str:
    """Return the newest commit to the metadata table that wrote to one of the partitions, or ""."""
    if table.storage.stat(METADATA_DIR) is None:
        return ""
    metadata = HudiTable.at(table.storage.child(METADATA_DIR))
    for instant in reversed(metadata.timeline.writes):
        if partitions & metadata.commit_metadata(instant).written.keys():
            return instant.requested
    return ""
