"""Avro records decoded column by column: field after field, for all records at once.

A library decodes one record after the other into dictionaries, which takes most of the time of a
large look-up. Here every record has a cursor into one buffer, and each step moves all cursors over
the same field (Avro specification, "Binary encoding"). Arrays and maps are not decoded: whoever
meets one reads record by record.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_Ints = npt.NDArray[np.int64]

_MAX_VARINT_BYTES = 10
_FLOATS: dict[str, np.dtype[Any]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}


class UndecodedError(ValueError):
    """The records are damaged, or hold what is not decoded here; the text says which."""


@dataclass(frozen=True)
class Numbers:
    """Integers (int64), floats (float64) or booleans, one for each row."""

    values: npt.NDArray[Any]


@dataclass(frozen=True)
class Texts:
    """Strings (as UTF-8) or bytes, one for each row."""

    values: list[bytes]


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
    rows: _Ints
    column: Column


@dataclass(frozen=True)
class Union:
    """A union: its branches that occur; a null has none. size: the number of rows."""

    size: int
    branches: tuple[Branch, ...]


Column: TypeAlias = Numbers | Texts | Struct | Union | None
"""None: nulls only."""


def decode_columns(schema: str, values: Sequence[bytes]) -> Struct:
    """The records' fields as columns. schema: a record's, as JSON. Raises UndecodedError."""
    parsed, named = _parsed(schema)
    batch = _Batch(values, named)
    column = batch.column(parsed, np.arange(len(values), dtype=np.int64))
    batch.check_finished()
    if not isinstance(column, Struct):
        raise UndecodedError("the schema is not a record's")
    return column


@lru_cache(maxsize=64)
def _parsed(schema: str) -> tuple[Any, dict[str, Any]]:
    """The schema, and its named types by their names without namespace."""
    named: dict[str, Any] = {}
    parsed = json.loads(schema)
    waiting = [parsed]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            if "name" in node and node["type"] in ("record", "fixed", "enum"):
                name = _simple(node["name"])
                if named.setdefault(name, node) is not node:
                    raise UndecodedError(f"two types are named {name}")
            waiting.extend(child for child in node.values() if isinstance(child, dict | list))
    return parsed, named


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


class _Batch:
    """The records' bytes in one buffer, and where each record's cursor stands."""

    def __init__(self, values: Sequence[bytes], named: dict[str, Any]) -> None:
        self._named = named
        self._bytes = b"".join(values)
        # A damaged record may lead its cursor a little beyond the end before that is noticed.
        self._data = np.frombuffer(self._bytes + bytes(_MAX_VARINT_BYTES), np.uint8)
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        self._end = np.cumsum(lengths)
        self._at = self._end - lengths

    def check_finished(self) -> None:
        if (self._at != self._end).any():
            raise UndecodedError("a record is longer than its fields")

    def column(self, schema: Any, rows: _Ints) -> Column:
        """The value of type `schema` at the cursors of the rows, which move behind it."""
        if isinstance(schema, list):
            return self._union(schema, rows)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(kind, dict | list):
            return self.column(kind, rows)
        match kind:
            case "null":
                return None
            case "record":
                fields = schema["fields"]
                return Struct({field["name"]: self.column(field["type"], rows) for field in fields})
            case "int" | "long" | "enum":
                return Numbers(self._varints(rows))
            case "boolean":
                return Numbers(self._fixed(rows, np.dtype(np.uint8)).astype(np.bool_))
            case "float" | "double":
                return Numbers(self._fixed(rows, _FLOATS[str(kind)]).astype(np.float64))
            case "bytes" | "string":
                return self._texts(rows, self._varints(rows))
            case "fixed":
                return self._texts(rows, np.full(len(rows), schema["size"], np.int64))
        if _simple(kind) in self._named:
            return self.column(self._named[_simple(kind)], rows)
        raise UndecodedError(f"values of type {kind} are not decoded by columns")

    def _union(self, schema: list[Any], rows: _Ints) -> Union:
        taken = self._varints(rows)
        found = []
        for number in np.unique(taken).tolist():
            if not 0 <= number < len(schema):
                raise UndecodedError(f"branch {number} of a union of {len(schema)}")
            branch, chosen = schema[number], np.flatnonzero(taken == number)
            if branch != "null":
                column = self.column(branch, rows[chosen])
                found.append(Branch(_branch_name(branch), chosen, column))
        return Union(len(rows), tuple(found))

    def _varints(self, rows: _Ints) -> _Ints:
        at = self._at[rows]
        byte = self._data[at]
        value = (byte & 0x7F).astype(np.uint64)
        at += 1
        unfinished, shift = np.flatnonzero(byte >= 0x80), 7
        while len(unfinished):
            if shift == 7 * _MAX_VARINT_BYTES:
                raise UndecodedError("a number is too long")
            byte = self._data[at[unfinished]]
            value[unfinished] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            at[unfinished] += 1
            unfinished, shift = unfinished[byte >= 0x80], shift + 7
        self._move(rows, at)
        magnitude, sign = value >> np.uint64(1), value & np.uint64(1)
        zigzag: _Ints = magnitude.astype(np.int64) ^ -sign.astype(np.int64)
        return zigzag

    def _fixed(self, rows: _Ints, kind: np.dtype[Any]) -> npt.NDArray[Any]:
        at = self._at[rows]
        self._move(rows, at + kind.itemsize)
        places = at[:, np.newaxis] + np.arange(kind.itemsize)
        values: npt.NDArray[Any] = self._data[places].reshape(-1).view(kind)
        return values

    def _texts(self, rows: _Ints, lengths: _Ints) -> Texts:
        if (lengths < 0).any():
            raise UndecodedError("a text of negative length")
        start = self._at[rows]
        end = start + lengths
        self._move(rows, end)
        content = self._bytes
        return Texts([content[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True)])

    def _move(self, rows: _Ints, at: _Ints) -> None:
        """Sets the cursors; none may leave its record (nor wrap around)."""
        if ((at > self._end[rows]) | (at < self._at[rows])).any():
            raise UndecodedError("a record ends within a field")
        self._at[rows] = at


def _branch_name(schema: Any) -> str:
    if isinstance(schema, dict):
        schema = schema.get("name", schema["type"])
    return _simple(schema) if isinstance(schema, str) else ""
