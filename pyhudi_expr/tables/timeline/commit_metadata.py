"""The metadata of a completed instant: JSON before table version 8, Avro files since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.parsing import avro_values
from pyhudi_expr.tables.parsing.budget import check_file_size
from pyhudi_expr.tables.parsing.json_texts import parse_json


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
        extra = record.get("extraMetadata") or {}
        stats = record.get("partitionToWriteStats") or {}
        replaced = record.get("partitionToReplaceFileIds") or {}
        return CommitMetadata(
            schema=extra.get("schema") or None,
            operation=record.get("operationType") or "",
            written={
                partition: tuple(stat["path"] for stat in partition_stats if stat.get("path"))
                for partition, partition_stats in stats.items()
            },
            replaced={partition: tuple(ids) for partition, ids in replaced.items()},
            extra=extra,
        )


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
