"""The timeline: a table's instants, archived ones (layout 2) included, and their metadata.

`_version_` holds the newest version v, `manifest_<v>` the JSON list of the valid files. Rows have
`instantTime`, `completionTime`, `action` and serialised metadata, which is not read here.

Layout 1 (table version 6) stores `<requested>.<action>[.<state>]` in `.hoodie`. Layout 2 (versions
8 and 9) stores `<requested>.<action>.<state>` and `<requested>_<completed>.<action>` in
`.hoodie/timeline`. Instants are compared as strings, as in Hudi.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any

import pyarrow as pa

from pyhudi_expr.arrays import DAMAGE_ERRORS, string_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import CorruptFile, HudiError, UnsupportedTable
from pyhudi_expr.tables.parsing import avro_values
from pyhudi_expr.tables.parsing.budget import check_file_size, parse_json
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage

INDEXING = "indexing"
ANNOUNCED = "announced"
"""In the extra metadata of an index action of this package: when it was announced, as an instant.
Its own instant is earlier, see `mdt.changes.async_indexing`."""


@dataclass(frozen=True)
class IndexBuild:
    """What a completed index action says of a metadata partition.

    Attributes:
        partition: The metadata partition.
        upto: The instant up to which it covers the table.
        announced: When the action was announced: what this package has noted, or its own instant.
    """

    partition: str
    upto: str
    announced: str


@dataclass(frozen=True)
class CommitMetadata:
    """The fields of HoodieCommitMetadata and HoodieReplaceCommitMetadata that reading needs."""

    schema: str | None
    """The table's Avro schema (JSON) after the commit, without the meta fields."""
    operation: str
    written: Mapping[str, tuple[str, ...]]
    """For each partition path the files written, relative to the base path."""
    replaced: Mapping[str, tuple[str, ...]]
    """For each partition path the ids of the file groups that the commit replaced."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """What the writer kept with the commit, the schema included."""

    @staticmethod
    def parse(content: bytes, file: str) -> CommitMetadata:
        """Parse an instant's content.

        Raises:
            CorruptFile: The content cannot be parsed; the message names `file`.
        """
        record = read_record(content, file)
        try:
            return CommitMetadata._of(record)
        except (AttributeError, TypeError) as error:
            raise CorruptFile(file, f"not the metadata of a commit: {error}") from error

    @staticmethod
    def _of(record: Mapping[str, Any]) -> CommitMetadata:
        """Take what is needed. Raises AttributeError and TypeError if a field has another type."""
        extra = record.get("extraMetadata") or {}
        stats = record.get("partitionToWriteStats") or {}
        replaced = record.get("partitionToReplaceFileIds") or {}
        return CommitMetadata(
            schema=_text(extra.get("schema")) or None,
            operation=_text(record.get("operationType")),
            written={
                partition: tuple(_text(one["path"]) for one in of_partition if one.get("path"))
                for partition, of_partition in stats.items()
            },
            replaced={partition: tuple(map(_text, ids)) for partition, ids in replaced.items()},
            extra=dict(extra.items()),
        )


def _text(value: object) -> str:
    if not isinstance(value, str | None):
        raise TypeError(f"a text is wanted, and a value of type {type(value).__name__} is there")
    return value or ""


def read_record(content: bytes, file: str) -> dict[str, Any]:
    """Return the one record of an instant's file: a JSON object, or the first row of an Avro file.

    An empty file gives an empty record (an instant without details).

    Raises:
        CorruptFile: The content cannot be parsed; the message names `file`.
    """
    if not content.strip():
        return {}
    check_file_size(file, len(content))
    if content.startswith(avro_values.MAGIC):
        record = avro_values.first_record(content, file)
    else:
        record = parse_json(content, file)
    if not isinstance(record, dict):
        raise CorruptFile(file, "does not hold a record")
    return record


ARCHIVE_VERSION = "_version_"
"""The file that names the newest manifest of the archive."""


def archived_completion_times(storage: Storage, properties: TableProperties) -> dict[str, str]:
    """Read the completion time of every archived instant, by requested time.

    Layout 1 has no completion times, so its archive is not read.

    Raises:
        CorruptFile: The archive cannot be read.
    """
    if properties.timeline_layout == 1:
        return {}
    directory = f"{properties.timeline_dir}/{properties.history_path}"
    version_file = f"{directory}/{ARCHIVE_VERSION}"
    version = storage.read_if_present(version_file)
    if version is None:
        return {}
    manifest_file = f"{directory}/manifest_{version.decode().strip()}"
    names = _manifest(storage.read(manifest_file), manifest_file)
    times: dict[str, str] = {}
    for table in storage.at_once(lambda name: _read_times(storage, f"{directory}/{name}"), names):
        requested, completed = (string_list(table.column(i)) for i in range(2))
        times.update(zip(requested, completed, strict=True))
    return times


def _manifest(content: bytes, file: str) -> list[str]:
    if not content.strip():
        return []
    try:
        return [entry["fileName"] for entry in parse_json(content, file)["files"]]
    except (KeyError, TypeError) as error:
        raise CorruptFile(file, f"not a manifest of archived timeline files: {error!r}") from error


def _read_times(storage: Storage, file: str) -> pa.Table:
    import pyarrow.parquet as pq  # on use: most tables have no archive, and the import takes time

    try:
        # Without threads: Arrow's hold Python's buffers slightly longer than the reading lasts, and
        # abort (SIGABRT) a process that exits at that moment.
        with storage.open_input(file) as source, pq.ParquetFile(source) as archived:
            return archived.read(["instantTime", "completionTime"], use_threads=False)
    except DAMAGE_ERRORS as error:
        raise CorruptFile(file, f"the archived timeline cannot be read: {error}") from error


class State(IntEnum):
    """The state of an action."""

    REQUESTED = 1
    INFLIGHT = 2
    COMPLETED = 3


WRITE_ACTIONS = frozenset({"commit", "deltacommit", "replacecommit"})
COMPACTION = "compaction"

# The name of a pending action once it is complete.
_COMPLETED_ACTION = {
    COMPACTION: "commit",
    "logcompaction": "deltacommit",
    "clustering": "replacecommit",
}
_ACTIONS = frozenset(
    WRITE_ACTIONS
    | _COMPLETED_ACTION.keys()
    | {"clean", "rollback", "restore", "savepoint", "indexing", "schemacommit"}
)
_FILE = re.compile(
    r"^(?P<requested>\d+)(?:_(?P<completed>\d+))?(?:\.(?P<action>[a-z]+))?"
    r"(?:\.(?P<state>requested|inflight))?$"
)


@dataclass(frozen=True, order=True)
class Instant:
    """One action on the timeline, in its latest state.

    `completed` is the completion time; None while pending, and in layout 1, which does not store
    it.
    """

    requested: str
    action: str
    state: State
    completed: str | None
    file_name: str

    @property
    def is_completed(self) -> bool:
        """Whether the action is complete."""
        return self.state == State.COMPLETED

    @property
    def is_write(self) -> bool:
        """Whether it is a completed commit, delta commit or replace commit."""
        return self.is_completed and self.action in WRITE_ACTIONS

    @property
    def is_pending_compaction(self) -> bool:
        """Whether it is a compaction that is not complete."""
        return self.action == COMPACTION and not self.is_completed


@dataclass(frozen=True)
class Timeline:
    """The active timeline, or a part of it.

    Attributes:
        instants: The actions, sorted by requested time.
        began: The start of the whole timeline; None if this is the whole.
    """

    instants: tuple[Instant, ...]
    began: str | None = None

    @staticmethod
    def read(storage: Storage, properties: TableProperties) -> Timeline:
        """Read the active timeline."""
        if properties.timeline_layout not in (1, 2):
            layout = properties.timeline_layout
            raise UnsupportedTable(f"{storage.uri}: timeline layout {layout} is not supported")
        return Timeline.of(storage.names(properties.timeline_dir))

    @staticmethod
    def of(names: Iterable[str]) -> Timeline:
        """Build the timeline from the names of its directory's files; other files are ignored."""
        furthest: dict[tuple[str, str], Instant] = {}
        for name in names:
            instant = _parse(name)
            if instant is None:
                continue
            key = (instant.requested, _COMPLETED_ACTION.get(instant.action, instant.action))
            known = furthest.get(key)
            if known is None or instant.state > known.state:
                furthest[key] = instant
        return Timeline(tuple(sorted(furthest.values(), key=_place)))

    def as_of(self, instant: str) -> Timeline:
        """Return the instants that were requested at `instant` or before."""
        return Timeline(tuple(i for i in self.instants if i.requested <= instant), self.start)

    @computed_once
    def writes(self) -> tuple[Instant, ...]:
        """Completed commits, delta commits and replace commits."""
        return tuple(instant for instant in self.instants if instant.is_write)

    @property
    def index_actions(self) -> tuple[Instant, ...]:
        """Completed actions that built indexes."""
        return tuple(one for one in self.instants if one.action == INDEXING and one.is_completed)

    @property
    def newest_completed(self) -> Instant | None:
        """The completed action with the greatest requested time."""
        completed = (instant for instant in self.instants if instant.is_completed)
        return max(completed, key=lambda instant: instant.requested, default=None)

    @computed_once
    def pending_compactions(self) -> tuple[Instant, ...]:
        """The compactions that are not complete."""
        return tuple(instant for instant in self.instants if instant.is_pending_compaction)

    @property
    def last_write(self) -> Instant | None:
        """The completed write with the greatest requested time."""
        return self.writes[-1] if self.writes else None

    @computed_once
    def pending(self) -> frozenset[str]:
        """Requested times of all actions that are not complete."""
        return frozenset(i.requested for i in self.instants if not i.is_completed)

    @computed_once
    def start(self) -> str | None:
        """The active timeline's first write. Older instants were archived, so they are complete.

        Savepoints prevent the archiving of their commits, so they do not count.
        """
        if self.began is not None:
            return self.began
        saved = {i.requested for i in self.instants if i.action == "savepoint"}
        visible = [i.requested for i in (*self.writes, *self.pending_compactions)]
        unsaved = [requested for requested in visible if requested not in saved]
        return min(unsaved or visible, default=None)

    @computed_once
    def digest(self) -> bytes:
        """The SHA-256 of the protocol: equal for equal instants in equal states."""
        lines = (f"{i.requested}.{i.action}.{i.state.name}\n".encode() for i in self.instants)
        return hashlib.sha256(b"".join(sorted(lines))).digest()

    @computed_once
    def completed_requests(self) -> frozenset[str]:
        """Requested times of the completed writes."""
        return frozenset(instant.requested for instant in self.writes)

    def is_committed(self, requested: str) -> bool:
        """Return whether files of this requested time are committed.

        They are if it is a completed write, or older than the active timeline's start.
        """
        if requested in self.completed_requests:
            return True
        return self.start is not None and requested < self.start


