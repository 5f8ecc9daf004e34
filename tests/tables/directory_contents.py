"""The contents of a table's directory, for comparisons: all files, some of them parsed."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import javaproperties


def contents(table: Path) -> Mapping[str, object]:
    """Contents by path. Rewritten properties and JSON files with the same content are equal;
    Hadoop's checksums are left out.
    """
    files = (file for file in table.rglob("*") if file.is_file() and file.suffix != ".crc")
    return {str(file.relative_to(table)): _parse(file) for file in files}


def linked(table: Path, target: Path | str) -> None:
    """A fast copy with hard links, for tests that replace files and modify none in place."""
    shutil.copytree(table, target, copy_function=os.link)


def _parse(file: Path) -> object:
    content = file.read_bytes()
    if file.name == "hoodie.properties":
        # An empty list of partitions means none.
        return {k: v for k, v in javaproperties.loads(content).items() if v}
    return json.loads(content) if file.suffix == ".json" else content


def without_metadata_table(table: Path) -> None:
    """Removes the metadata table and its registration."""
    shutil.rmtree(table / ".hoodie/metadata")
    properties = table / ".hoodie/hoodie.properties"
    lines = properties.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("hoodie.table.metadata.partitions")]
    properties.write_text("\n".join([*kept, ""]))
    (table / ".hoodie/.hoodie.properties.crc").unlink(missing_ok=True)
