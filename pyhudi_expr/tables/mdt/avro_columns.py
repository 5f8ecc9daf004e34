"""Decode Avro records column by column, all records at once.

A library that decodes one record after the other into dictionaries takes most of the time of a
large look-up. The compiled kernel (`avro_decoding`) writes each field straight into an array.
Without it, every record has a cursor into the buffer, and each step moves all cursors over the same
field (Avro specification, "Binary encoding"). Arrays and maps cannot be decoded that way: then the
caller reads record by record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.tables.mdt import avro_decoding
from pyhudi_expr.tables.mdt.avro_decoding import (
    Branch,
    Column,
    Numbers,
    Struct,
    Texts,
    Union,
    parsed,
)
from pyhudi_expr.tables.mdt.bytes import kernel
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.parsing.avro_schemas import AvroSchema, UndecodedError, branch_name, simple

_MAX_VARINT_BYTES = 10
_FLOATS: dict[str, np.dtype[Any]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}


def decode_columns(
    schema: str, values: ByteStrings, selected: frozenset[str] | None = None
) -> Struct:
    """Decode the records' fields as columns.

    Args:
        schema: A record's schema, as JSON.
        values: The encoded records.
        selected: Fields of the record to decode; other fields may be omitted. None: all.

    Raises:
        UndecodedError: The records are damaged, or not supported.
    """
    library = kernel.library()
    if library is None:
        return decode_with_numpy(schema, values)
    return avro_decoding.decode(library, schema, values, selected)


def decode_with_numpy(schema: str, values: ByteStrings) -> Struct:
    """Decode the records without the kernel, see `decode_columns`."""
    root, named = parsed(schema)
    batch = _Batch(values, named)
    column = batch.column(root, np.arange(len(values), dtype=np.int64))
    batch.check_finished()
    if not isinstance(column, Struct):
        raise UndecodedError("the schema is not a record's")
    return column


class _Batch:
    """The records' bytes in one buffer, and the position of each record's cursor."""

    def __init__(self, values: ByteStrings, named: Mapping[str, Any]) -> None:
        self._named = named
        # A damaged record may move its cursor slightly beyond the end before that is noticed.
        self._bytes = values.data + bytes(_MAX_VARINT_BYTES)
        self._data = np.frombuffer(self._bytes, np.uint8)
        self._end = values.end
        self._at = values.start.copy()

    def check_finished(self) -> None:
        if (self._at != self._end).any():
            raise UndecodedError("a record is longer than its fields")

    def column(self, schema: AvroSchema, rows: Int64Array) -> Column:
        """Return the values of type `schema` at the rows' cursors, and move these behind them."""
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
        if simple(kind) in self._named:
            return self.column(self._named[simple(kind)], rows)
        raise UndecodedError(f"values of type {kind} are not decoded by columns")

    def _union(self, schema: list[Any], rows: Int64Array) -> Union:
        taken = self._varints(rows)
        found = []
        for number in np.unique(taken).tolist():
            if not 0 <= number < len(schema):
                raise UndecodedError(f"branch {number} of a union of {len(schema)}")
            branch, chosen = schema[number], np.flatnonzero(taken == number)
            if branch != "null":
                column = self.column(branch, rows[chosen])
                found.append(Branch(branch_name(branch), chosen, column))
        return Union(len(rows), tuple(found))

    def _varints(self, rows: Int64Array) -> Int64Array:
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
        zigzag: Int64Array = magnitude.astype(np.int64) ^ -sign.astype(np.int64)
        return zigzag

    def _fixed(self, rows: Int64Array, kind: np.dtype[Any]) -> npt.NDArray[Any]:
        at = self._at[rows]
        self._move(rows, at + kind.itemsize)
        places = at[:, np.newaxis] + np.arange(kind.itemsize)
        values: npt.NDArray[Any] = self._data[places].reshape(-1).view(kind)
        return values

    def _texts(self, rows: Int64Array, lengths: Int64Array) -> Texts:
        if (lengths < 0).any():
            raise UndecodedError("a text of negative length")
        start = self._at[rows]
        end = start + lengths
        self._move(rows, end)
        return Texts(ByteStrings(self._bytes, start, end))

    def _move(self, rows: Int64Array, at: Int64Array) -> None:
        """Set the cursors; none may leave its record (nor wrap around)."""
        if ((at > self._end[rows]) | (at < self._at[rows])).any():
            raise UndecodedError("a record ends within a field")
        self._at[rows] = at
