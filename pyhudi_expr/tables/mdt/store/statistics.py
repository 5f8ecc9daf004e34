"""Statistics records of the metadata table as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    Int64Array,
    arrow_array,
    arrow_list,
    arrow_nulls,
    combined,
    numpy_flags,
    numpy_numbers,
    without_dictionary,
)
from pyhudi_expr.tables.mdt.avro_columns import decode_columns
from pyhudi_expr.tables.mdt.avro_decoding import Branch, Column, Numbers, Struct, Texts, Union
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.records.metadata_records import Payload, is_deleted, wrapper_name
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.file_group import (
    EncodedRecords,
    FileGroup,
    MergedRecords,
    PrefixScan,
    Scan,
)
from pyhudi_expr.tables.parsing.avro_schemas import UndecodedError

_STATS = "ColumnStatsMetadata"

WRAPPED_TYPES: dict[str, pa.DataType] = {
    "BooleanWrapper": pa.bool_(),
    "IntWrapper": pa.int64(),
    "LongWrapper": pa.int64(),
    "DateWrapper": pa.int64(),
    "LocalDateWrapper": pa.int64(),
    "TimeMicrosWrapper": pa.int64(),
    "TimestampMicrosWrapper": pa.int64(),
    "FloatWrapper": pa.float64(),
    "DoubleWrapper": pa.float64(),
    "StringWrapper": pa.large_string(),
    "BytesWrapper": pa.large_binary(),
    "DecimalWrapper": pa.large_binary(),
}
"""Hudi's wrappers of a bound and the type of their raw values here."""

Wrapped = dict[str, AnyArray]
"""By wrapper the bounds of N entries, null where an entry has none or one in another wrapper."""


@dataclass(frozen=True)
class ColumnStatistics:
    """Entries of column_stats or partition_stats as parallel columns; row i is one entry.

    `file_name` is the partition path in partition_stats. `minimum` and `maximum` are raw values as
    in Avro; an entry has both, in the same wrapper, or none. `value_type` is Hudi's type ordinal,
    -1 before table version 9; `type_info` its details, for decimals "precision,scale". A null count
    or value count is null if it is unknown; then the entry has nothing else.
    """

    key: AnyArray
    file_name: AnyArray
    column_name: AnyArray
    minimum: Wrapped
    maximum: Wrapped
    value_type: Int64Array
    type_info: AnyArray
    value_count: AnyArray
    null_count: AnyArray
    is_tight: BoolArray

    def __len__(self) -> int:
        return len(self.key)

    def filter(self, chosen: BoolArray) -> ColumnStatistics:
        """Return the chosen entries (one flag for each)."""
        mask = arrow_array(chosen)

        def of(wrapped: Wrapped) -> Wrapped:
            return {wrapper: values.filter(mask) for wrapper, values in wrapped.items()}

        return ColumnStatistics(
            key=self.key.filter(mask),
            file_name=self.file_name.filter(mask),
            column_name=self.column_name.filter(mask),
            minimum=of(self.minimum),
            maximum=of(self.maximum),
            value_type=self.value_type[chosen],
            type_info=self.type_info.filter(mask),
            value_count=self.value_count.filter(mask),
            null_count=self.null_count.filter(mask),
            is_tight=self.is_tight[chosen],
        )


def column_statistics(keys: Iterable[bytes], payloads: Iterable[Payload]) -> ColumnStatistics:
    """Return the entries of decoded records; tombstones and records of other kinds are skipped."""
    chosen = [
        (key, payload[_STATS])
        for key, payload in zip(keys, payloads, strict=True)
        if payload.get(_STATS) is not None and not is_deleted(payload)
    ]
    stats = [entry for _, entry in chosen]
    bounds = [_bounds(entry) for entry in stats]
    types = [entry.get("valueType") or {} for entry in stats]
    return ColumnStatistics(
        key=arrow_list([key.decode() for key, _ in chosen], pa.string()),
        file_name=arrow_list([entry["fileName"] for entry in stats], pa.string()),
        column_name=arrow_list([entry["columnName"] for entry in stats], pa.string()),
        minimum=_by_wrapper([(wrapper, low) for wrapper, low, _ in bounds]),
        maximum=_by_wrapper([(wrapper, high) for wrapper, _, high in bounds]),
        value_type=np.array([kind.get("typeOrdinal", -1) for kind in types], np.int64),
        type_info=arrow_list([kind.get("additionalInfo") for kind in types], pa.string()),
        value_count=arrow_list([entry["valueCount"] for entry in stats], pa.int64()),
        null_count=arrow_list([entry["nullCount"] for entry in stats], pa.int64()),
        is_tight=np.array([bool(entry.get("isTightBound")) for entry in stats], np.bool_),
    )


