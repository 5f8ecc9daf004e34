"""Log blocks that a log compaction has joined into others (Hudi's log scanner)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pyhudi_expr.tables.mdt.log.reader import LogFile
from pyhudi_expr.tables.mdt.store.block_cache import BlockId

LogContent: TypeAlias = tuple[BlockId, LogFile]
"""A block, and its file."""


def with_compacted(blocks: Sequence[LogContent]) -> list[LogContent]:
    """Replace blocks that were compacted into others by these.

    Blocks of one instant go together. A compacted block takes the position of the newest block that
    it replaces. What was compacted again counts as compacted into the last one (Hudi's log
    scanner).
    """
    by_instant: dict[str | None, list[LogContent]] = {}
    for content in blocks:
        by_instant.setdefault(content[0].block.instant, []).append(content)
    if not any(content[0].block.replaces for content in blocks):
        return list(blocks)
    replaced_by: dict[str | None, str | None] = {}
    placed: list[str | None] = []
    for instant, own in reversed(by_instant.items()):
        replaces = own[0][0].block.replaces
        if replaces:
            final = replaced_by.get(instant, instant)
            replaced_by.update(dict.fromkeys(replaces, final))
            if not by_instant.keys().isdisjoint(replaces):
                continue
        counting = replaced_by.get(instant, instant)
        if counting not in placed:
            placed.append(counting)
    return [content for instant in reversed(placed) for content in by_instant[instant]]
