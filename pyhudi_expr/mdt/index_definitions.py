"""`index.json`: what the table's secondary and expression indexes are over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyhudi_expr.table.errors import CorruptFile
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.properties import HOODIE_DIR

_PATH_PROPERTY = "hoodie.table.index.defs.path"
_DEFAULT_PATH = f"{HOODIE_DIR}/.index_defs/index.json"


@dataclass(frozen=True)
class IndexDefinition:
    """One index. name: that of its metadata partition; fields: the columns that it is over."""

    name: str
    type: str
    function: str
    fields: tuple[str, ...]
    options: Mapping[str, str]
    version: str


def index_definitions(table: HudiTable) -> dict[str, IndexDefinition]:
    """The table's index definitions by name; empty where it has none. Raises CorruptFile."""
    path = table.properties.raw.get(_PATH_PROPERTY) or _DEFAULT_PATH
    if table.storage.stat(path) is None:
        return {}
    try:
        entries = json.loads(table.storage.read(path))["indexDefinitions"]
        return {name: _definition(name, entry) for name, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptFile(
            f"{table.base_path}/{path}", f"no index definitions: {error!r}"
        ) from error


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
