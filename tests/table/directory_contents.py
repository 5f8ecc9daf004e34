"""What is in a table's directory, to be compared: all files, with what the texts among them say."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import javaproperties


def contents(table: Path) -> Mapping[str, object]:
    """By path. Properties and JSON files that were written anew, with the same in them, are equal;
    Hadoop's checksums, which go with them, are left out."""
    files = (file for file in table.rglob("*") if file.is_file() and file.suffix != ".crc")
    return {str(file.relative_to(table)): _said(file) for file in files}


def linked(table: Path, target: Path | str) -> None:
    """A quick copy, for those who replace files and change none."""
    shutil.copytree(table, target, copy_function=os.link)


def _said(file: Path) -> object:
    content = file.read_bytes()
    if file.name == "hoodie.properties":
        # An empty list of partitions is none.
        return {k: v for k, v in javaproperties.loads(content).items() if v}
    return json.loads(content) if file.suffix == ".json" else content


def without_metadata_table(table: Path) -> None:
    """Takes it away, and what says that there is one."""
    shutil.rmtree(table / ".hoodie/metadata")
    properties = table / ".hoodie/hoodie.properties"
    lines = properties.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("hoodie.table.metadata.partitions")]
    properties.write_text("\n".join([*kept, ""]))
    (table / ".hoodie/.hoodie.properties.crc").unlink(missing_ok=True)