_place = attrgetter("requested", "action")
"""What no two instants share; to compare them as a whole takes several times as long."""


@lru_cache(maxsize=1 << 12)
def _parse(name: str) -> Instant | None:
    """Parse a file's name. Cached: warm requests list the same names again."""
    match = _FILE.match(name)
    if match is None:
        return None
    requested, completed, action, state = match.group("requested", "completed", "action", "state")
    if action in ("inflight", "requested"):
        # The pending files of a plain commit have no action in their names.
        action, state = "commit", action
    if action not in _ACTIONS or (completed and state):
        return None
    return Instant(
        requested=requested,
        action=action,
        state=State[state.upper()] if state else State.COMPLETED,
        completed=completed,
        file_name=name,
    )


_QUERIED = re.compile(r"\d{1,17}|\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{3})?)?)?")
_DIGITS = len("yyyyMMddHHmmssSSS")
_OF_TIMES = (len("yyyyMMdd"), len("yyyyMMddHHmm"), len("yyyyMMddHHmmss"))


def query_instant(text: str | None) -> str | None:
    """Parse the instant of a query, written in the timeline's digits or as a date.

    Digits without hours, or without a second's parts, mean the beginning of the day or second.

    Raises:
        HudiError: It is neither.
    """
    if text is None:
        return None
    text = text.strip()
    if not (_QUERIED.fullmatch(text) and (text.isdigit() or _is_time(text))):
        raise HudiError(
            f"{text!r} is not an instant: write 20240131 or '2024-01-31 23:59:59', for example"
        )
    digits = re.sub(r"\D", "", text)
    return digits.ljust(_DIGITS, "0") if len(digits) in _OF_TIMES or digits != text else text


def _is_time(text: str) -> bool:
    """Return whether the calendar has a date, and the clock its time."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
