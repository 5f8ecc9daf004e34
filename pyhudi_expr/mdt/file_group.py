"""One file group of a metadata partition: its base file and log files, merged by key."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import xxhash

from pyhudi_expr.mdt.avro_columns import decode_columns
from pyhudi_expr.mdt.avro_schema import Struct, UndecodedError
from pyhudi_expr.mdt.byte_strings import ByteStrings, concatenated
from pyhudi_expr.mdt.cells import Cells, joined
from pyhudi_expr.mdt.hfile import HFile
from pyhudi_expr.mdt.log import BlockKind, LogBlock, LogFile
from pyhudi_expr.mdt.records import Payload, decode, is_deleted, merge
from pyhudi_expr.mdt.snapshot_cache import Identity
from pyhudi_expr.table.errors import CorruptFile
from pyhudi_expr.table.storage import Storage

Question = Callable[[HFile], Cells]
"""What is asked of each HFile of the group."""
Scan = Callable[[HFile], Iterator[Cells]]
"""The same, answered piece by piece: `HFile.scan`, `HFile.prefix_scan`."""
_Source = tuple[str, HFile]
"""A file's name, and its records."""
_LogContent = tuple[LogFile, LogBlock]


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

    def columns(self) -> Struct:
        """The values by columns, as `avro_columns` decodes them. Raises CorruptFile."""
        try:
            return decode_columns(self.schema, self.cells.value_strings)
        except UndecodedError as error:
            raise CorruptFile(self.file, f"a record cannot be decoded: {error}") from error

    def split(self, keys: ByteStrings) -> tuple[EncodedRecords, EncodedRecords]:
        """The records without those of the keys (sorted), and those."""
        if not len(keys):
            return self, EncodedRecords.none()
        chosen = keys.search(self.cells.key_strings) >= 0
        if not chosen.any():
            return self, EncodedRecords.none()
        own = (self.file, self.schema)
        return (
            EncodedRecords(*own, self.cells.take(~chosen)),
            EncodedRecords(*own, self.cells.take(chosen)),
        )


