"""One file group of a metadata partition: its base file and log files, merged by key.

Blocks that a log compaction has joined into others are replaced by these.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import xxhash

from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.hfile.cells import Cells, concat_cells
from pyhudi_expr.tables.mdt.hfile.reader import HFile, KeyLookup, PrefixScan
from pyhudi_expr.tables.mdt.log_files import BlockKind, LogBlock, LogFile, without_rolled_back
from pyhudi_expr.tables.mdt.lost_files import RequiredBlocks
from pyhudi_expr.tables.mdt.records.metadata_records import (
    EncodedRecords,
    Payload,
    apart,
    is_deleted,
    merge,
)
from pyhudi_expr.tables.mdt.store.block_cache import BlockCache, BlockId, StoredFile
from pyhudi_expr.tables.mdt.store.disk_cache import Identity
from pyhudi_expr.tables.storage import Expected, Storage

LogContent: TypeAlias = tuple[BlockId, LogFile]
"""A block, and its file."""


def _block_of(content: LogContent) -> LogBlock:
    return content[0].block


def with_compacted(blocks: Sequence[LogContent]) -> list[LogContent]:
    """Replace blocks that were compacted into others by these.

    Blocks of one instant go together. A compacted block takes the position of the newest block that
    it replaces. What was compacted again counts as compacted into the last one (Hudi's log
    scanner).
    """
    by_instant: dict[str | None, list[LogContent]] = {}
    for content in blocks:
        by_instant.setdefault(_block_of(content).instant, []).append(content)
    if not any(_block_of(content).replaces for content in blocks):
        return list(blocks)
    replaced_by: dict[str | None, str | None] = {}
    placed: dict[str | None, None] = {}
    for instant, own in reversed(by_instant.items()):
        replaces = _block_of(own[0]).replaces
        if replaces:
            final = replaced_by.get(instant, instant)
            replaced_by.update(dict.fromkeys(replaces, final))
            if not by_instant.keys().isdisjoint(replaces):
                continue
        placed.setdefault(replaced_by.get(instant, instant))
    return [content for instant in reversed(placed) for content in by_instant[instant]]


Question = Callable[[HFile], Cells]
"""What to read from each HFile of the group."""
Scan = Callable[[HFile], Iterator[Cells]]
"""The same, answered piece by piece: `HFile.scan`, `HFile.prefix_scan`."""
_Source = tuple[str, HFile]
"""A file's name, and its records."""
LogSource = tuple[BlockId, str, HFile | list[bytes]]
"""A block, its file's name, and its records or the keys that it deletes."""
Sources = tuple[_Source | None, list[LogSource]]

#: Cells of a log block that is read, and cached, as a whole, though few of them are looked up.
_FEW_CELLS = 1_000

__all__ = [
    "EncodedRecords",
    "FileGroup",
    "KeyLookup",
    "LogSource",
    "MergedRecords",
    "PrefixScan",
    "Question",
    "Scan",
    "StoredFile",
    "all_cells",
    "announce",
]


@dataclass(frozen=True)
class MergedRecords:
    """Records that were decoded and merged; some may be tombstones."""

    payloads: dict[bytes, Payload]


