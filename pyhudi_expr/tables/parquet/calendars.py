"""What footers say of values: the calendar of days and times, and which columns are INT96.

Spark before 3.0, and later by its setting, counts days before 1582-10-15 in the Julian calendar,
and times before 1900 by other rules of zones. It writes so into the footer, and its readers show
the same calendar dates, counted in the Gregorian calendar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, Int64Array
from pyhudi_expr.errors import UnsupportedTable

if TYPE_CHECKING:
    import pyarrow.parquet as pq


_VERSION = b"org.apache.spark.version"
_ZONE = b"org.apache.spark.timeZone"
_MARKS = (
    (b"3.0.0", b"org.apache.spark.legacyDateTime"),
    (b"3.1.0", b"org.apache.spark.legacyINT96"),
)
_UTC = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "Etc/UCT"})

_GREGORIAN = -141_427  # 1582-10-15, in days since 1970
_DAY = 86_400_000_000
_SAME_IN_ALL_ZONES = -2_177_452_800_000_000  # 1901-01-01, in microseconds
# Between days since 1970 and the day numbers of astronomers, whose years begin in March of -4800.
_EPOCH, _JULIAN, _GREGORIAN_START = 2_440_588, 32_082, 32_044


@dataclass(frozen=True)
class LegacyCalendar:
    """The calendar of a file.

    Attributes:
        path: The file's path, for messages.
        zone: The zone in which its times were counted. None: that of a process that is not known.
    """

    path: str
    zone: str | None

    @staticmethod
    def of(path: str, metadata: Mapping[bytes, bytes] | None) -> LegacyCalendar | None:
        """Return the calendar that a footer's metadata names; None for today's."""
        version = (metadata or {}).get(_VERSION)
        if metadata is None or version is None:
            return None
        if not any(version < since or mark in metadata for since, mark in _MARKS):
            return None
        zone = metadata.get(_ZONE)
        return LegacyCalendar(path, None if zone is None else zone.decode())

    def today(self, values: AnyArray) -> AnyArray:
        """Return the values as Spark's readers show them.

        Raises:
            UnsupportedTable: That depends on rules of zones that are not known here.
        """
        type_ = values.type
        if pa.types.is_date32(type_):
            days = _numbers(values)
            return _array(_gregorian(days), values, type_)
        if pa.types.is_timestamp(type_):
            return self._times(values)
        if pa.types.is_nested(type_) and has_moments(type_):
            raise UnsupportedTable(
                f"{self.path}: a nested column holds days or times in the calendar of Java before "
                "8; rewrite the file by clustering, or ask an engine"
            )
        return values

    def _times(self, values: AnyArray) -> AnyArray:
        micros = _numbers(values.cast(pa.timestamp("us", values.type.tz)))
        if micros.min(initial=0) >= _SAME_IN_ALL_ZONES:
            return values
        if self.zone not in _UTC:
            raise UnsupportedTable(
                f"{self.path}: times before 1901 are in the calendar of Java before 8 and in the "
                f"zone {self.zone or 'of the writer'}, by rules of zones that are not known here; "
                "rewrite the file by clustering, or ask an engine"
            )
        days, rest = np.divmod(micros, _DAY)
        return _array(_gregorian(days) * _DAY + rest, values, pa.timestamp("us", values.type.tz))


def has_moments(type_: pa.DataType) -> bool:
    """Return whether values of a type are, or contain, days or times."""
    if pa.types.is_nested(type_):
        return any(has_moments(type_.field(i).type) for i in range(type_.num_fields))
    return bool(pa.types.is_date(type_) or pa.types.is_timestamp(type_))


def _numbers(values: AnyArray) -> Int64Array:
    width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
    filled = pc.fill_null(values.cast(width), 0)
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)


def _array(numbers: Int64Array, values: AnyArray, type_: pa.DataType) -> AnyArray:
    nulls = values.is_null().to_numpy(zero_copy_only=False)
    width = pa.int32() if pa.types.is_date32(type_) else pa.int64()
    return pa.array(numbers, pa.int64(), mask=nulls).cast(width).cast(type_)


def _gregorian(days: Int64Array) -> Int64Array:
    """Return days of the hybrid calendar as those of the same dates in the Gregorian one."""
    count = days + _EPOCH + _JULIAN
    years = (4 * count + 3) // 1461
    of_year = count - 1461 * years // 4
    same = of_year + 365 * years + years // 4 - years // 100 + years // 400
    return np.where(days < _GREGORIAN, same - _GREGORIAN_START - _EPOCH, days)


INT96_UNIT: Literal["us"] = "us"
INT96 = pa.timestamp(INT96_UNIT, "UTC")
"""The type of INT96, which holds instants. pyarrow reads it as wall clocks."""


def stored_schema(metadata: pq.FileMetaData) -> pa.Schema:
    """Return the schema of a file, in which INT96 columns are instants; not those within others.

    Raises:
        ArrowException: Arrow lacks a type.
    """
    schema = metadata.schema.to_arrow_schema()
    physical = [metadata.schema.column(i).physical_type for i in range(metadata.num_columns)]
    if "INT96" not in physical:
        return schema
    leaves = iter(physical)
    stored = [(field, [next(leaves) for _ in range(_leaves(field.type))]) for field in schema]
    return pa.schema(
        [field.with_type(INT96) if own == ["INT96"] else field for field, own in stored]
    )


def _leaves(type_: pa.DataType) -> int:
    if not pa.types.is_nested(type_):
        return 1
    return sum(_leaves(type_.field(i).type) for i in range(type_.num_fields))
