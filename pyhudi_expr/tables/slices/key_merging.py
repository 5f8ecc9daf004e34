"""Merge the base and log rows of a slice by their keys, stored or computed.

Hudi's rules for whole records (see `SliceMerging`): by commit time the row that was written
last is kept; by event time the one with the greatest ordering value, and of equal ones the last. A
delete, or a row without an ordering value, removes the rows before it, whatever their ordering
values. Log files are merged with each other first, and then with the base file: where a row follows
such a delete, Hudi has forgotten the delete as it comes to the base file's row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.tables.hudi_names import IS_DELETED, OPERATION, RECORD_KEY
from pyhudi_expr.tables.keys.definition import KeyDefinition
from pyhudi_expr.tables.keys.generators import KeyGenerator
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.slices.log_rows import LogDeletes, Written

_REMOVING = ("D", "-U")
"""Operations of delete records: they hold no row, and remove the earlier rows of their key."""
_MARKERS = (
    "hoodie.payload.delete.field",
    "hoodie.record.merge.property.hoodie.payload.delete.field",
)
_EVENT_TIME_STRATEGY = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
_EVENT_TIME_PAYLOADS = ("DefaultHoodieRecordPayload", "EventTimeAvroPayload")
_NO_ORDER = 0
"""Hudi's ordering value of deletes that end whatever was before."""


@dataclass(frozen=True)
class KeyMerger:
    """How the slices of one table are merged. It is sent to Spark's tasks.

    Attributes:
        columns: The columns of the key.
        types: Their types in the table.
        generator: Computes Hudi's keys.
        ordering: The ordering columns; none for merging by commit time.
    """

    columns: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    generator: KeyGenerator
    ordering: tuple[str, ...]

    @staticmethod
    def of(
        properties: TableProperties, definition: KeyDefinition, types: Sequence[pa.DataType]
    ) -> KeyMerger:
        """Merge by keys that are computed from columns.

        Raises:
            UnsupportedTable: Rows are deleted by a custom column.
        """
        generator = definition.as_hudi_has_it().generator()
        return KeyMerger(definition.columns, tuple(types), generator, _ordering_of(properties))

    @staticmethod
    def by_stored_keys(properties: TableProperties) -> KeyMerger:
        """Merge by stored keys.

        Raises:
            UnsupportedTable: Rows are deleted by a custom column.
        """
        ordering = _ordering_of(properties)
        return KeyMerger((RECORD_KEY,), (pa.string(),), _StoredKeys(), ordering)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that merging needs."""
        return (*self.columns, *self.ordering, OPERATION, IS_DELETED)

    def remaining_rows(
        self, base: Sequence[AnyArray], logs: Sequence[tuple[Written, Sequence[AnyArray]]]
    ) -> Int64Array:
        """Return the numbers of the rows that remain, in order.

        The base file's rows are numbered first, then the rows of the log files.

        Args:
            base: The columns `needed` of the base file's rows.
            logs: What each log block is, with the columns `needed` of its rows (none for deletes).

        Raises:
            HudiError: The rows cannot be merged.
        """
        keys: list[AnyArray] = [self._keys(base)]
        ordering = [self._ordering(base)]
        deleted = [_deleted(base)]
        rows = [np.arange(len(base[0]), dtype=np.int64)]
        count = len(base[0])
        for written, values in logs:
            if isinstance(written, LogDeletes):
                keys.append(pa.array(written.keys, pa.string()))
                ordering.append([_delete_order(value) for value in written.ordering])
                deleted.append(np.ones(len(written.keys), np.bool_))
                rows.append(np.full(len(written.keys), -1, np.int64))
                continue
            keys.append(self._keys(values))
            ordering.append(self._ordering(values))
            deleted.append(_deleted(values))
            rows.append(np.arange(count, count + len(values[0]), dtype=np.int64))
            count += len(values[0])
        code = _codes(keys)
        last = _merged(code, self._ranks(ordering, len(code)), len(base[0]))
        alive = last[~np.concatenate(deleted)[last]]
        return np.sort(np.concatenate(rows)[alive])

    def _keys(self, values: Sequence[AnyArray]) -> AnyArray:
        typed = [one.cast(type_) for one, type_ in zip(values, self.types, strict=False)]
        return self.generator.keys(typed).cast(pa.string())

    def _ordering(self, values: Sequence[AnyArray]) -> list[Any]:
        """Return each row's ordering value; None if it has none."""
        if not self.ordering:
            return [None] * len(values[0])
        columns = values[len(self.columns) : len(self.columns) + len(self.ordering)]
        found = [_comparable(column).to_pylist() for column in columns]
        if len(found) == 1:
            return list(found[0])
        return [None if None in row else row for row in zip(*found, strict=True)]

    def _ranks(self, parts: Sequence[Sequence[Any]], count: int) -> Int64Array:
        """Return the rank of each row's ordering value; -1 if it has none."""
        ranks = np.full(count, -1, np.int64)
        if not self.ordering:
            return ranks
        values = [value for part in parts for value in part]
        try:
            known = sorted({value for value in values if value is not None})
        except TypeError as error:
            raise UnsupportedTable(f"ordering values of several types: {error}") from error
        place = {value: number for number, value in enumerate(known)}
        for row, value in enumerate(values):
            ranks[row] = -1 if value is None else place[value]
        return ranks