@dataclass(frozen=True)
class MergedRecords:
    """Records that were decoded and merged; some may say that they are deleted."""

    payloads: dict[bytes, Payload]


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
        found: dict[bytes, Payload] = {}
        for part in self.stream(lambda hfile: iter([ask(hfile)])):
            if isinstance(part, EncodedRecords):
                found.update(zip(part.cells.keys, part.decoded(), strict=True))
            else:
                found.update(part.payloads)
        return {key: payload for key, payload in found.items() if not is_deleted(payload)}

    def stream(self, ask: Scan) -> Iterator[EncodedRecords | MergedRecords]:
        """The answers of the base file that no log file touches, piece by piece, then all others.

        Nearly all records of a large group are of the first kind, and cheaper to decode together.
        Both may hold records that say that they are deleted. Raises CorruptFile.
        """
        base, logs = self._answers(ask)
        touched = _keys(logs)
        held = []
        for records in base:
            untouched, own = records.split(touched)
            if len(untouched.cells):
                yield untouched
            held.append(own)
        yield MergedRecords(_merged([*held, *logs]))

    def overlay(self, ask: Scan) -> tuple[ByteStrings, MergedRecords]:
        """The keys (sorted) that the log files' answers touch, and their merged records.

        For callers that know what the base file answers: `stream` without its first part. The base
        file is asked for the touched keys only. Raises CorruptFile.
        """
        _, logs = self._answers(ask)
        touched = _keys(logs)
        held: list[EncodedRecords] = []
        if len(touched) and self._sources[0] is not None:
            name, hfile = self._sources[0]
            wanted = touched.to_list()
            held.append(_joined(name, hfile, lambda file: iter([file.lookup(wanted)])))
        return touched, MergedRecords(_merged([*held, *logs]))

    def base_records(self, ask: Scan) -> Iterator[EncodedRecords]:
        """The base file's own answers, piece by piece."""
        with self._lock:
            base, _ = self._sources
        return iter(()) if base is None else _pieces(*base, ask)

    @property
    def base_cells(self) -> int:
        """How many records the base file holds."""
        with self._lock:
            base, _ = self._sources
        return 0 if base is None else base[1].num_cells

    def base_identity(self, content: str) -> Identity | None:
        """Of what was read of the base file, as `content` calls it; None without a base file."""
        with self._lock:
            base, _ = self._sources
        if base is None or self.base is None:
            return None
        entry = self.storage.stat(self.base.path)
        if entry is None:
            return None
        name, hfile = base
        tail = xxhash.xxh3_128_hexdigest(hfile.tail)
        return Identity(name, self.base.size, entry.modified_ns, tail, content)

    def newest(self, ask: Scan) -> Iterator[EncodedRecords]:
        """Each key's newest record among the answers, piece by piece, as it is stored.

        For partitions where the newest record of a key is all there is to know: record_index,
        secondary indexes, Bloom filters (in the others records are merged: `stream`). Nothing is
        decoded here, so memory stays at some megabytes and what the logs hold. For millions of
        records without a Python object for each::

            for records in group.newest(HFile.scan):
                keys = records.cells.key_strings.array()  # large_binary
                fields = records.columns().fields

        Records that say that they are deleted are among them. Raises CorruptFile.
        """
        base, logs = self._answers(ask)
        seen = ByteStrings.none()
        for answer in reversed(logs):
            if isinstance(answer, EncodedRecords):
                fresh, _ = answer.split(seen)
                if len(fresh.cells):
                    yield fresh
            seen = concatenated([seen, _keys([answer])]).sorted()
        for records in base:
            fresh, _ = records.split(seen)
            if len(fresh.cells):
                yield fresh

    def log_records(self, ask: Scan) -> list[EncodedRecords | list[bytes]]:
        """The log files' own answers in merge order: records, or keys that were deleted."""
        return self._answers(ask)[1]

    def log_pieces(self, ask: Scan) -> Iterator[EncodedRecords | list[bytes]]:
        """`log_records` piece by piece, for logs that are larger than the memory."""
        with self._lock:
            _, logs = self._sources
        for source in logs:
            if isinstance(source, tuple):
                yield from _pieces(*source, ask)
            else:
                yield source

    def _answers(
        self, ask: Scan
    ) -> tuple[Iterator[EncodedRecords], list[EncodedRecords | list[bytes]]]:
        """Those of the base file as they are read, and those of the log files in merge order."""
        with self._lock:
            base, logs = self._sources
            answers = [
                _joined(*source, ask) if isinstance(source, tuple) else source for source in logs
            ]
        return (iter(()) if base is None else _pieces(*base, ask)), answers

    @property
    def bytes_read(self) -> int:
        """Bytes that were read from the storage so far."""
        return sum(file.bytes_read for file in self._opened)

    @cached_property
    def _sources(self) -> tuple[_Source | None, list[_Source | list[bytes]]]:
        """What to merge: the base file, then, in order, records or keys that were deleted."""
        base: _Source | None = None
        if self.base is not None:
            name = self._name(self.base)
            hfile = HFile(self.storage.open_input(self.base.path), self.base.size, name)
            self._opened.append(hfile)
            base = (name, hfile)
        logs: list[_Source | list[bytes]] = []
        for log, block in self._counting_blocks():
            if block.kind is BlockKind.DELETE:
                logs.append(log.deleted_keys(block))
            else:
                content = HFile(_Part(log, block.offset), block.length, log.name)
                logs.append((log.name, content))
        return base, logs

    def _counting_blocks(self) -> list[_LogContent]:
        """Data and delete blocks of valid instants that were not rolled back, in merge order."""
        counting: list[_LogContent] = []
        for file, written_by in self.logs:
            log = LogFile(self.storage.open_input(file.path), file.size, self._name(file))
            self._opened.append(log)
            for block in log.blocks:
                self._check(log, block, written_by)
                if block.kind is BlockKind.COMMAND:
                    counting = [kept for kept in counting if kept[1].instant != block.rolled_back]
                elif block.instant in self.valid and block.kind is not BlockKind.CORRUPT:
                    counting.append((log, block))
        return _with_compacted(counting)

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

    def _name(self, file: StoredFile) -> str:
        return f"{self.storage.uri}/{file.path}"


def _with_compacted(blocks: Sequence[_LogContent]) -> list[_LogContent]:
    """The blocks without those that were compacted into others, which take their places.

    Blocks of one instant go together. A compacted block comes where the newest of those was that it
    replaces; what was compacted again counts as compacted into the last one (Hudi's log scanner).
    """
    by_instant: dict[str | None, list[_LogContent]] = {}
    for content in blocks:
        by_instant.setdefault(content[1].instant, []).append(content)
    if not any(block.replaces for _, block in blocks):
        return list(blocks)
    replaced_by: dict[str | None, str | None] = {}
    placed: list[str | None] = []
    for instant, own in reversed(by_instant.items()):
        replaces = own[0][1].replaces
        if replaces:
            final = replaced_by.get(instant, instant)
            replaced_by.update(dict.fromkeys(replaces, final))
            if not by_instant.keys().isdisjoint(replaces):
                continue
        counting = replaced_by.get(instant, instant)
        if counting not in placed:
            placed.append(counting)
    return [content for instant in reversed(placed) for content in by_instant[instant]]


def _pieces(name: str, hfile: HFile, ask: Scan) -> Iterator[EncodedRecords]:
    return (EncodedRecords(name, hfile.schema, cells) for cells in ask(hfile) if len(cells))


def _joined(name: str, hfile: HFile, ask: Scan) -> EncodedRecords:
    return EncodedRecords(name, hfile.schema, joined(list(ask(hfile))))


def _keys(answers: Sequence[EncodedRecords | list[bytes]]) -> ByteStrings:
    """The keys of all answers, sorted."""
    return concatenated(
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
    """A stretch of a log file as a file of its own."""

    log: LogFile
    start: int

    def read_at(self, nbytes: int, offset: int) -> bytes:
        return self.log.read_at(nbytes, self.start + offset)


def all_cells(hfile: HFile) -> Cells:
    """The question for everything."""
    return joined(list(hfile.scan()))
