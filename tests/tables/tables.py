"""Tiny tables for tests: names and instants of files, without rows."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing


@dataclass(frozen=True)
class TinyTable:
    """A table directory to which a test adds instants and empty data files."""

    path: Path
    version: int

    @staticmethod
    def create(path: Path, version: int = 9, **properties: str) -> "TinyTable":
        (path / ".hoodie" / "timeline").mkdir(parents=True)
        lines = {
            "hoodie.table.name": "tiny",
            "hoodie.table.type": "MERGE_ON_READ",
            "hoodie.table.version": str(version),
            "hoodie.table.partition.fields": "p",
            **{key.replace("__", "."): value for key, value in properties.items()},
        }
        text = "".join(f"{key}={value}\n" for key, value in lines.items())
        (path / ".hoodie" / "hoodie.properties").write_text(text)
        return TinyTable(path, version)

    @property
    def timeline(self) -> Path:
        return self.path / ".hoodie" / ("timeline" if self.version >= 8 else "")

    def complete(
        self,
        requested: str,
        completed: str,
        action: str = "deltacommit",
        replaced: dict[str, list[str]] | None = None,
    ) -> None:
        name = f"{requested}_{completed}.{action}" if self.version >= 8 else f"{requested}.{action}"
        content = json.dumps({"partitionToReplaceFileIds": replaced}) if replaced else ""
        (self.timeline / name).write_text(content)

    def start(self, requested: str, action: str = "deltacommit") -> None:
        (self.timeline / f"{requested}.{action}.requested").touch()
        (self.timeline / f"{requested}.{action}.inflight").touch()

    def schedule_compaction(self, requested: str, groups: Iterable[tuple[str, str]]) -> None:
        operations = [{"partitionPath": path, "fileId": file_id} for path, file_id in groups]
        plan = json.dumps({"operations": operations})
        (self.timeline / f"{requested}.compaction.requested").write_text(plan)

    def base(self, file_id: str, instant: str, partition: str = "a", token: str = "0-1-2") -> str:
        return self._file(partition, f"{file_id}_{token}_{instant}.parquet")

    def log(self, file_id: str, instant: str, version: int = 1, partition: str = "a") -> str:
        return self._file(partition, f".{file_id}_{instant}.log.{version}_0-1-2")

    def open(self) -> HudiTable:
        return HudiTable.open(str(self.path))

    def _file(self, partition: str, name: str) -> str:
        directory = self.path / partition
        directory.mkdir(parents=True, exist_ok=True)
        (directory / ".hoodie_partition_metadata").touch()
        (directory / name).write_bytes(b"x" * 7)
        return name


def slices(listing: FileListing) -> list[dict[str, Any]]:
    """The slices as dictionaries, in the form of the expected golden listings."""
    names, sizes = listing.file_name.to_pylist(), listing.file_size.tolist()
    found = []
    for number in range(listing.num_slices):
        rows = [i for i in range(listing.num_files) if listing.file_slice[i] == number]
        bases = [i for i in rows if not listing.file_is_log[i]]
        found.append(
            {
                "partition": listing.partitions[int(listing.slice_partition[number])].as_py(),
                "file_id": listing.slice_file_id[number].as_py(),
                "base_instant": listing.slice_base_instant[number].as_py(),
                "base": names[bases[0]] if bases else "",
                "base_size": sizes[bases[0]] if bases else 0,
                "logs": [names[i] for i in rows if listing.file_is_log[i]],
            }
        )
    return found


def files(listing: FileListing) -> dict[str, list[str]]:
    """File names by file id, in the listing's order."""
    return {str(s["file_id"]): [n for n in (s["base"], *s["logs"]) if n] for s in slices(listing)}