class _StoredKeys:
    """Keys that are stored, see `KeyGenerator`."""

    def keys(self, columns: Sequence[AnyArray]) -> AnyArray:
        return columns[0]


def has_delete_marker(properties: TableProperties) -> bool:
    """Return whether rows are deleted by a custom column, which is not supported."""
    return any(marker in properties.raw for marker in _MARKERS)


def _ordering_of(properties: TableProperties) -> tuple[str, ...]:
    """Return the columns that decide between rows of one key."""
    if has_delete_marker(properties):
        raise UnsupportedTable(
            f"{properties.name}: rows that a column of one's own marks as deleted are not merged "
            "here; compact the table"
        )
    return properties.ordering_fields if _by_event_time(properties) else ()


def _codes(parts: Sequence[AnyArray]) -> Int64Array:
    """Return equal numbers for equal keys.

    Rows of the first part, the base file, that repeat a key get numbers of their own: Hudi merges
    log records into the first such row only.
    """
    encoded = pa.chunked_array(parts).combine_chunks().dictionary_encode()
    code = np.asarray(encoded.indices).astype(np.int64)
    base = code[: len(parts[0])]
    repeated = np.ones(len(base), np.bool_)
    repeated[np.unique(base, return_index=True)[1]] = False
    base[repeated] = len(encoded.dictionary) + np.arange(int(repeated.sum()))
    return code


def _merged(key: Int64Array, rank: Int64Array, base: int) -> Int64Array:
    """Return the row that is kept for each key; the first `base` rows are the base file's."""
    of_logs = _last(key[base:], rank[base:]) + base
    row = np.append(np.arange(base), of_logs)
    final = rank[row]
    final[base:][rank[of_logs] < 0] = len(rank)
    return row[_last(key[row], final)]


def _last(key: Int64Array, rank: Int64Array) -> Int64Array:
    """Return the row that is kept for each key: the greatest since the last one without a rank."""
    row = np.arange(len(key))
    since = np.full(int(key.max(initial=-1)) + 1, -1, np.int64)
    ends = rank < 0
    np.maximum.at(since, key[ends], row[ends])
    left = row[row >= since[key]]
    order = left[np.lexsort((left, rank[left], key[left]))]
    return order[np.append(key[order][1:] != key[order][:-1], True)] if len(order) else order


def _by_event_time(properties: TableProperties) -> bool:
    if properties.merge_mode:
        return properties.merge_mode.upper() == "EVENT_TIME_ORDERING"
    if properties.payload_class:
        return properties.payload_class.rpartition(".")[2] in _EVENT_TIME_PAYLOADS
    return properties.merge_strategy_id.lower() == _EVENT_TIME_STRATEGY


def _comparable(column: AnyArray) -> AnyArray:
    """Return dates and times as the numbers that delete blocks have."""
    if pa.types.is_date32(column.type):
        return column.view(pa.int32())
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64())
    return column


def _delete_order(value: PythonValue) -> PythonValue:
    if isinstance(value, bytes):
        raise UnsupportedTable("deletes ordered by a decimal or binary are not merged here")
    return None if value is None or value == _NO_ORDER else value


def _deleted(values: Sequence[AnyArray]) -> BoolArray:
    """Return which rows are deletes; `values` are the columns of `KeyMerger.needed`."""
    operation, is_deleted = values[-2:]
    removing = _flags(pc.is_in(operation.cast(pa.string()), pa.array(_REMOVING)))
    flags: BoolArray = _flags(is_deleted) | removing
    return flags


def _flags(column: AnyArray) -> BoolArray:
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.bool_)
    flags: BoolArray = np.asarray(pc.fill_null(column.cast(pa.bool_()), False))
    return flags
