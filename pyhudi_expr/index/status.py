"""Which indexes a table has, and what has become of those that were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from pyhudi_expr.index.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.mdt.index_definitions import IndexDefinition, index_definitions
from pyhudi_expr.mdt.reader import FILES, METADATA_DIR, PARTITION_STATS, MetadataTable
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.timeline import Instant

_PREFIXES = {"secondary_index_": "secondary_index", "expr_index_": "expression"}


class State(str, Enum):
    """What a query can expect of an index."""

    ACTIVE = "active"
    """It covers the table's newest commit."""
    BUILDING = "building"
    """Nothing is pruned by it yet."""
    LAGGING = "lagging"
    """It covers an older commit; what was written since is read unpruned."""
    DROPPED = "dropped"
    """A writer whose settings do not enable it has deleted it; REFRESH INDEX brings it back."""


@dataclass(frozen=True)
class IndexStatus:
    """One index. covers: the newest commit that it covers, None: none; note: what a person should
    know, empty where all is well."""

    name: str
    kind: str
    columns: tuple[str, ...]
    store: Store
    partitions: tuple[str, ...]
    state: State
    covers: str | None
    note: str = ""


def statuses(table: HudiTable) -> list[IndexStatus]:
    """The table's indexes by name: those that are there, and those that are missed.

    Raises HudiError.
    """
    registry = Registry.read(table.storage)
    metadata = MetadataTable.open(table)
    table = table if metadata is None else metadata.table
    known = [_registered(table, metadata, index) for index in registry.indexes.values()]
    named = {partition for index in registry.indexes.values() for partition in index.partitions}
    found = [
        _found(table, metadata, name, definition)
        for name, definition in _unregistered(table, named)
    ]
    return sorted([*known, *found], key=lambda status: status.name)


def _registered(
    table: HudiTable, metadata: MetadataTable | None, index: RegisteredIndex
) -> IndexStatus:
    properties = table.properties
    covers = None if metadata is None else metadata.instant
    state, note = State.ACTIVE, ""
    if set(index.partitions) & properties.metadata_partitions_inflight:
        state, covers = State.BUILDING, None
    elif not set(index.partitions) <= properties.metadata_partitions:
        state, covers = State.DROPPED, None
        note = _how_it_went(table, index)
    elif covers != table.instant:
        state, note = State.LAGGING, f"the table's newest commit is {table.instant}"
    return IndexStatus(
        index.name, index.kind, index.columns, index.store, index.partitions, state, covers, note
    )


def _found(
    table: HudiTable, metadata: MetadataTable | None, name: str, definition: IndexDefinition | None
) -> IndexStatus:
    """The status of a metadata partition that nobody registered."""
    prefix = next((p for p in _PREFIXES if name.startswith(p)), "")
    unregistered = RegisteredIndex(
        name=name.removeprefix(prefix),
        kind=_PREFIXES.get(prefix, name),
        columns=() if definition is None else definition.fields,
        options={},
        store=Store.HUDI,
        partitions=(name,),
        created="",
    )
    return _registered(table, metadata, unregistered)


def _unregistered(
    table: HudiTable, registered: set[str]
) -> Iterator[tuple[str, IndexDefinition | None]]:
    properties = table.properties
    there = properties.metadata_partitions | properties.metadata_partitions_inflight
    definitions: Mapping[str, IndexDefinition] = index_definitions(table)
    for name in sorted(there - registered - {FILES, PARTITION_STATS}):
        yield name, definitions.get(name)


def _how_it_went(table: HudiTable, index: RegisteredIndex) -> str:
    """By which commit a partition of the index was lost, as far as the timelines tell."""
    dropper = _first_without(table, index)
    by = f"by the commit {dropper.requested} ({dropper.action})" if dropper else "by a writer"
    return f"deleted {by}, whose settings do not enable it; see writer_options, then refresh it"


def _first_without(table: HudiTable, index: RegisteredIndex) -> Instant | None:
    """The first write whose commit to the metadata table left a lost partition out."""
    if table.storage.stat(METADATA_DIR) is None:
        return next((i for i in table.timeline.writes if i.requested > index.created), None)
    metadata = HudiTable.at(table.storage.child(METADATA_DIR))
    lost = set(index.partitions) - table.properties.metadata_partitions
    writes = {i.requested: i for i in table.timeline.writes}
    candidate: Instant | None = None
    for instant in reversed(metadata.timeline.writes):
        written = metadata.commit_metadata(instant).written
        if lost & written.keys():
            break
        candidate = writes.get(instant.requested, candidate)
    return candidate
