"""The state of an index's shard: the files and log blocks that its entries come from.

Files are identified by name and length. A log file of timeline layout 2 holds the blocks of one
instant, so names, lengths and whether that instant is valid tell which blocks count: two states
with equal files are equal, and no file is opened to see it. In layout 1 a log file is shared, and
its blocks decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pyhudi_expr.tables.mdt.store.block_cache import BlockId
from pyhudi_expr.tables.mdt.store.file_group import FileGroup

BlockText = str


@dataclass(frozen=True)
class ShardState:
    """What one shard is made of.

    Attributes:
        base: Path and length of its base file; "" and 0 without one.
        logs: Paths, lengths, and whether the file's instant is valid (None: it is of several).
        blocks: The blocks that count, in merge order.
    """

    base: tuple[str, int]
    logs: tuple[tuple[str, int, bool | None], ...]
    blocks: tuple[BlockText, ...]


@dataclass(frozen=True)
class IndexState:
    """The states of all shards of a metadata partition, in their order."""

    shards: tuple[ShardState, ...]


def state_of(groups: Sequence[FileGroup]) -> IndexState:
    """Return the state of an index. Opens all its files. Raises CorruptFile."""
    return IndexState(tuple(_shard_state(group) for group in groups))


def is_state_of(state: IndexState, groups: Sequence[FileGroup]) -> bool:
    """Return whether the index has this state, as far as its files' names tell.

    False does not mean that it is another one: see `state_of`.
    """
    if len(state.shards) != len(groups):
        return False
    return all(
        shard.base == _base(group)
        and shard.logs == (logs := _logs(group))
        and all(is_valid is not None for _, _, is_valid in logs)
        for shard, group in zip(state.shards, groups, strict=True)
    )


def is_extended_by(state: IndexState, later: IndexState) -> bool:
    """Return whether the later state is this one with more log blocks behind the others."""
    return len(state.shards) == len(later.shards) and all(
        before.base == after.base and before.blocks == after.blocks[: len(before.blocks)]
        for before, after in zip(state.shards, later.shards, strict=True)
    )


def as_of(group: FileGroup, state: ShardState) -> FileGroup:
    """Return the shard as it was in an earlier state, see `is_extended_by`."""
    known = frozenset(state.blocks)
    return group.of_blocks(lambda block: _text(block) in known, group.base)


def added_since(group: FileGroup, state: ShardState) -> FileGroup:
    """Return only the log blocks that were added after an earlier state."""
    known = frozenset(state.blocks)
    return group.of_blocks(lambda block: _text(block) not in known, None)


def added_bytes(groups: Sequence[FileGroup], state: IndexState) -> float:
    """Return the length of the log files that the earlier state has not, or not as long.

    It is infinite if the index has another number of file groups: it was built anew since.
    """
    if len(groups) != len(state.shards):
        return math.inf
    return sum(
        log.size
        for group, shard in zip(groups, state.shards, strict=True)
        for log, _ in group.logs
        if (log.path, log.size) not in {(path, size) for path, size, _ in shard.logs}
    )


def _shard_state(group: FileGroup) -> ShardState:
    _, logs = group.sources
    return ShardState(_base(group), _logs(group), tuple(_text(block) for block, _, _ in logs))


def _base(group: FileGroup) -> tuple[str, int]:
    return ("", 0) if group.base is None else (group.base.path, group.base.size)


def _logs(group: FileGroup) -> tuple[tuple[str, int, bool | None], ...]:
    return tuple(
        (log.path, log.size, None if written_by is None else written_by in group.valid)
        for log, written_by in group.logs
    )


def _text(block: BlockId) -> BlockText:
    place = block.block
    return f"{block.path} {place.offset} {place.length} {place.kind.name} {place.instant}"
