"""Write actions to a timeline, and their metadata: Avro since table version 8, JSON before.

Names, types and their order are those of Hudi's `HoodieCommitMetadata`, `HoodieIndexPlan` and
`HoodieIndexCommitMetadata`, without their documentation. Index plans are Avro in all versions.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase
from typing import Any

import fastavro

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.parsing.avro_schemas import AvroSchema
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage

_NAMESPACE = "org.apache.hudi.avro.model"
# Makes Avro's Java readers return Strings, as in Hudi's own files.
_STRING = {"type": "string", "avro.java.string": "String"}


def _optional(name: str, kind: AvroSchema) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _map(values: AvroSchema) -> dict[str, Any]:
    return {"type": "map", "values": values, "avro.java.string": "String"}


_VERSION = {"name": "version", "type": ["int", "null"], "default": 1}
_TEXTS = ("fileId", "path", "prevCommit")
_COUNTS = ("numWrites", "numDeletes", "numUpdateWrites", "totalWriteBytes", "totalWriteErrors")
_LOG_COUNTS = (
    *("totalLogRecords", "totalLogFiles", "totalUpdatedRecordsCompacted", "numInserts"),
    *("totalLogBlocks", "totalCorruptLogBlock", "totalRollbackBlocks", "fileSizeInBytes"),
)
_RUNTIME = ("totalScanTime", "totalCreateTime", "totalUpsertTime")
_COMPACTED = ("totalLogFilesCompacted", "totalLogReadTimeMs", "totalLogSizeCompacted")
_WRITE_STAT = _record(
    "HoodieWriteStat",
    *(_optional(name, _STRING) for name in _TEXTS),
    *(_optional(name, "long") for name in _COUNTS),
    _optional("partitionPath", _STRING),
    *(_optional(name, "long") for name in _LOG_COUNTS),
    _optional("logVersion", "int"),
    _optional("logOffset", "long"),
    _optional("baseFile", _STRING),
    _optional("logFiles", {"type": "array", "items": _STRING}),
    _optional("cdcStats", _map("long")),
    _optional("prevBaseFile", _STRING),
    _optional("minEventTime", "long"),
    _optional("maxEventTime", "long"),
    _optional(
        "runtimeStats",
        _record("HoodieRuntimeStats", *(_optional(name, "long") for name in _RUNTIME)),
    ),
    *(_optional(name, "long") for name in _COMPACTED),
    _optional("tempPath", _STRING),
    _optional("numUpdates", "long"),
)
_COMMIT = _record(
    "HoodieCommitMetadata",
    _optional("partitionToWriteStats", _map({"type": "array", "items": _WRITE_STAT})),
    _optional("compacted", "boolean"),
    _optional("extraMetadata", _map(_STRING)),
    _VERSION,
    _optional("operationType", _STRING),
)
_INDEXED = _optional(
    "indexPartitionInfos",
    {
        "type": "array",
        "items": _record(
            "HoodieIndexPartitionInfo",
            _VERSION,
            _optional("metadataPartitionPath", _STRING),
            _optional("indexUptoInstant", _STRING),
            _optional("extraMetadata", _map(_STRING)),
        ),
    },
)
_INDEX_PLAN = _record("HoodieIndexPlan", _VERSION, _INDEXED)
_INDEX_COMMIT = _record(
    "HoodieIndexCommitMetadata", _VERSION, _optional("operationType", _STRING), _INDEXED
)
_COMMIT_SCHEMA, _INDEX_PLAN_SCHEMA, _INDEX_COMMIT_SCHEMA = (
    fastavro.parse_schema({**schema, "namespace": _NAMESPACE})
    for schema in (_COMMIT, _INDEX_PLAN, _INDEX_COMMIT)
)


@dataclass(frozen=True)
class WrittenFile:
    """A file that a commit wrote.

    Attributes:
        path: Its path relative to the base path.
        previous: The instant of its file slice; None for the base file of a new file group.
    """

    file_id: str
    path: str
    bytes: int
    records: int
    previous: str | None = None
    is_log: bool = False

    @property
    def partition(self) -> str:
        """The path of the file's partition."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class IndexedPartition:
    """A metadata partition that an index action builds.

    Attributes:
        upto: The instant that it covers.
    """

    name: str
    upto: str
    extra: Mapping[str, str] = field(default_factory=dict)


def commit_record(
    layout: int, files: Sequence[WrittenFile], operation: str, extra: Mapping[str, str]
) -> bytes:
    """Return the content of a completed delta commit in a timeline of this layout."""
    stats: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        stats.setdefault(file.partition, []).append(_write_stat(file))
    record = {
        "partitionToWriteStats": stats,
        "compacted": False,
        "extraMetadata": dict(extra),
        "operationType": operation,
    }
    if layout == 1:
        return json.dumps(record, indent=2).encode()
    return _container(_COMMIT_SCHEMA, {**record, "version": 1})