def _bounds(stats: Payload) -> tuple[str, Any, Any]:
    """Return wrapper, minimum, maximum; no bounds if one is missing or they are of two kinds."""
    low, high = stats["minValue"], stats["maxValue"]
    if low is None or high is None or low[0] != high[0] or "value" not in low[1]:
        return "", None, None
    return wrapper_name(low), low[1]["value"], high[1]["value"]


def _by_wrapper(bounds: Sequence[tuple[str, Any]]) -> Wrapped:
    return {
        wrapper: arrow_list([value if own == wrapper else None for own, value in bounds], type_)
        for wrapper, type_ in WRAPPED_TYPES.items()
        if any(own == wrapper for own, _ in bounds)
    }


def decode_statistics(records: EncodedRecords) -> ColumnStatistics:
    """Return the entries of encoded records, decoded all at once. Raises CorruptFile."""
    try:
        columns = decode_columns(records.schema, records.cells.value_strings, frozenset({_STATS}))
        return _from_columns(records, columns)
    except Exception:
        # Damaged or unusual: reading record by record finds the entries, or reports the damage.
        return column_statistics(records.cells.keys, records.decoded())


def _from_columns(records: EncodedRecords, columns: Struct) -> ColumnStatistics:
    found = _branches(columns.fields[_STATS])
    if not found:
        return column_statistics([], [])
    (entries,) = found
    size, stats = len(entries.rows), _fields(entries.column)
    if _numbers(stats["isDeleted"]).any():
        raise UndecodedError("deleted records are left to the reader of single ones")
    minimum, maximum = _wrapped_bounds(stats["minValue"], stats["maxValue"], size)
    ordinals, details = np.full(size, -1, np.int64), arrow_nulls(size, pa.string())
    for kind in _branches(stats.get("valueType")):
        ordinals[kind.rows] = _numbers(_fields(kind.column)["typeOrdinal"])
        info = _optional(_fields(kind.column)["additionalInfo"], len(kind.rows), pa.string())
        details = _spread(info, kind.rows, size)
    is_tight = stats.get("isTightBound")
    return ColumnStatistics(
        key=records.cells.key_strings.take(entries.rows).texts(),
        file_name=_optional(stats["fileName"], size, pa.string()),
        column_name=_optional(stats["columnName"], size, pa.string()),
        minimum=minimum,
        maximum=maximum,
        value_type=ordinals,
        type_info=details,
        value_count=_optional(stats["valueCount"], size, pa.int64()),
        null_count=_optional(stats["nullCount"], size, pa.int64()),
        is_tight=np.zeros(size, np.bool_) if is_tight is None else _numbers(is_tight),
    )


def _wrapped_bounds(low: Column, high: Column, size: int) -> tuple[Wrapped, Wrapped]:
    """Return minimum and maximum of the entries that have both in the same wrapper."""
    highs = {branch.name: branch for branch in _branches(high)}
    minimum: Wrapped = {}
    maximum: Wrapped = {}
    for branch in _branches(low):
        other = highs.get(branch.name)
        if other is None or branch.name not in WRAPPED_TYPES:
            continue
        for bounds, own, beside in ((minimum, branch, other), (maximum, other, branch)):
            values = _primitive_values(_fields(own.column)["value"], WRAPPED_TYPES[own.name])
            rows = own.rows
            if len(beside.rows) < size:
                chosen = np.isin(rows, beside.rows, assume_unique=True)
                values, rows = values.filter(arrow_array(chosen)), rows[chosen]
            bounds[own.name] = _spread(values, rows, size)
        if not minimum[branch.name].null_count < size:
            del minimum[branch.name], maximum[branch.name]
    return minimum, maximum


def _optional(column: Column, size: int, type_: pa.DataType) -> AnyArray:
    """Return the values of a union with null; the union has one other branch."""
    branches = _branches(column)
    if not branches:
        return arrow_nulls(size, type_)
    (branch,) = branches
    return _spread(_primitive_values(branch.column, type_), branch.rows, size)


def _spread(values: AnyArray, rows: Int64Array, size: int) -> AnyArray:
    """Return an array of `size` with the values at their rows (ascending), null elsewhere."""
    if len(rows) == size:
        return values
    places = np.zeros(size, np.int64)
    places[rows] = np.arange(len(rows))
    missing = np.ones(size, np.bool_)
    missing[rows] = False
    return values.take(arrow_array(places, mask=missing))


def _branches(column: Column) -> tuple[Branch, ...]:
    """Return a union's branches; none if the schema does not have the field."""
    if column is None:
        return ()
    if not isinstance(column, Union):
        raise UndecodedError("a field is not optional")
    return column.branches


def _fields(column: Column) -> dict[str, Column]:
    if not isinstance(column, Struct):
        raise UndecodedError("a value is not a record")
    return column.fields


