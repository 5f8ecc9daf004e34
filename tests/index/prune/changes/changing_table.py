"""A table of metadata only that commits, cleans and table services change, as Hudi writes it."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from bench.tables import synthetic
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES, METADATA_DIR, PARTITION_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import StoredFiles
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.keys import ALL_PARTITIONS, column_stats_key, shard
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import COLUMN_STATS as STATS_RECORD
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.records.value_types import value_type
from pyhudi_expr.tables.mdt.store.compaction import compact_group
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.tables.mdt.records.tombstones import deleted_statistics

FILES_BEFORE, PARTITIONS, SHARDS = 96, 12, 2
COLUMNS = ("id", "spread")
LONG = value_type(pa.int64(), "V2")
assert LONG is not None
STATISTICS = payloads.Statistics("", "", LONG, None, 9, 0, 72, 72, is_tight=True)
_GROUPS = {FILES: "files-0000-0", COLUMN_STATS: "col-stats-{:04d}-0"}


@dataclass
class Changes:
    """What one action does to files: by partition, names that it adds and deletes."""

    added: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    deleted: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    partitions: list[str] = field(default_factory=list)
    restated: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Files whose entries in `column_stats` are written again."""


class ChangingTable:
    """The table. Every action draws what it changes from `random`."""

    def __init__(self, path: Path, drawn: random.Random, *, merge_on_read: bool) -> None:
        synthetic.write_table(path, files=FILES_BEFORE, partitions=PARTITIONS)
        self.path, self.metadata, self.random = path, path / METADATA_DIR, drawn
        if merge_on_read:
            properties = path / ".hoodie/hoodie.properties"
            text = properties.read_text().replace("COPY_ON_WRITE", "MERGE_ON_READ")
            properties.write_text(text)
        self.merge_on_read = merge_on_read
        self.number = 0
        self.pending: list[tuple[str, Changes]] = []
        self.compacting: tuple[str, str, str] | None = None
        listing = HudiTable.open(str(path)).listing(files=self._stored())
        self.groups: dict[str, dict[str, list[str]]] = defaultdict(dict)
        for slice_, partition in enumerate(listing.slice_partition.tolist()):
            name = listing.file_name[slice_].as_py()
            self.groups[listing.partition_paths[partition]][name.split("_")[0]] = [name]

    def write(self) -> None:
        """A commit of new files, new versions of file groups, and log files."""
        instant = self._instant()
        self._complete(instant, self._written(instant))

    def add_partition(self) -> None:
        """A commit to a partition that is new."""
        instant, changes = self._instant(), Changes()
        partition = f"day=2021-{self.number:05d}"
        changes.partitions.append(partition)
        self._add(changes, partition, f"{self.number:08d}-new-0", instant)
        self._complete(instant, changes)

    def add_files(self, partition: str) -> None:
        """A commit of two files to a partition."""
        instant, changes = self._instant(), Changes()
        for number in range(2):
            self._add(changes, partition, f"{self.number:05d}{number:03d}-new-0", instant)
        self._complete(instant, changes)

    def unlist(self, partition: str) -> None:
        """A commit takes a partition from the list of partitions, and changes nothing else."""
        instant = self._instant()
        deleted = payloads.partition_list([], [partition])
        self._write_log(FILES, _GROUPS[FILES], instant, {ALL_PARTITIONS: deleted})
        self._metadata_instant(instant, "deltacommit")
        self._finish(instant, self._action)
        del self.groups[partition]

    def restate(self) -> None:
        """A commit that gives other statistics of files, and changes no file of their partition."""
        instant, changes = self._instant(), Changes()
        partition, other = self.random.sample(sorted(self.groups), 2)
        names = [names[-1] for names in self.groups[partition].values()]
        changes.restated[partition] = self.random.sample(names, min(len(names), 2))
        self._add(changes, other, f"{self.number:08d}-new-0", instant)
        self._complete(instant, changes)

    def begin(self) -> None:
        """A writer has written the metadata table's part, and not completed its commit."""
        instant = self._instant()
        changes = self._written(instant)
        self._log(instant, changes)
        self._metadata_instant(instant, "deltacommit")
        (self._timeline / f"{instant}.{self._action}.requested").touch()
        self.pending.append((instant, changes))

    def complete(self) -> None:
        """A writer that has started completes, perhaps after others that began later."""
        if self.pending:
            instant, _ = self.pending.pop(self.random.randrange(len(self.pending)))
            self._finish(instant, self._action)

    def roll_back(self) -> None:
        """What a writer has started is taken back."""
        if not self.pending:
            return
        instant, changes = self.pending.pop()
        for file in self._timeline.glob(f"{instant}*"):
            file.unlink()
        own = self._instant()
        correction = Changes(deleted=changes.added)
        self._log(own, correction)
        self._metadata_instant(own, "deltacommit")
        self._finish(own, "rollback", {"commitsRollback": [instant]})

    def clean(self) -> None:
        """Files that no query reads any more are deleted."""
        instant, changes = self._instant(), Changes()
        for partition in self.random.sample(sorted(self.groups), 2):
            for names in self.groups[partition].values():
                bases = [name for name in names if not name.startswith(".")]
                if len(bases) > 1 and names[-1] == bases[-1]:
                    changes.deleted[partition] += names[:-1]
                    names[:] = names[-1:]
        self._log(instant, changes)
        self._metadata_instant(instant, "deltacommit")
        self._finish(instant, "clean")

    def replace(self) -> None:
        """A commit replaces file groups of a partition that it may not write to."""
        instant = self._instant()
        changes = self._written(instant)
        partition = self.random.choice([one for one in sorted(self.groups) if self.groups[one]])
        ids = self.random.sample(sorted(self.groups[partition]), 1)
        self._log(instant, changes)
        self._metadata_instant(instant, "deltacommit")
        self._finish(instant, "replacecommit", {"partitionToReplaceFileIds": {partition: ids}})

    def compact_data(self) -> None:
        """A compaction of a file group is planned, or completed."""
        if not self.merge_on_read:
            return
        if self.compacting is None:
            instant, partition = self._instant(), self.random.choice(sorted(self.groups))
            file_id = self.random.choice(sorted(self.groups[partition]))
            plan = {"operations": [{"partitionPath": partition, "fileId": file_id}]}
            (self._timeline / f"{instant}.compaction.requested").write_text(json.dumps(plan))
            self.compacting = instant, partition, file_id
            return
        instant, partition, file_id = self.compacting
        changes = Changes()
        self._add(changes, partition, file_id, instant)
        self.compacting = None
        self._complete(instant, changes, "commit")

    def save(self) -> None:
        """A savepoint."""
        self._finish(self._instant(), "savepoint")

    def compact_metadata(self) -> None:
        """The metadata table's log files are merged into new base files."""
        if self.pending:
            return
        instant = self._instant()
        opened = self._opened()
        for partition in (FILES, COLUMN_STATS, PARTITION_STATS):
            for group in opened.groups(partition):
                assert group.base is not None
                file_id = group.base.path.rpartition("/")[2].split("_")[0]
                target = self.metadata / partition / f"{file_id}_0-9-9_{instant}.hfile"
                with target.open("wb") as sink:
                    hfile_writer.write_batches(sink, compact_group(group), RECORD_SCHEMA)
        self._metadata_instant(instant, "compaction")

    def _written(self, instant: str) -> Changes:
        changes = Changes()
        for partition in self.random.sample(sorted(self.groups), self.random.randint(1, 2)):
            known = sorted(self.groups[partition])
            for number in range(self.random.randint(0, 3)):
                self._add(changes, partition, f"{self.number:05d}{number:03d}-new-0", instant)
            for file_id in self.random.sample(known, min(len(known), self.random.randint(0, 2))):
                if self.merge_on_read:
                    name = f".{file_id}_{instant}.log.1_0-1-2"
                    self.groups[partition][file_id].append(name)
                    changes.added[partition].append(name)
                else:
                    self._add(changes, partition, file_id, instant)
        return changes

    def _add(self, changes: Changes, partition: str, file_id: str, instant: str) -> None:
        name = f"{file_id}_0-1-1_{instant}.parquet"
        self.groups[partition].setdefault(file_id, []).append(name)
        changes.added[partition].append(name)

    def _complete(self, instant: str, changes: Changes, action: str | None = None) -> None:
        self._log(instant, changes)
        self._metadata_instant(instant, "deltacommit")
        self._finish(instant, action or self._action)

    def _log(self, instant: str, changes: Changes) -> None:
        """Write the log files of the metadata table."""
        listed: dict[str, bytes] = {}
        cells: dict[int, dict[str, bytes]] = defaultdict(dict)
        for partition in sorted({*changes.added, *changes.deleted, *changes.restated}):
            added, deleted = changes.added[partition], changes.deleted[partition]
            sizes = {name: self.random.randint(1, 9) for name in added}
            if added or deleted:
                listed[partition] = payloads.file_list(sizes, deleted)
            added = [*added, *changes.restated[partition]]
            for column in COLUMNS:
                for name in (*added, *deleted):
                    key = column_stats_key(column, partition, name)
                    low = self.random.randint(0, FILES_BEFORE * synthetic.ROWS_PER_FILE)
                    stats = replace(
                        STATISTICS, described=name, column=column, bounds=(low, low + 999)
                    )
                    cells[shard(key, SHARDS)][key] = (
                        payloads.statistics(STATS_RECORD, stats)
                        if name in added
                        else deleted_statistics(STATS_RECORD, name, column)
                    )
        # Hudi names all partitions of a commit again.
        named = changes.partitions or sorted(name for name, of in changes.added.items() if of)[:1]
        listed[ALL_PARTITIONS] = payloads.partition_list(named)
        self._write_log(FILES, _GROUPS[FILES], instant, listed)
        for own, held in cells.items():
            self._write_log(COLUMN_STATS, _GROUPS[COLUMN_STATS].format(own), instant, held)

    def _write_log(self, partition: str, group: str, instant: str, cells: dict[str, bytes]) -> None:
        encoded = sorted((key.encode(), value) for key, value in cells.items())
        file = self.metadata / partition / f".{group}_{instant}.log.1_0-1-2"
        file.write_bytes(log_writer.records(instant, encoded))

    @property
    def _timeline(self) -> Path:
        return self.path / ".hoodie/timeline"

    @property
    def _action(self) -> str:
        return "deltacommit" if self.merge_on_read else "commit"

    def _instant(self) -> str:
        self.number += 1
        return f"20240701{self.number * 1000:09d}"

    def _completed(self) -> str:
        """A time after that of all instants that have started."""
        self.number += 1
        return f"20240701{self.number * 1000 - 1:09d}"

    def _metadata_instant(self, instant: str, action: str) -> None:
        timeline = self.metadata / ".hoodie/timeline"
        schema = synthetic.table_schema(synthetic.columns_of(1, 0))
        synthetic.write_instant(timeline, instant, self._completed(), action, "UPSERT", schema)

    def _finish(self, instant: str, action: str, record: dict[str, object] | None = None) -> None:
        schema = synthetic.table_schema(synthetic.columns_of(1, 0))
        content = {"extraMetadata": {"schema": schema}, "operationType": "UPSERT"}
        file = self._timeline / f"{instant}_{self._completed()}.{action}"
        file.write_text(json.dumps(content if record is None else {**content, **record}))

    def _opened(self) -> MetadataTable:
        opened = MetadataTable.open(HudiTable.open(str(self.path)))
        assert opened is not None
        return opened

    def _stored(self) -> StoredFiles:
        return self._opened().stored_files()
