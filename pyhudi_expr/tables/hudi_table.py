"""A Hudi table at one moment: properties, timeline, schema and file slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import DAMAGE_ERRORS, arrow_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import (
    BeforeFirstCommit,
    CorruptFile,
    ExternalFiles,
    HudiError,
    TableNotFound,
    UnsupportedTable,
)
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.file_slices import GroupId, SliceRules, select_slices
from pyhudi_expr.tables.hudi_names import (
    HOODIE_DIR,
    PARTITION_MARKER,
    PROPERTIES_FILE,
    SCHEMA_DIR,
    external_file,
)
from pyhudi_expr.tables.listing import FileListing, StoredFiles, TableView
from pyhudi_expr.tables.properties import TableProperties, TableType
from pyhudi_expr.tables.schema import arrow_schema, with_meta_fields
from pyhudi_expr.tables.storage import Expected, FileEntry, Storage
from pyhudi_expr.tables.timeline import (
    ANNOUNCED,
    ARCHIVE_VERSION,
    CommitMetadata,
    IndexBuild,
    Instant,
    Timeline,
    archived_completion_times,
    query_instant,
    read_record,
)

_LISTING_THREADS = 8
_LOOKED_INTO, _NAMED = 128, 3
"""Directories in which a table is looked for, and tables that a message names."""
_REPLACE = "replacecommit"
_READ_ACTIONS = frozenset({"rollback", "restore", "indexing"})


@dataclass(frozen=True)
class HudiTable:
    """One snapshot of a table. It does not change when the table does; `refreshed` opens a new one.

    Its methods raise TableNotFound, UnsupportedTable, CorruptFile or another HudiError.
    """

    storage: Storage
    properties: TableProperties
    timeline: Timeline

    def __repr__(self) -> str:
        """Return one line, as the timeline may be long."""
        return f"<HudiTable {self.base_path}, as of {self.instant}>"

    @staticmethod
    def open(base_path: str, storage_options: Mapping[str, str] | None = None) -> HudiTable:
        """Open the table at a path or URI (`/a`, `file:///a`, `hdfs://..`, `s3://..`).

        Args:
            base_path: The path or URI.
            storage_options: Credentials and other settings of its storage, see `Storage.open`.

        Raises:
            TableNotFound: There is none; the message names tables above and below.
        """
        storage = Storage.open(base_path, storage_options)
        try:
            return HudiTable.at(storage)
        except TableNotFound as error:
            raise TableNotFound(f"{error}{tables_near(storage)}") from error

    @staticmethod
    def at(storage: Storage) -> HudiTable:
        """Open the table of a storage."""
        properties = TableProperties.read(storage)
        return HudiTable(storage, properties, Timeline.read(storage, properties))

    @property
    def base_path(self) -> str:
        """The path or URI of the table."""
        return self.storage.uri

    @property
    def instant(self) -> str | None:
        """Requested time of the newest completed write in this snapshot."""
        last = self.timeline.last_write
        return last.requested if last else None

    def refreshed(self, storage: Storage | None = None) -> HudiTable:
        """Return the table as it is now; this object if its timeline and properties are unchanged.

        Costs one directory listing and one small file.

        Args:
            storage: The table's storage during one question, see `Storage.reading_ahead`.
        """
        latest = HudiTable.at(storage or self.storage)
        return self if self.is_as(latest) else latest

    def is_as(self, other: HudiTable) -> bool:
        """Return whether another snapshot of the table has the same timeline and properties."""
        return other.timeline == self.timeline and _same(other.properties, self.properties)

    @property
    def state_reads(self) -> Expected:
        """What `refreshed` reads."""
        return Expected(files=(PROPERTIES_FILE,), directories=(self.properties.timeline_dir,))

    @property
    def commit_reads(self) -> Expected:
        """What listings, schemas and indexes read of the timeline."""
        writes = self.timeline.writes
        read = [
            instant for instant in writes if instant.action == _REPLACE or instant is writes[-1]
        ]
        read += [i for i in self.timeline.instants if i.is_completed and i.action in _READ_ACTIONS]
        folder = self.properties.timeline_dir
        plans = [self._plan_path(instant) for instant in self.timeline.pending_compactions]
        archive = f"{folder}/{self.properties.history_path}/{ARCHIVE_VERSION}"
        written = [f"{folder}/{instant.file_name}" for instant in read]
        return Expected(unchanging=[*written, *plans, archive])

    def check_as_of(self, as_of: str) -> None:
        """Check that the table had a commit at an instant, or at the beginning of a date.

        Raises:
            BeforeFirstCommit: It had none; the message names the first one.
            HudiError: The archived timeline cannot be read.
        """
        instant = query_instant(as_of) or ""
        first = self.timeline.writes[0].requested if self.timeline.writes else None
        if first is None or instant >= first or self._may_have_unread_archive():
            return
        first = min([first, *archived_completion_times(self.storage, self.properties)])
        if instant < first:
            raise BeforeFirstCommit(
                f"{self.base_path}: the instant {instant} is before the table's first commit, "
                f"{first}; name that one or a later one"
            )

    def _may_have_unread_archive(self) -> bool:
        folder = self.properties.raw.get(hudi_names.ARCHIVE_FOLDER, "archived")
        archive = self.storage.list(f"{HOODIE_DIR}/{folder}")
        return self.properties.timeline_layout == 1 and any(entry.is_file for entry in archive)

    def commit_metadata(self, instant: Instant) -> CommitMetadata:
        """Read the metadata of a completed write."""
        path = f"{self.properties.timeline_dir}/{instant.file_name}"
        return CommitMetadata.parse(self.storage.read(path), f"{self.base_path}/{path}")

    def index_builds(self, instant: Instant) -> list[IndexBuild]:
        """Read what a completed index action has built."""
        path = f"{self.properties.timeline_dir}/{instant.file_name}"
        record = read_record(self.storage.read(path), f"{self.base_path}/{path}")
        return [
            IndexBuild(
                str(info.get("metadataPartitionPath")),
                info.get("indexUptoInstant") or "",
                (info.get("extraMetadata") or {}).get(ANNOUNCED) or instant.requested,
            )
            for info in record.get("indexPartitionInfos") or ()
        ]

    @computed_once
    def index_definitions_file(self) -> bytes | None:
        """The file with the definitions of indexes, as it is when it is first read."""
        return self.read_index_definitions()

    def read_index_definitions(self) -> bytes | None:
        """Read the file with the definitions of indexes as it is now; None if there is none."""
        return self.storage.read_if_present(self.properties.index_definitions_path)

    @property
    def has_schema_history(self) -> bool:
        """Whether the table uses Hudi's schema-on-read evolution (columns renamed or retyped)."""
        entries = self.storage.list(SCHEMA_DIR)
        return any(entry.name.endswith(".schemacommit") for entry in entries)

    def schema(self, as_of: str | None = None) -> pa.Schema:
        """Return the table's schema at an instant (None: now), with the meta columns first.

        A table with virtual keys has the meta columns too, without values. The schema is that of
        the newest commit that has one, else of the table's creation, else of a base file.

        Raises:
            BeforeFirstCommit: None has one, and the table had no commit at the instant.
            HudiError: None has one.
        """
        schema = self._recorded_schema(as_of)
        if schema is None:
            return self._base_file_schema(as_of)
        return with_meta_fields(schema)

    def listing(
        self,
        view: TableView = TableView.SNAPSHOT,
        as_of: str | None = None,
        files: StoredFiles | None = None,
    ) -> FileListing:
        """Return the file slices that a query sees, now or as of an instant (yyyyMMddHHmmssSSS).

        Args:
            view: The view of the table.
            as_of: The instant; None for now.
            files: All files of the table, if the caller has them from the metadata table. None: the
                storage is listed.

        Raises:
            ExternalFiles: Other writers than Hudi made some files. These have other names than
                paths, and what indexes say of them is what those writers recorded: ranges beside
                NaN, or times that are cut to milliseconds.
        """
        stored = self.stored_files() if files is None else files
        external = external_file(stored.name)
        if external is not None:
            raise ExternalFiles(
                f"{self.base_path}: the file {external} is not Hudi's: another writer made it, and "
                "Hudi registered it. Such tables are not pruned"
            )
        return select_slices(stored, self._slice_rules(as_of), view)

    def stored_files(self) -> StoredFiles:
        """List all files of all partitions in the storage.

        A directory is a partition if it has Hudi's partition marker.
        """
        top = self.storage.list()
        below = [entry.path for entry in top if not entry.is_file and entry.name != HOODIE_DIR]
        with ThreadPoolExecutor(_LISTING_THREADS) as pool:
            nested = pool.map(lambda path: self.storage.list(path, recursive=True), below)
            entries = [entry for entries in (top, *nested) for entry in entries if entry.is_file]
        return _stored_files(entries)

    def _recorded_schema(self, as_of: str | None) -> pa.Schema | None:
        timeline = self.timeline if as_of is None else self.timeline.as_of(as_of)
        # A clustering or compaction may have no schema.
        written = (self.commit_metadata(instant).schema for instant in reversed(timeline.writes))
        schema = next(filter(None, written), self.properties.create_schema)
        try:
            return arrow_schema(schema) if schema else None
        except UnsupportedTable as error:
            raise UnsupportedTable(f"{self.base_path}: {error}") from error

    def _base_file_schema(self, as_of: str | None) -> pa.Schema:
        listing = self.listing(TableView.READ_OPTIMIZED, as_of)
        if not listing.num_files:
            if as_of is not None:
                self.check_as_of(as_of)
            raise HudiError(f"{self.base_path}: the table has neither a schema nor a base file")
        partition = listing.partitions[int(listing.file_partition[0])].as_py()
        path = "/".join(part for part in (partition, listing.file_name[0].as_py()) if part)
        import pyarrow.parquet as pq  # on use: few tables need it, and the import takes time

        try:
            with self.storage.open_input(path) as source:
                return pq.read_schema(source).remove_metadata()
        except DAMAGE_ERRORS as error:
            raise CorruptFile(f"{self.base_path}/{path}", f"not a Parquet file: {error}") from error

    def _slice_rules(self, as_of: str | None) -> SliceRules:
        properties = self.properties
        visible = self.timeline if as_of is None else self.timeline.as_of(as_of)
        return SliceRules(
            timeline=self.timeline,
            as_of=as_of,
            layout=properties.timeline_layout,
            base_format=properties.base_file_format.lower(),
            with_logs=properties.table_type is TableType.MERGE_ON_READ,
            replaced=frozenset(self._replaced_groups(visible)),
            pending_compactions=dict(self._compacting_groups(visible)),
            completion_time=self.completion_time,
        )

    def _replaced_groups(self, timeline: Timeline) -> Iterator[GroupId]:
        for instant in timeline.writes:
            if instant.action == _REPLACE:
                for partition, ids in self.commit_metadata(instant).replaced.items():
                    for file_id in ids:
                        yield partition, file_id

    def _compacting_groups(self, timeline: Timeline) -> Iterator[tuple[GroupId, str]]:
        for instant in timeline.pending_compactions:
            path = self._plan_path(instant)
            plan = read_record(self.storage.read(path), f"{self.base_path}/{path}")
            for operation in plan.get("operations") or ():
                group = (operation.get("partitionPath") or "", operation["fileId"])
                yield group, instant.requested

    def _plan_path(self, compaction: Instant) -> str:
        return f"{self.properties.timeline_dir}/{compaction.requested}.compaction.requested"

    def completion_time(self, requested: str) -> str | None:
        """Return the completion time of the write with this requested time; None while pending.

        Only in layout 2.

        Raises:
            CorruptFile: The archive cannot be read.
        """
        known = self._completion_times.get(requested)
        if known is not None or not self.timeline.is_committed(requested):
            return known
        # Archived. Tables upgraded from layout 1 have archived instants without completion times.
        return self.archived_times.get(requested, requested)

    @computed_once
    def _completion_times(self) -> dict[str, str]:
        return {i.requested: i.completed for i in self.timeline.writes if i.completed}

    @computed_once
    def archived_times(self) -> dict[str, str]:
        """Read the completion time of every archived instant, by requested time.

        Raises:
            CorruptFile: The archive cannot be read.
        """
        return archived_completion_times(self.storage, self.properties)