def _numbers(column: Column) -> npt.NDArray[Any]:
    if not isinstance(column, Numbers):
        raise UndecodedError("a value is not a number")
    return column.values


def _primitive_values(column: Column, type_: pa.DataType) -> AnyArray:
    if isinstance(column, Texts):
        return column.values.array().cast(type_)
    numbers = _numbers(column)
    if type_ == pa.bool_():
        numbers = numbers.astype(np.bool_)
    return arrow_array(numbers).cast(type_)


def read_statistics(
    group: FileGroup, prefixes: Sequence[str], cache: DiskCache | None
) -> Iterator[ColumnStatistics]:
    """Return the entries whose keys begin with one of the prefixes, some megabytes at a time.

    A base file's entries of a single prefix come from the cache, if there is one and log files
    change: without them nothing reads the base file again, as what is made of it is kept
    (`index.statistics.column_bounds`).
    """
    ask = PrefixScan(tuple(prefix.encode() for prefix in prefixes))
    identity = None
    if cache is not None and len(prefixes) == 1 and group.logs:
        identity = group.base_identity(f"statistics {_LAYOUT} {prefixes[0]}")
    if cache is None or identity is None:
        for part in group.stream(ask):
            yield _decoded(part)
        return
    touched, merged = group.overlay(ask)
    for table in cache.tables(identity, lambda: _base_tables(group, ask)):
        known = from_table(table)
        if len(touched):
            requested = ByteStrings.from_arrow(known.key.cast(pa.large_binary()))
            known = known.filter(touched.search(requested) < 0)
        yield known
    yield _decoded(merged)


def _decoded(part: EncodedRecords | MergedRecords) -> ColumnStatistics:
    if isinstance(part, EncodedRecords):
        return decode_statistics(part)
    return column_statistics(part.payloads, part.payloads.values())


def _base_tables(group: FileGroup, ask: Scan) -> Iterator[pa.Table]:
    return (to_table(decode_statistics(part)) for part in group.base_records(ask))


#: Changes whenever the columns or their meaning change.
_LAYOUT = 1
_PLAIN = ("key", "file_name", "column_name", "type_info", "value_count", "null_count")
_REPETITIVE = frozenset({"column_name", "type_info"})
_BOUNDS = ("minimum", "maximum")


def to_table(entries: ColumnStatistics) -> pa.Table:
    """Return the entries as a table, to cache them and to send them to other processes."""
    columns: dict[str, AnyArray] = {}
    for name in _PLAIN:
        column = getattr(entries, name)
        columns[name] = column.dictionary_encode() if name in _REPETITIVE else column
    columns["value_type"] = arrow_array(entries.value_type)
    columns["is_tight"] = arrow_array(entries.is_tight)
    for side in _BOUNDS:
        for wrapper, values in getattr(entries, side).items():
            columns[f"{side} {wrapper}"] = values
    return pa.table(columns)


def from_table(table: pa.Table) -> ColumnStatistics:
    """Return the entries of a table from `to_table`."""
    columns = {name: combined(table.column(name)) for name in table.column_names}
    plain: dict[str, Any] = {name: without_dictionary(columns[name]) for name in _PLAIN}
    bounds: dict[str, Any] = {
        side: {
            name.partition(" ")[2]: values
            for name, values in columns.items()
            if name.startswith(f"{side} ")
        }
        for side in _BOUNDS
    }
    return ColumnStatistics(
        value_type=numpy_numbers(columns["value_type"]),
        is_tight=numpy_flags(columns["is_tight"]),
        **plain,
        **bounds,
    )


def concatenated(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """Concatenate the entries of all parts, in their order."""
    return ColumnStatistics(
        key=pa.concat_arrays([part.key for part in parts]),
        file_name=pa.concat_arrays([part.file_name for part in parts]),
        column_name=pa.concat_arrays([part.column_name for part in parts]),
        minimum=_concatenated([(part.minimum, len(part)) for part in parts]),
        maximum=_concatenated([(part.maximum, len(part)) for part in parts]),
        value_type=np.concatenate([part.value_type for part in parts]),
        type_info=pa.concat_arrays([part.type_info for part in parts]),
        value_count=pa.concat_arrays([part.value_count for part in parts]),
        null_count=pa.concat_arrays([part.null_count for part in parts]),
        is_tight=np.concatenate([part.is_tight for part in parts]),
    )


def _concatenated(parts: Sequence[tuple[Wrapped, int]]) -> Wrapped:
    wrappers = dict.fromkeys(wrapper for bounds, _ in parts for wrapper in bounds)
    return {
        wrapper: pa.concat_arrays(
            [
                bounds[wrapper] if wrapper in bounds else arrow_nulls(size, WRAPPED_TYPES[wrapper])
                for bounds, size in parts
            ]
        )
        for wrapper in wrappers
    }