@dataclass
class FileGroup:
    """The group's newest slice. Files are opened once and stay open. Thread safe.

    `logs` are in merge order, each with the instant in its name (layout 2) or None (layout 1).
    `valid` are the instants whose blocks are valid, `required` those of which there must be one.
    """

    storage: Storage
    base: StoredFile | None
    logs: tuple[tuple[StoredFile, str | None], ...]
    valid: frozenset[str]
    required: RequiredBlocks | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _block_cache: BlockCache = field(default_factory=BlockCache, repr=False)
    _bytes_before: int = field(default=0, repr=False)

    def __reduce__(self) -> tuple[type[FileGroup], tuple[Any, ...]]:
        """Pickle without cached contents."""
        return FileGroup, (self.storage, self.base, self.logs, self.valid)

    def follow(self, earlier: FileGroup) -> None:
        """Take over what an earlier instant's slice of the group has read of the same files.

        Call it before any look-up.
        """
        with earlier._lock:
            self._lock = earlier._lock
            self._block_cache = earlier._block_cache.only([*self.stored_files])
            self._bytes_before = self._block_cache_bytes

    @property
    def stored_files(self) -> Iterator[StoredFile]:
        """Return its base file, if there is one, and its log files."""
        if self.base is not None:
            yield self.base
        yield from (log for log, _ in self.logs)

    def announce(self) -> None:
        """Send the first requests for the files, if none has been read."""
        if self.storage.is_remote and "sources" not in self.__dict__:
            cached = self._block_cache.bases.keys() | self._block_cache.logs.keys()
            files = [(file.path, file.size) for file in self.stored_files if file not in cached]
            self.storage.expect(Expected(inputs=files))

    def read(self, ask: Question) -> dict[bytes, Payload]:
        """Return the merged records of a look-up, without deleted ones. Raises CorruptFile."""
        found: dict[bytes, Payload] = {}
        for part in self.stream(lambda hfile: iter([ask(hfile)])):
            if isinstance(part, EncodedRecords):
                found.update(zip(part.cells.keys, part.decoded(), strict=True))
            else:
                found.update(part.payloads)
        return {key: payload for key, payload in found.items() if not is_deleted(payload)}

    def stream(self, ask: Scan) -> Iterator[EncodedRecords | MergedRecords]:
        """Return the records of which there is one for their key, in pieces, then all others.

        Nearly all records of a large group are of the first kind, and cheaper to decode together.
        Both may include tombstones.

        Raises:
            CorruptFile: A file is damaged.
        """
        base, logs = self._answers(ask)
        touched = _keys(logs)
        held = []
        for records in base:
            untouched, own = records.split(touched)
            if len(untouched.cells):
                yield untouched
            held.append(own)
        alone, repeated = apart([*held, *logs])
        yield from alone
        yield MergedRecords(_merged(repeated))

    def overlay(self, ask: Scan) -> tuple[ByteStrings, MergedRecords]:
        """Return the keys (sorted) of the log files' records, and their merged records.

        This is `stream` without its first part, for callers that have the base file's records. Only
        the touched keys are looked up in the base file.

        Raises:
            CorruptFile: A file is damaged.
        """
        _, logs = self._answers(ask)
        touched = _keys(logs)
        held = self._touched_base(ask, touched)
        return touched, MergedRecords(_merged([*held, *logs]))

    def _touched_base(self, ask: Scan, touched: ByteStrings) -> list[EncodedRecords]:
        with self._lock:
            base, _ = self.sources
            if base is None or not len(touched):
                return []
            name, hfile = base

            def look_up(keys: ByteStrings) -> EncodedRecords:
                return _joined(name, hfile, lambda file: iter([file.lookup(keys.to_list())]))

            return self._block_cache.base_records(ask, touched, look_up)

    def base_records(self, ask: Scan) -> Iterator[EncodedRecords]:
        """Return the base file's own records, in pieces."""
        with self._lock:
            base, _ = self.sources
        return iter(()) if base is None else _pieces(*base, ask)

    @property
    def base_cells(self) -> int:
        """Return the number of records in the base file."""
        with self._lock:
            base, _ = self.sources
        return 0 if base is None else base[1].num_cells

    def base_identity(self, content: str) -> Identity | None:
        """Return the identity of what was read of the base file; None if there is none."""
        with self._lock:
            base, _ = self.sources
        if base is None or self.base is None:
            return None
        modified = self.base.modified_ns
        if modified is None:
            entry = self.storage.stat(self.base.path)
            if entry is None:
                return None
            modified = entry.modified_ns
        name, hfile = base
        tail = xxhash.xxh3_128_hexdigest(hfile.tail)
        return Identity(name, self.base.size, modified, tail, content)

    def newest(self, ask: Scan) -> Iterator[EncodedRecords]:
        """Return each key's newest record of a look-up, in pieces, as it is stored.

        For partitions in which the newest record of a key is valid as it is: record_index,
        secondary indexes, Bloom filters (in the others records are merged: `stream`). Nothing is
        decoded here, so memory stays at some megabytes and the logs' records. For millions of
        records without a Python object for each::

            for records in group.newest(HFile.scan):
                keys = records.cells.key_strings.array()  # large_binary
                fields = records.columns().fields

        Tombstones are included.

        Raises:
            CorruptFile: A file is damaged.
        """
        base, logs = self._answers(ask)
        seen = ByteStrings.none()
        for answer in reversed(logs):
            if isinstance(answer, EncodedRecords):
                fresh, _ = answer.split(seen)
                if len(fresh.cells):
                    yield fresh
            seen = concat_byte_strings([seen, _keys([answer])]).sorted()
        for records in base:
            fresh, _ = records.split(seen)
            if len(fresh.cells):
                yield fresh

    def log_records(self, ask: Scan) -> list[EncodedRecords | list[bytes]]:
        """Return the log files' own results in merge order: records, or deleted keys."""
        return self._answers(ask)[1]

    def log_pieces(self, ask: Scan) -> Iterator[EncodedRecords | list[bytes]]:
        """Return `log_records` in pieces, for logs that are larger than the memory."""
        for run in self.log_runs(ask):
            if isinstance(run, list):
                yield run
            else:
                yield from run

    def log_runs(self, ask: Scan) -> list[Iterator[EncodedRecords] | list[bytes]]:
        """Return `log_pieces` for each block separately."""
        with self._lock:
            _, logs = self.sources
        return [
            _pieces(name, content, ask) if isinstance(content, HFile) else content
            for _, name, content in logs
        ]

    def _answers(
        self, ask: Scan
    ) -> tuple[Iterator[EncodedRecords], list[EncodedRecords | list[bytes]]]:
        """Return the base file's results as they are read, and the log files' in merge order."""
        with self._lock:
            base, logs = self.sources
            answers = [
                self._answer(block, name, content, ask) if isinstance(content, HFile) else content
                for block, name, content in logs
            ]
        return (iter(()) if base is None else _pieces(*base, ask)), answers

    def _answer(self, block: BlockId, name: str, content: HFile, ask: Scan) -> EncodedRecords:
        if isinstance(ask, PrefixScan) or ask is HFile.scan:
            return self._block_cache.answer(block, ask, lambda: _joined(name, content, ask))
        if isinstance(ask, KeyLookup) and content.num_cells <= _FEW_CELLS:
            return self._answer(block, name, content, HFile.scan).split(ask.keys)[1]
        return _joined(name, content, ask)

    @property
    def bytes_read(self) -> int:
        """Bytes that this group has read from the storage so far."""
        return self._block_cache_bytes - self._bytes_before

    @property
    def _block_cache_bytes(self) -> int:
        known = self._block_cache
        of_logs = sum(log.bytes_read for log in known.logs.values())
        return of_logs + sum(base.bytes_read for base in known.bases.values())

    @computed_once
    def sources(self) -> Sources:
        """What to merge: the base file, then, in order, records or deleted keys."""
        base: _Source | None = None
        if self.base is not None:
            name, known = self._name(self.base), self._block_cache.bases
            if self.base not in known:
                source = self.storage.open_ranges(self.base.path, self.base.size)
                known[self.base] = HFile(source, self.base.size, name)
            base = (name, known[self.base])
        return base, [(block, log.name, self._content(block, log)) for block, log in self._blocks()]

    def of_blocks(self, chosen: Callable[[BlockId], bool], base: StoredFile | None) -> FileGroup:
        """Return the group with some of its log blocks, and with its base file or without it."""
        with self._lock:
            own, logs = self.sources
        part = replace(self, base=base, _bytes_before=0)
        part.sources = (own if base else None, [one for one in logs if chosen(one[0])])
        return part

    def _content(self, block: BlockId, log: LogFile) -> HFile | list[bytes]:
        """Return the content of a valid block; only valid blocks never change."""
        known = self._block_cache.contents
        if block not in known:
            place = block.block
            if place.kind is BlockKind.DELETE:
                known[block] = log.deleted_keys(place)
            else:
                known[block] = HFile(_Part(log, place.offset), place.length, log.name)
        return known[block]

    def _blocks(self) -> list[LogContent]:
        """Return data and delete blocks of valid instants not rolled back, in merge order."""
        found, there = list[LogContent](), set[str | None]()
        for file, written_by in self.logs:
            log = self._log(file, written_by)
            for block in log.blocks:
                self._check(log, block, written_by)
                there |= {block.instant, *block.replaces}
                found.append((BlockId(file.path, block), log))
        if self.required is not None and (lost := self.required.lost(there)):
            raise CorruptFile(self._name([*self.stored_files][-1]), f"no block of commits {lost}")
        return with_compacted(
            [
                content
                for content in without_rolled_back(found, _block_of)
                if (block := _block_of(content)).instant in self.valid
                and block.kind is not BlockKind.CORRUPT
            ]
        )

    def _log(self, file: StoredFile, written_by: str | None) -> LogFile:
        known = self._block_cache.logs
        # Blocks of an unfinished instant may still be rewritten.
        if file not in known or (written_by is not None and written_by not in self.valid):
            source = self.storage.open_ranges(file.path, file.size)
            known[file] = LogFile(source, file.size, self._name(file))
        return known[file]

    def _check(self, log: LogFile, block: LogBlock, written_by: str | None) -> None:
        """Check that damage is explained by a failed writer; only then it may be skipped."""
        if block.kind is BlockKind.CORRUPT:
            instant = written_by or block.instant
            if instant is None or instant in self.valid:
                raise CorruptFile(log.name, f"a damaged block at {block.offset}")
        elif written_by is not None and block.instant != written_by:
            raise CorruptFile(log.name, f"a block of instant {block.instant} in another's file")
        elif block.kind not in (BlockKind.COMMAND, BlockKind.DELETE, BlockKind.HFILE):
            raise CorruptFile(log.name, f"blocks of kind {block.kind.name} are not supported")

    def _name(self, file: StoredFile) -> str:
        return f"{self.storage.uri}/{file.path}"


