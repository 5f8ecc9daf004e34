"""The schemas that a table had, with the ids of its columns: the name of each column at any time.

Schema-on-read evolution stores them in ``.hoodie/.schema/<instant>.schemacommit``: JSON with all
versions so far, each with the instant from which it is valid (``version_id``, 0 for the first one).
A column keeps its id under another name or type. A column that is dropped and added again gets
another id.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.hudi_names import SCHEMA_DIR
from pyhudi_expr.tables.parsing.json_texts import parse_json
from pyhudi_expr.tables.storage import Storage

RECORD = "record"
"""The type of structs."""

_SUFFIX = ".schemacommit"


@dataclass(frozen=True)
class HistoricField:
    """A (nested) column in some version.

    Attributes:
        name: Its name, with dots.
        type: Its type as Hudi spells it: "record" for a struct; for a list or a map its JSON, which
            has the ids and names of everything in it.
    """

    name: str
    type: str


@dataclass(frozen=True)
class SchemaVersion:
    """One version of the schema.

    Attributes:
        since: The instant from which it is valid, as a number.
        fields: Columns and fields of structs by their ids.
        json: The version as Hudi writes it.
    """

    since: int
    fields: Mapping[int, HistoricField]
    json: str

    def id_of(self, name: str) -> int | None:
        """Return the id of a column by its dotted name."""
        return next((id_ for id_, field in self.fields.items() if field.name == name), None)


@dataclass(frozen=True)
class SchemaHistory:
    """All versions, ascending."""

    versions: tuple[SchemaVersion, ...]

    def at(self, instant: str | None) -> SchemaVersion | None:
        """Return the version of files written at an instant (None: the newest); None if unknown."""
        if instant is None:
            return self.versions[-1] if self.versions else None
        if not instant.isdecimal():
            return None
        at = bisect_right([version.since for version in self.versions], int(instant))
        return self.versions[at - 1] if at else None


def schema_history(storage: Storage, is_committed: Callable[[str], bool]) -> SchemaHistory | None:
    """Read the table's history; None if there is none.

    Args:
        storage: The table's storage.
        is_committed: Whether the changes of an instant count; a failed change does not.

    Raises:
        CorruptFile: The history cannot be parsed.
    """
    entries = storage.list(SCHEMA_DIR)
    names = sorted(entry.name for entry in entries if entry.name.endswith(_SUFFIX))
    if not names:
        return None
    path = f"{SCHEMA_DIR}/{names[-1]}"
    history = _parsed(storage.read(path), f"{storage.uri}/{path}")
    counting = (v for v in history.versions if not v.since or is_committed(str(v.since)))
    return SchemaHistory(tuple(counting))


def _parsed(content: bytes, file: str) -> SchemaHistory:
    try:
        versions = [
            SchemaVersion(
                int(version["version_id"]),
                dict(_fields(version["fields"], "")),
                json.dumps(version),
            )
            for version in parse_json(content, file)["schemas"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptFile(file, f"no history of schemas: {error!r}") from error
    return SchemaHistory(tuple(sorted(versions, key=lambda version: version.since)))


def _fields(fields: list[dict[str, Any]], prefix: str) -> Iterator[tuple[int, HistoricField]]:
    for field in fields:
        id_, name, type_ = int(field["id"]), f"{prefix}{field['name']}", field["type"]
        if isinstance(type_, str):
            yield id_, HistoricField(name, type_)
        elif type_["type"] == RECORD:
            yield id_, HistoricField(name, RECORD)
            yield from _fields(type_["fields"], f"{name}.")
        else:
            yield id_, HistoricField(name, json.dumps(type_, sort_keys=True))
