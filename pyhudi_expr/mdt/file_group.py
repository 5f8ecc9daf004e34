"""One file group of a metadata partition: its base file and log files, merged by key."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pyhudi_expr.mdt.cells import Cells, joined
from pyhudi_expr.mdt.hfile import HFile
from pyhudi_expr.mdt.log import BlockKind, LogBlock, LogFile
from pyhudi_expr.mdt.records import Payload, decode, is_deleted, merge
from pyhudi_expr.table.errors import CorruptFile, UnsupportedTable
from pyhudi_expr.table.storage import Storage

Question = Callable[[HFile], Cells]
"""What is asked of each HFile of the group."""


@dataclass(frozen=True)
class StoredFile:
    """A file's path from the metadata table's base path, and its size in bytes."""

    path: str
    size: int


@dataclass(frozen=True)
class EncodedRecords:
    """Cells of one file whose values are still Avro, written with `schema` (JSON)."""

    file: str
    schema: str
    cells: Cells

    @staticmethod
    def none() -> EncodedRecords:
        """No records, of no file."""
        return EncodedRecords("", '"null"', Cells())

    def decoded(self) -> list[Payload]:
        """The values. Raises CorruptFile."""
        return decode(self.schema, self.cells.values, self.file)

    def split(self, keys: frozenset[bytes]) -> tuple[EncodedRecords, EncodedRecords]:
        """The records without those of the keys, and those."""
        if not keys or keys.isdisjoint(self.cells.keys):
            return self, EncodedRecords.none()
        chosen = np.array([key in keys for key in self.cells.keys], np.bool_)
        own = (self.file, self.schema)
        return (
            EncodedRecords(*own, self.cells.take(~chosen)),
            EncodedRecords(*own, self.cells.take(chosen)),
        )


@dataclass
class FileGroup:
    """The group's newest slice. Files are opened once and stay open; safe for several threads.

    `logs` are in merge order, each with the instant that its name says wrote it (layout 2) or None
    (layout 1). `valid` are the instants whose blocks count.
    """

    storage: Storage
    base: StoredFile | None
    logs: tuple[tuple[StoredFile, str | None], ...]
    valid: frozenset[str]
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _opened: list[HFile | LogFile] = field(default_factory=list, repr=False)

    def read(self, ask: Question) -> dict[bytes, Payload]:
        """The merged records among the answers, without the deleted ones. Raises CorruptFile."""
        encoded, merged = self.read_apart(ask)
        found = dict(zip(encoded.cells.keys, encoded.decoded(), strict=True)) | merged
        return {key: payload for key, payload in found.items() if not is_deleted(payload)}

    def read_apart(self, ask: Question) -> tuple[EncodedRecords, dict[bytes, Payload]]:
        """The answers of the base file that no log file touches, and the merged other records.

        Nearly all records of a large group are of the first kind, and cheaper to decode together.
        Both may hold records that say that they are deleted. Raises CorruptFile.
        """
        with self._lock:
            answers = [
                _answer(source, name, ask) if isinstance(source, HFile) else source
                for name, source in self._sources
            ]
        encoded, merged = EncodedRecords.none(), dict[bytes, Payload]()
        if self.base is not None and isinstance(answers[0], EncodedRecords):
            touched = frozenset(key for answer in answers[1:] for key in _keys(answer))
            encoded, answers[0] = answers[0].split(touched)
        for answer in answers:
            if isinstance(answer, EncodedRecords):
                _add(merged, answer)
            else:
                for key in answer:
                    merged.pop(key, None)
        return encoded, merged

    @property
    def bytes_read(self) -> int:
        """Bytes that were read from the storage so far."""
        return sum(file.bytes_read for file in self._opened)

    @cached_property
    def _sources(self) -> list[tuple[str, HFile | list[bytes]]]:
        """What to merge, in order, with the file's name: records, or keys that were deleted."""
        sources: list[tuple[str, HFile | list[bytes]]] = []
        if self.base is not None:
            name = self._name(self.base)
            base = HFile(self.storage.open_input(self.base.path), self.base.size, name)
            self._opened.append(base)
            sources.append((name, base))
        for log, block in self._counting_blocks():
            if block.kind is BlockKind.DELETE:
                sources.append((log.name, log.deleted_keys(block)))
            else:
                content = HFile(_Part(log, block.offset), block.length, log.name)
                sources.append((log.name, content))
        return sources

    def _counting_blocks(self) -> list[tuple[LogFile, LogBlock]]:
        """Data and delete blocks of valid instants that were not rolled back, in merge order."""
        counting: list[tuple[LogFile, LogBlock]] = []
        for file, written_by in self.logs:
            log = LogFile(self.storage.open_input(file.path), file.size, self._name(file))
            self._opened.append(log)
            for block in log.blocks:
                self._check(log, block, written_by)
                if block.kind is BlockKind.COMMAND:
                    counting = [kept for kept in counting if kept[1].instant != block.rolled_back]
                elif block.instant in self.valid and block.kind is not BlockKind.CORRUPT:
                    counting.append((log, block))
        return counting

    def _check(self, log: LogFile, block: LogBlock, written_by: str | None) -> None:
        """Damage may be passed over only where a failed writer explains it."""
        if block.kind is BlockKind.CORRUPT:
            instant = written_by or block.instant
            if instant is None or instant in self.valid:
                raise CorruptFile(log.name, f"a damaged block at {block.offset}")
        elif written_by is not None and block.instant != written_by:
            raise CorruptFile(log.name, f"a block of instant {block.instant} in another's file")
        elif block.kind not in (BlockKind.COMMAND, BlockKind.DELETE, BlockKind.HFILE):
            raise CorruptFile(log.name, f"blocks of kind {block.kind.name} are not supported")
        elif block.replaces:
            raise UnsupportedTable(f"{log.name}: compacted log blocks are not supported")

    def _name(self, file: StoredFile) -> str:
        return f"{self.storage.uri}/{file.path}"


def _answer(hfile: HFile, name: str, ask: Question) -> EncodedRecords:
    cells = ask(hfile)
    return EncodedRecords(name, hfile.schema, cells) if len(cells) else EncodedRecords.none()


def _keys(answer: EncodedRecords | list[bytes]) -> list[bytes]:
    return answer.cells.keys if isinstance(answer, EncodedRecords) else answer


def _add(merged: dict[bytes, Payload], records: EncodedRecords) -> None:
    for key, payload in zip(records.cells.keys, records.decoded(), strict=True):
        known = merged.get(key)
        merged[key] = payload if known is None else merge(known, payload, records.file)


@dataclass(frozen=True)
class _Part:
    """A stretch of a log file as a file of its own."""

    log: LogFile
    start: int

    def read_at(self, nbytes: int, offset: int) -> bytes:
        return self.log.read_at(nbytes, self.start + offset)


def all_cells(hfile: HFile) -> Cells:
    """The question for everything."""
    return joined(list(hfile.scan()))
