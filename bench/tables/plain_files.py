"""The metadata of copy-on-write tables whose files pyarrow writes, unpartitioned, in one commit."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

WITHOUT_META_FIELDS: Mapping[str, str] = MappingProxyType({"hoodie.populate.meta.fields": "false"})
"""The property of a table whose files have the table's columns only."""


def write_metadata(
    path: Path,
    instant: str,
    schema: Mapping[str, Any],
    name: str,
    properties: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write the timeline and the properties of a table of version 8 with the key `id`.

    Args:
        path: The table's directory, which has no metadata yet.
        instant: The commit's time, requested and completed.
        schema: The table's Avro schema, a record.
        name: The table's name.
        properties: More properties of the table.
    """
    timeline = path / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (timeline / f"{instant}_{instant}.commit").write_bytes(b"")
    every = {
        "hoodie.table.name": name,
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": "8",
        "hoodie.timeline.layout.version": "2",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
        "hoodie.table.create.schema": json.dumps(schema).replace(":", "\\:"),
        **properties,
    }
    lines = "".join(f"{key}={value}\n" for key, value in every.items())
    (path / ".hoodie" / "hoodie.properties").write_text(lines)
    (path / ".hoodie_partition_metadata").write_text("partitionDepth=0\n")


def file_name(number: int, instant: str) -> str:
    """Return the name of the base file of a file group."""
    return f"{number:08d}-0000-4000-8000-000000000000-0_0-1-0_{instant}.parquet"
