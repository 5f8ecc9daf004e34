"""The definitions of a table's indexes, a file of Hudi's beside the metadata table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables import hudi_names, properties
from pyhudi_expr.tables.hudi_names import INDEX_DEFINITIONS_FILE
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.parsing.budget import parse_json

COLUMN_TYPE = "columnType"
"""The option of an extension's secondary index with the types that its columns had when the index
was built (`type_names`): values are spelled by them."""


def type_names(types: Iterable[object]) -> str:
    """Return Arrow's names of types, as `COLUMN_TYPE` has them: with semicolons between them."""
    return ";".join(map(str, types))


@dataclass(frozen=True)
class IndexDefinition:
    """The definition of one index.

    Attributes:
        name: The name of its metadata partition.
        fields: The columns that it is over.
    """

    name: str
    type: str
    function: str
    fields: tuple[str, ...]
    options: Mapping[str, str]
    version: str


def index_definitions(table: HudiTable) -> dict[str, IndexDefinition]:
    """Read the table's index definitions by name; empty if it has none.

    Raises:
        CorruptFile: The file cannot be parsed.
    """
    path = table.properties.index_definitions_path
    try:
        entries = _parsed(table, table.index_definitions_file)
        return {name: _definition(name, entry) for name, entry in entries.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise CorruptFile(
            f"{table.base_path}/{path}", f"no index definitions: {error!r}"
        ) from error


def add_definitions(table: HudiTable, definitions: Iterable[IndexDefinition]) -> None:
    """Add definitions, and replace those of the same names. The caller holds the table's lock.

    Raises:
        HudiError: The file cannot be read or written.
    """
    added = {definition.name: _entry(definition) for definition in definitions}
    if added:
        _write(table, {**_entries(table), **added})


def remove_definitions(table: HudiTable, names: Iterable[str]) -> None:
    """Remove the definitions of these names; see `add_definitions`."""
    entries, gone = _entries(table), set(names)
    if gone & entries.keys():
        _write(table, {name: entry for name, entry in entries.items() if name not in gone})


def _entries(table: HudiTable) -> dict[str, Any]:
    """Return the definitions as they are now."""
    return _parsed(table, table.storage.read_if_present(table.properties.index_definitions_path))


def _parsed(table: HudiTable, content: bytes | None) -> dict[str, Any]:
    if content is None:
        return {}
    path = f"{table.base_path}/{table.properties.index_definitions_path}"
    try:
        entries: dict[str, Any] = parse_json(content, path)["indexDefinitions"]
    except (KeyError, TypeError) as error:
        raise CorruptFile(path, f"no index definitions: {error!r}") from error
    return entries


def _write(table: HudiTable, entries: Mapping[str, Any]) -> None:
    content = json.dumps({"indexDefinitions": entries}, indent=2)
    table.storage.write(table.properties.index_definitions_path, content.encode())
    if not table.properties.raw.get(hudi_names.INDEX_DEFINITIONS_PATH):
        changes = {hudi_names.INDEX_DEFINITIONS_PATH: INDEX_DEFINITIONS_FILE}
        properties.update(table.storage, changes)


def _entry(definition: IndexDefinition) -> dict[str, Any]:
    return {
        "indexName": definition.name,
        "indexType": definition.type,
        "indexFunction": definition.function,
        "sourceFields": list(definition.fields),
        "indexOptions": dict(definition.options),
        "version": definition.version,
    }


def _definition(name: str, entry: Mapping[str, object]) -> IndexDefinition:
    fields, options = entry.get("sourceFields") or (), entry.get("indexOptions") or {}
    if not isinstance(fields, list | tuple) or not isinstance(options, dict):
        raise ValueError(f"the fields or options of {name}")
    return IndexDefinition(
        name=name,
        type=str(entry.get("indexType") or ""),
        function=str(entry.get("indexFunction") or ""),
        fields=tuple(map(str, fields)),
        options={str(key): str(value) for key, value in options.items()},
        version=str(entry.get("version") or "V1"),
    )
