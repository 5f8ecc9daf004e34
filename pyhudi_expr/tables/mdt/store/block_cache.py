"""Cache the contents of a file group's files from one instant of the metadata table to the next.

A block of a log file does not change once its instant has completed, and no other block is at the
same position of the same file with the same instant. So its results stay valid, and a new instant
costs only the reading of the blocks that it added. Base files and whole log files are identified by
their size and modification time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field

from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.hfile.cells import concat_cells
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.log_files import LogBlock, LogFile
from pyhudi_expr.tables.mdt.records.metadata_records import EncodedRecords

#: Limit of cached records in all; a decoded record takes about 3 KB.
_MOST_RECORDS = 20_000


@dataclass(frozen=True)
class StoredFile:
    """A file's path relative to the metadata table's base path, and its size in bytes.

    Attributes:
        modified_ns: Its modification time. None if unknown: then no other file is surely the same.
    """

    path: str
    size: int
    modified_ns: int | None = None


@dataclass(frozen=True)
class BlockId:
    """A block of the log file at `path`."""

    path: str
    block: LogBlock


@dataclass
class BlockCache:
    """Open files, and results of blocks. Not thread safe: its owner locks."""

    bases: dict[StoredFile, HFile] = field(default_factory=dict)
    logs: dict[StoredFile, LogFile] = field(default_factory=dict)
    contents: dict[BlockId, HFile | list[bytes]] = field(default_factory=dict)
    """Records, or the keys that were deleted."""
    _answers: dict[tuple[BlockId, Hashable], EncodedRecords] = field(default_factory=dict)
    _base_records: dict[Hashable, tuple[ByteStrings, EncodedRecords]] = field(default_factory=dict)

    def only(self, files: Collection[StoredFile]) -> BlockCache:
        """Return the entries that are still valid for a group of these files."""
        known = [file for file in files if file.modified_ns is not None]
        bases = {file: self.bases[file] for file in known if file in self.bases}
        paths = {file.path for file in files}
        return BlockCache(
            bases,
            {file: self.logs[file] for file in known if file in self.logs},
            {block: found for block, found in self.contents.items() if block.path in paths},
            {key: found for key, found in self._answers.items() if key[0].path in paths},
            dict(self._base_records) if bases else {},
        )

    def answer(
        self, block: BlockId, question: Hashable, ask: Callable[[], EncodedRecords]
    ) -> EncodedRecords:
        """Return a block's result, from the cache if it has it."""
        known = self._answers.get((block, question))
        if known is None:
            known = self._answers[block, question] = ask()
            self._forget_too_many()
        return known

    def base_records(
        self,
        question: Hashable,
        keys: ByteStrings,
        look_up: Callable[[ByteStrings], EncodedRecords],
    ) -> list[EncodedRecords]:
        """Return the base file's records of the keys (sorted), looked up if they are not cached.

        Args:
            question: The reason of the look-up; the next one will be for nearly the same keys.
            keys: The keys.
            look_up: Looks keys up in the base file.
        """
        cached, known = self._base_records.get(
            question, (ByteStrings.none(), EncodedRecords.none())
        )
        fresh = keys.take(cached.search(keys) < 0)
        found = [known, look_up(fresh)] if len(fresh) else [known]
        chosen = [records.split(keys)[1] for records in found]
        held = [records for records in chosen if len(records.cells)]
        if len(held) <= 1:
            self._base_records[question] = keys, held[0] if held else EncodedRecords.none()
        else:
            cells = concat_cells([records.cells for records in held])
            self._base_records[question] = keys, EncodedRecords(held[0].file, held[0].schema, cells)
        self._forget_too_many()
        return held

    def _forget_too_many(self) -> None:
        answers = [*self._answers.values(), *(found for _, found in self._base_records.values())]
        if sum(len(found.cells) + 1 for found in answers) > _MOST_RECORDS:
            self._answers.clear()
            self._base_records.clear()
