"""Statistics records of the metadata table as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.mdt.avro_columns import (
    Branch,
    Column,
    Numbers,
    Struct,
    Texts,
    UndecodedError,
    Union,
    decode_columns,
)
from pyhudi_expr.mdt.file_group import EncodedRecords
from pyhudi_expr.mdt.records import Payload, is_deleted, wrapper_name

_STATS = "ColumnStatsMetadata"

_Objects = npt.NDArray[np.object_]


@dataclass(frozen=True)
class ColumnStatistics:
    """Entries of column_stats or partition_stats as parallel columns; row i is one entry.

    `file_name` is the partition path in partition_stats. `minimum` and `maximum` are raw values as
    Avro holds them, None without bounds; `wrapper` names the wrapper of the bounds ("" without).
    `value_type` is Hudi's type ordinal, -1 before table version 9; `type_info` its details, for
    decimals "precision,scale". A null count or value count is null when it is not known, and then
    nothing of the entry is.
    """

    key: list[str]
    file_name: pa.StringArray
    column_name: pa.StringArray
    wrapper: list[str]
    minimum: list[Any]
    maximum: list[Any]
    value_type: npt.NDArray[np.int8]
    type_info: list[str | None]
    value_count: pa.Int64Array
    null_count: pa.Int64Array
    is_tight: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.key)


def column_statistics(keys: Iterable[bytes], payloads: Iterable[Payload]) -> ColumnStatistics:
    """The entries of decoded records; deleted ones and records of other kinds are passed over."""
    chosen = [
        (key.decode(), payload[_STATS])
        for key, payload in zip(keys, payloads, strict=True)
        if payload.get(_STATS) is not None and not is_deleted(payload)
    ]
    stats = [entry for _, entry in chosen]
    bounds = [_bounds(entry) for entry in stats]
    types = [entry.get("valueType") or {} for entry in stats]
    return ColumnStatistics(
        key=[key for key, _ in chosen],
        file_name=pa.array([entry["fileName"] for entry in stats], pa.string()),
        column_name=pa.array([entry["columnName"] for entry in stats], pa.string()),
        wrapper=[bound[0] for bound in bounds],
        minimum=[bound[1] for bound in bounds],
        maximum=[bound[2] for bound in bounds],
        value_type=np.array([kind.get("typeOrdinal", -1) for kind in types], np.int8),
        type_info=[kind.get("additionalInfo") for kind in types],
        value_count=pa.array([entry["valueCount"] for entry in stats], pa.int64()),
        null_count=pa.array([entry["nullCount"] for entry in stats], pa.int64()),
        is_tight=np.array([bool(entry.get("isTightBound")) for entry in stats], np.bool_),
    )


def _bounds(stats: Payload) -> tuple[str, Any, Any]:
    """Wrapper, minimum, maximum; no bounds when one is missing or they are of two kinds."""
    low, high = stats["minValue"], stats["maxValue"]
    if low is None or high is None or low[0] != high[0] or "value" not in low[1]:
        return "", None, None
    return wrapper_name(low), low[1]["value"], high[1]["value"]


def decode_statistics(records: EncodedRecords) -> ColumnStatistics:
    """The same of records that are still encoded, all at once. Raises CorruptFile."""
    try:
        columns = decode_columns(records.schema, records.cells.values)
        return _from_columns(records.cells.keys, columns)
    except Exception:
        # Damaged or unusual: reading record by record finds the entries, or says what is wrong.
        return column_statistics(records.cells.keys, records.decoded())


def _from_columns(keys: Sequence[bytes], columns: Struct) -> ColumnStatistics:
    found = _branches(columns.fields[_STATS])
    if not found:
        return column_statistics([], [])
    (entries,) = found
    size, stats = len(entries.rows), _fields(entries.column)
    if any(_values(stats["isDeleted"])):
        raise UndecodedError("deleted records are left to the reader of single ones")
    (wrapper, low), (high_wrapper, high) = (
        _wrapped(stats[side], size) for side in ("minValue", "maxValue")
    )
    unlike = wrapper != high_wrapper
    wrapper[unlike], low[unlike], high[unlike] = "", None, None
    ordinals, details = np.full(size, -1, np.int8), _nothing(size)
    for kind in _branches(stats.get("valueType")):
        ordinals[kind.rows] = _values(_fields(kind.column)["typeOrdinal"])
        info = _optional(_fields(kind.column)["additionalInfo"], len(kind.rows))
        details[kind.rows] = [None if text is None else text.decode() for text in info]
    return ColumnStatistics(
        key=[keys[row].decode() for row in entries.rows.tolist()],
        file_name=pa.array(_optional(stats["fileName"], size), pa.string()),
        column_name=pa.array(_optional(stats["columnName"], size), pa.string()),
        wrapper=wrapper.tolist(),
        minimum=low.tolist(),
        maximum=high.tolist(),
        value_type=ordinals,
        type_info=details.tolist(),
        value_count=pa.array(_optional(stats["valueCount"], size), pa.int64()),
        null_count=pa.array(_optional(stats["nullCount"], size), pa.int64()),
        is_tight=np.array(
            _values(stats["isTightBound"]) if "isTightBound" in stats else [False] * size, np.bool_
        ),
    )


def _wrapped(bound: Column, size: int) -> tuple[_Objects, _Objects]:
    """For each entry the wrapper's name, "" without one, and its value."""
    names, values = _nothing(size), _nothing(size)
    names[:] = ""
    for wrapper in _branches(bound):
        content = _fields(wrapper.column).get("value")
        if content is not None:
            found = _values(content)
            is_text = wrapper.name == "StringWrapper"
            values[wrapper.rows] = [text.decode() for text in found] if is_text else found
            names[wrapper.rows] = wrapper.name
    return names, values


def _optional(column: Column, size: int) -> _Objects:
    """The values of a union with null, None where it is null."""
    found = _nothing(size)
    for branch in _branches(column):
        found[branch.rows] = _values(branch.column)
    return found


def _nothing(size: int) -> _Objects:
    return np.full(size, None, dtype=object)


def _branches(column: Column) -> tuple[Branch, ...]:
    """A union's branches; none where the schema has no such field."""
    if column is None:
        return ()
    if not isinstance(column, Union):
        raise UndecodedError("a field is not optional")
    return column.branches


def _fields(column: Column) -> dict[str, Column]:
    if not isinstance(column, Struct):
        raise UndecodedError("a value is no record")
    return column.fields


def _values(column: Column) -> list[Any]:
    match column:
        case Numbers(values=numbers):
            return list(numbers.tolist())
        case Texts(values=texts):
            return texts
    raise UndecodedError("a value is neither number nor text")


def concatenated(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """The entries of all parts, in their order."""
    return ColumnStatistics(
        key=[key for part in parts for key in part.key],
        file_name=pa.concat_arrays([part.file_name for part in parts]),
        column_name=pa.concat_arrays([part.column_name for part in parts]),
        wrapper=[wrapper for part in parts for wrapper in part.wrapper],
        minimum=[bound for part in parts for bound in part.minimum],
        maximum=[bound for part in parts for bound in part.maximum],
        value_type=np.concatenate([part.value_type for part in parts]),
        type_info=[info for part in parts for info in part.type_info],
        value_count=pa.concat_arrays([part.value_count for part in parts]),
        null_count=pa.concat_arrays([part.null_count for part in parts]),
        is_tight=np.concatenate([part.is_tight for part in parts]),
    )
