"""What Avro records look like once they are decoded by columns, and how their schemas are read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyhudi_expr.mdt.byte_strings import ByteStrings

Ints = npt.NDArray[np.int64]


class UndecodedError(ValueError):
    """The records are damaged, or hold what is not decoded here; the text says which."""


@dataclass(frozen=True)
class Numbers:
    """Integers (int64), floats (float64) or booleans, one for each row."""

    values: npt.NDArray[Any]


@dataclass(frozen=True)
class Texts:
    """Strings (as UTF-8) or bytes, one for each row."""

    values: ByteStrings


@dataclass(frozen=True)
class Struct:
    """A record: its fields by name, all with the same rows."""

    fields: dict[str, Column]


@dataclass(frozen=True)
class Branch:
    """The rows of a union that took one branch, ascending, and their values.

    name: the branch's type, for a record its name without namespace.
    """

    name: str
    rows: Ints
    column: Column


@dataclass(frozen=True)
class Union:
    """A union: its branches that occur; a null has none. size: the number of rows."""

    size: int
    branches: tuple[Branch, ...]


@dataclass(frozen=True)
class Entries:
    """Maps: all entries of all rows, ascending by row; entry i belongs to row `rows[i]`."""

    rows: Ints
    key: Texts
    value: Column


@dataclass(frozen=True)
class Unread:
    """Arrays, which are passed over."""


Column: TypeAlias = Numbers | Texts | Struct | Union | Entries | Unread | None
"""None: nulls only."""


@lru_cache(maxsize=64)
def parsed(schema: str) -> tuple[Any, dict[str, Any]]:
    """The schema, and its named types by their names without namespace."""
    named: dict[str, Any] = {}
    root = json.loads(schema)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            if "name" in node and node["type"] in ("record", "fixed", "enum"):
                name = simple(node["name"])
                if named.setdefault(name, node) is not node:
                    raise UndecodedError(f"two types are named {name}")
            waiting.extend(child for child in node.values() if isinstance(child, dict | list))
    return root, named


def simple(name: str) -> str:
    return name.rpartition(".")[2]


def branch_name(schema: Any) -> str:
    """The name of a union's branch: its type, for a named type that name without namespace."""
    if isinstance(schema, dict):
        schema = schema.get("name", schema["type"])
    return simple(schema) if isinstance(schema, str) else ""