def announce(groups: Sequence[FileGroup]) -> None:
    """Send the first requests of all groups that have not been read, see `Storage.expect`."""
    for group in groups:
        group.announce()


def _pieces(name: str, hfile: HFile, ask: Scan) -> Iterator[EncodedRecords]:
    return (EncodedRecords(name, hfile.schema, cells) for cells in ask(hfile) if len(cells))


def _joined(name: str, hfile: HFile, ask: Scan) -> EncodedRecords:
    return EncodedRecords(name, hfile.schema, concat_cells(list(ask(hfile))))


def _keys(answers: Sequence[EncodedRecords | list[bytes]]) -> ByteStrings:
    """Return the keys of all results, sorted."""
    return concat_byte_strings(
        [
            answer.cells.key_strings
            if isinstance(answer, EncodedRecords)
            else ByteStrings.of(answer)
            for answer in answers
        ]
    ).sorted()


def _merged(answers: Sequence[EncodedRecords | list[bytes]]) -> dict[bytes, Payload]:
    merged: dict[bytes, Payload] = {}
    for answer in answers:
        if isinstance(answer, EncodedRecords):
            _add(merged, answer)
        else:
            for key in answer:
                merged.pop(key, None)
    return merged


def _add(merged: dict[bytes, Payload], records: EncodedRecords) -> None:
    for key, payload in zip(records.cells.keys, records.decoded(), strict=True):
        known = merged.get(key)
        merged[key] = payload if known is None else merge(known, payload, records.file)


@dataclass(frozen=True)
class _Part:
    """A range of a log file as a file of its own."""

    log: LogFile
    start: int

    def read_at(self, nbytes: int, offset: int) -> bytes:
        return self.log.read_at(nbytes, self.start + offset)


def all_cells(hfile: HFile) -> Cells:
    """Read everything; a look-up function."""
    return concat_cells(list(hfile.scan()))