def tables_near(storage: Storage) -> str:
    """Return the end of a message that there is no table: which ones are above and below it.

    Empty if there are none, or if that cannot be found out: the message is about something else.
    """
    try:
        above = _tables([*storage.parents()])
        if above:
            return (
                f"; there is a Hudi table in {above[0].uri}: open that, and name the partitions in"
                " the predicate"
            )
        inside = [entry.path for entry in storage.list() if not entry.is_file]
        below = _tables([storage.child(path) for path in sorted(inside)[:_LOOKED_INTO]])
    except HudiError:
        return ""
    named = ", ".join(one.uri for one in below[:_NAMED])
    more = ", ..." if len(below) > _NAMED else ""
    return f"; there is a Hudi table in {named}{more}" if below else ""


def _tables(places: Sequence[Storage]) -> Sequence[Storage]:
    """Return the directories that are tables; those of an object store are looked at at once."""
    if not places:
        return ()
    found = places[0].at_once(lambda one: one.stat(PROPERTIES_FILE), places)
    return [one for one, file in zip(places, found, strict=True) if file is not None]


def _same(one: TableProperties, other: TableProperties) -> bool:
    return one is other or one.raw == other.raw


def _stored_files(entries: list[FileEntry]) -> StoredFiles:
    parents = [entry.path.rpartition("/")[0] for entry in entries]
    marked = {
        parent
        for entry, parent in zip(entries, parents, strict=True)
        if entry.name.startswith(PARTITION_MARKER)
    }
    number = {partition: i for i, partition in enumerate(sorted(marked))}
    rows = [
        (number[parent], entry.name, entry.size)
        for entry, parent in zip(entries, parents, strict=True)
        if parent in number and not entry.name.startswith(PARTITION_MARKER)
    ]
    return StoredFiles(
        partitions=arrow_list(list(number), pa.string()),
        partition=np.array([row[0] for row in rows], np.int32),
        name=arrow_list([row[1] for row in rows], pa.string()),
        size=np.array([row[2] for row in rows], np.int64),
    )