def index_plan(partitions: Sequence[IndexedPartition]) -> bytes:
    """Return the content of a requested index action."""
    return _container(_INDEX_PLAN_SCHEMA, {"version": 1, "indexPartitionInfos": _infos(partitions)})


def index_commit(partitions: Sequence[IndexedPartition]) -> bytes:
    """Return the content of a completed index action."""
    record = {"version": 1, "indexPartitionInfos": _infos(partitions)}
    return _container(_INDEX_COMMIT_SCHEMA, record)


def _infos(partitions: Sequence[IndexedPartition]) -> list[dict[str, Any]]:
    return [
        {
            "version": 1,
            "metadataPartitionPath": partition.name,
            "indexUptoInstant": partition.upto,
            "extraMetadata": dict(partition.extra),
        }
        for partition in partitions
    ]


def _write_stat(file: WrittenFile) -> dict[str, Any]:
    stat: dict[str, Any] = {
        "fileId": file.file_id,
        "path": file.path,
        "prevCommit": file.previous or "null",
        "numWrites": file.records,
        "numInserts": file.records,
        "totalWriteBytes": file.bytes,
        "fileSizeInBytes": file.bytes,
        "partitionPath": file.partition,
    }
    zeros = (*_COUNTS, *_LOG_COUNTS, *_COMPACTED, "numUpdates")
    stat |= {name: 0 for name in zeros if name not in stat and name != "totalLogFiles"}
    if file.is_log:
        stat |= {"logVersion": 1, "logOffset": 0, "baseFile": "", "logFiles": [file.name]}
    return stat


def _container(schema: AvroSchema, record: Mapping[str, Any]) -> bytes:
    target = io.BytesIO()
    fastavro.writer(target, schema, [record])
    return target.getvalue()


_FORMAT = "%Y%m%d%H%M%S%f"
_DIGITS = 17  # yyyyMMddHHmmssSSS
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Action:
    """One action of a table's timeline, in any of its states.

    Attributes:
        requested: Its requested time.
        name: Its name on the timeline, for example `indexing` or `deltacommit`.
    """

    storage: Storage
    properties: TableProperties
    requested: str
    name: str

    def request(self, plan: bytes = b"") -> None:
        """Write the requested state.

        Raises:
            HudiError: An action of this time exists.
        """
        self._create(self._pending_file("requested"), plan)

    def start(self, content: bytes = b"") -> None:
        """Write the inflight state."""
        self._create(self._pending_file("inflight"), content)

    def complete(self, content: bytes, completed: str) -> None:
        """Write the completed state; `completed` is later than all other times, see `next_time`."""
        self._create(self._completed_file(completed), content)

    def remove(self) -> None:
        """Remove the action, whatever its state."""
        completed = self._completed_file("*")
        for entry in self.storage.list(self.properties.timeline_dir):
            if fnmatchcase(entry.path, completed):
                self.storage.delete(entry.path)
        for state in ("inflight", "requested"):
            self.storage.delete(self._pending_file(state))

    def _pending_file(self, state: str) -> str:
        return f"{self.properties.timeline_dir}/{self.requested}.{self.name}.{state}"

    def _completed_file(self, completed: str) -> str:
        times = self.requested
        if self.properties.timeline_layout > 1:
            times = f"{self.requested}_{completed}"
        return f"{self.properties.timeline_dir}/{times}.{self.name}"

    def _create(self, path: str, content: bytes) -> None:
        if not self.storage.create(path, content):
            raise HudiError(
                f"{self.storage.uri}: {path} is there already: another writer is at work; try again"
            )


def next_time(properties: TableProperties, known: Iterable[str | None]) -> str:
    """Return the current instant (yyyyMMddHHmmssSSS) in the timeline's zone, after all known ones.

    Without this, writers whose clocks or zones differ would order their instants wrongly.
    """
    zone = timezone.utc if properties.timeline_zone == "UTC" else None
    now = _text(datetime.now(zone))
    latest = max((_with_milliseconds(instant) for instant in known if instant), default="")
    if now > latest:
        return now
    return _text(_moment(latest) + _MILLISECOND)


def time_before(instant: str) -> str:
    """Return the instant that is a millisecond before another one."""
    return _text(_moment(instant) - _MILLISECOND)


def _with_milliseconds(instant: str) -> str:
    """Return an instant with milliseconds, as Hudi reads it; longer ones are truncated."""
    return instant.ljust(_DIGITS, "9")[:_DIGITS]


def _moment(instant: str) -> datetime:
    """Return the moment of an instant; milliseconds that are not given are 0."""
    day, time = instant[:8], instant[8:14]
    return datetime(
        int(day[:4]),
        int(day[4:6]),
        int(day[6:]),
        int(time[:2]),
        int(time[2:4]),
        int(time[4:]),
        int(instant[14:_DIGITS].ljust(3, "0")) * 1000,
    )


def _text(moment: datetime) -> str:
    return moment.strftime(_FORMAT)[:_DIGITS]
