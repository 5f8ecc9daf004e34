"""The registry of created indexes: `.hoodie/pyhudi/indexes.json`.

Hudi's writers delete metadata partitions that their own settings do not enable, together with the
definitions. The registry shows which indexes are missing, so that they can be rebuilt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.hudi_names import (
    EXPRESSION_INDEX_PREFIX,
    HOODIE_DIR,
    SECONDARY_INDEX,
    SECONDARY_INDEX_PREFIX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.parsing.budget import parse_json
from pyhudi_expr.tables.storage import Storage

REGISTRY_PATH = f"{HOODIE_DIR}/pyhudi/indexes.json"
_FORMAT = 1
_PREFIXES = {SECONDARY_INDEX_PREFIX: SECONDARY_INDEX, EXPRESSION_INDEX_PREFIX: "expression"}


class Store(str, Enum):
    """The metadata table that holds an index."""

    HUDI = "hudi"
    """The table's own, which Hudi reads and maintains."""
    EXTENSION = "extension"
    """One beside it, for what Hudi would refuse, break or delete."""


@dataclass(frozen=True)
class RegisteredIndex:
    """An index that was created.

    Attributes:
        kind: One of `indexing.index_plan.KINDS`.
        partitions: The metadata partitions that hold it.
        created: The instant as of which it was first built.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    options: Mapping[str, str]
    store: Store
    partitions: tuple[str, ...]
    created: str


def kind_of(partition: str) -> tuple[str, str]:
    """Return the kind and the name of the index that a metadata partition holds."""
    prefix = next((p for p in _PREFIXES if partition.startswith(p)), "")
    return _PREFIXES.get(prefix, partition), partition.removeprefix(prefix)


@dataclass(frozen=True)
class Registry:
    """A table's registered indexes by name."""

    indexes: Mapping[str, RegisteredIndex] = field(default_factory=lambda: MappingProxyType({}))

    @staticmethod
    def read(storage: Storage) -> Registry:
        """Read the registry from the table's storage.

        Raises:
            CorruptFile: The file is not a registry.
        """
        stored = storage.read_if_present(REGISTRY_PATH)
        if stored is None:
            return Registry()
        file = f"{storage.uri}/{REGISTRY_PATH}"
        try:
            content = parse_json(stored, file)
            return Registry({name: _index(name, one) for name, one in content["indexes"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptFile(file, f"no register of indexes: {error!r}") from error

    def with_index(self, index: RegisteredIndex) -> Registry:
        """Return the registry with an index added or replaced."""
        return replace(self, indexes={**self.indexes, index.name: index})

    def without(self, name: str) -> Registry:
        """Return the registry without the index of this name."""
        return replace(self, indexes={n: i for n, i in self.indexes.items() if n != name})

    def write(self, storage: Storage) -> None:
        """Write the registry. The caller holds the table's lock."""
        indexes = {name: asdict(index) for name, index in self.indexes.items()}
        content = json.dumps({"format": _FORMAT, "indexes": indexes}, indent=2)
        storage.write(REGISTRY_PATH, content.encode())


def note_of(indexes: Sequence[RegisteredIndex]) -> str:
    """Serialize indexes as text for `register`."""
    return json.dumps([asdict(index) for index in indexes])


def register(table: HudiTable, note: str) -> None:
    """Register the indexes of a note (`note_of`), created as of now; replace registered ones.

    The caller holds the table's lock.

    Raises:
        HudiError: The table cannot be read, or its registry is corrupt.
    """
    registry = Registry.read(table.storage)
    for entry in json.loads(note or "[]"):
        index = _index(entry["name"], {**entry, "created": table.instant or ""})
        registry = registry.with_index(index)
    registry.write(table.storage)


def _index(name: str, entry: Mapping[str, object]) -> RegisteredIndex:
    columns, options, partitions = entry["columns"], entry["options"], entry["partitions"]
    if not isinstance(columns, list) or not isinstance(partitions, list):
        raise ValueError(f"the columns or partitions of {name}")
    if not isinstance(options, dict):
        raise ValueError(f"the options of {name}")
    return RegisteredIndex(
        name=name,
        kind=str(entry["kind"]),
        columns=tuple(map(str, columns)),
        options={str(key): str(value) for key, value in options.items()},
        store=Store(entry["store"]),
        partitions=tuple(map(str, partitions)),
        created=str(entry["created"]),
    )
