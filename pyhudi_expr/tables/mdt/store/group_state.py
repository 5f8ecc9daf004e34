"""What determines the records of file groups, as values for JSON; equal ones have equal records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from pyhudi_expr.tables.mdt.store.block_cache import BlockId
from pyhudi_expr.tables.mdt.store.file_group import FileGroup

GroupState: TypeAlias = list[Any]
"""The state of the base file (`base_state`), and a list for each valid block, in merge order."""
Place: TypeAlias = tuple[str, str, str | None, int, int]
"""A log block's file, kind, instant, offset and length: no other valid block ever has the same."""


def group_states(groups: Sequence[FileGroup]) -> list[GroupState] | None:
    """Return the files and log blocks that the groups are merged from; None if one is not known.

    The values can be encoded as JSON.

    Raises:
        CorruptFile: A file is damaged.
    """
    states: list[GroupState] = []
    for group in groups:
        base = base_state(group)
        modified = {log.path: log.modified_ns for log, _ in group.logs}
        if (group.base is not None and base is None) or None in modified.values():
            return None
        blocks = [
            [
                source.path,
                modified.get(source.path),
                source.block.kind.name,
                source.block.instant,
                source.block.offset,
                source.block.length,
            ]
            for source, _, _ in group.sources[1]
        ]
        states.append([base, blocks])
    return states


def base_state(group: FileGroup) -> list[Any] | None:
    """Return what identifies a group's base file; None if it has none, or it is not known."""
    base = group.base_identity("")
    return None if base is None else [base.file, base.size, base.modified_ns, base.tail]


def block_place(source: BlockId) -> Place:
    """Return the place of a block."""
    block = source.block
    return source.path, block.kind.name, block.instant, block.offset, block.length


def place_of(state: Sequence[Any]) -> Place:
    """Return the place of a block of a `GroupState`."""
    path, _, kind, instant, offset, length = state
    return path, kind, instant, offset, length
