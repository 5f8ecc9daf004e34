"""The shards of a record index and of a secondary index, as commits write them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.keys import secondary_key, secondary_prefix, shard
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.log_files import INSTANT, BlockKind
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.file_group import FileGroup, StoredFile
from pyhudi_expr.tables.storage import Storage

SHARDS = 2
_TARGET_INSTANT, _COMMAND = 1, 3
GROUPS = tuple(f"{number:08x}-0000-0000-0000-000000000000-0" for number in range(4))

Pair = tuple[str, str]
"""A value and a record key."""


@dataclass
class Shards:
    """The files of one index. A commit of `write` adds a log file to each shard that it touches."""

    directory: Path
    bases: list[StoredFile] = field(default_factory=list)
    logs: list[list[tuple[StoredFile, str]]] = field(default_factory=lambda: [[], []])
    valid: set[str] = field(default_factory=set)
    number: int = 0

    def build(self, cells: Mapping[int, Mapping[bytes, bytes]]) -> None:
        """Write new base files: an index that was just built, or compacted."""
        self.number += 1
        self.bases, self.logs = [], [[] for _ in range(SHARDS)]
        for one in range(SHARDS):
            sink = io.BytesIO()
            hfile_writer.write(sink, sorted(cells.get(one, {}).items()), RECORD_SCHEMA)
            self.bases.append(self._stored(f"base-{one}-{self.number}", sink.getvalue()))

    def write(
        self,
        records: Mapping[int, Mapping[bytes, bytes]],
        deleted: Mapping[int, list[bytes]],
        *,
        succeeds: bool,
    ) -> None:
        """Add log files of one commit."""
        self.number += 1
        instant = f"{self.number:017}"
        for one in range(SHARDS):
            content = b""
            if deleted.get(one):
                content += log_writer.deletes(instant, deleted[one])
            if records.get(one):
                content += log_writer.records(instant, sorted(records[one].items()))
            if content:
                self.logs[one].append((self._stored(f"log-{one}-{self.number}", content), instant))
        if succeeds:
            self.valid.add(instant)

    def roll_back(self) -> None:
        """Take the last commit back by a command block, as Hudi does."""
        last = max((instant for logs in self.logs for _, instant in logs), default=None)
        if last is None:
            return
        self.number += 1
        instant = f"{self.number:017}"
        header = {INSTANT: instant, _TARGET_INSTANT: last, _COMMAND: "0"}
        for one in range(SHARDS):
            if any(written == last for _, written in self.logs[one]):
                command = log_writer.block(BlockKind.COMMAND, header, b"")
                self.logs[one].append((self._stored(f"log-{one}-{self.number}", command), instant))
        self.valid.add(instant)

    @property
    def groups(self) -> list[FileGroup]:
        """The file groups as a new process opens them."""
        storage = Storage.open(str(self.directory))
        return [
            FileGroup(storage, base, tuple(logs), frozenset(self.valid))
            for base, logs in zip(self.bases, self.logs, strict=True)
        ]

    def _stored(self, name: str, content: bytes) -> StoredFile:
        self.directory.mkdir(exist_ok=True)
        (self.directory / name).write_bytes(content)
        return StoredFile(name, len(content))


def record_cells(places: Mapping[str, int]) -> dict[int, dict[bytes, bytes]]:
    """The entries of a record index, by shard: keys, and the numbers of their groups."""
    cells: dict[int, dict[bytes, bytes]] = {}
    for key, group in places.items():
        content = payloads.location("p", GROUPS[group], 0)
        cells.setdefault(shard(key, SHARDS), {})[key.encode()] = content
    return cells


def record_keys(keys: set[str]) -> dict[int, list[bytes]]:
    """Record keys, by shard."""
    found: dict[int, list[bytes]] = {}
    for key in sorted(keys):
        found.setdefault(shard(key, SHARDS), []).append(key.encode())
    return found


def value_cells(pairs: Mapping[Pair, bool]) -> dict[int, dict[bytes, bytes]]:
    """Entries of a secondary index by shard: whether each is one, or a tombstone."""
    cells: dict[int, dict[bytes, bytes]] = {}
    for (value, key), is_live in pairs.items():
        content = payloads.secondary_entry() if is_live else payloads.secondary_tombstone()
        number = shard(secondary_prefix(value), SHARDS)
        cells.setdefault(number, {})[secondary_key(value, key).encode()] = content
    return cells
