"""Shorthands for statistics entries and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, domain_of
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries
from pyhudi_expr.tables.mdt.store.statistics import WRAPPED_TYPES, ColumnStatistics

#: Minimum, maximum, null count and value count of an entry.
Entry = tuple[Any, Any, int | None, int | None]

#: Ordinals of value types in index version 2.
TYPES = {
    **{"null": 1, "boolean": 2, "int": 3, "long": 4, "float": 5, "double": 6, "string": 7},
    **{"bytes": 8, "fixed": 9, "decimal": 10, "uuid": 11, "date": 12},
    **{"timestamp ms": 15, "timestamp us": 16, "timestamp ns": 17},
    **{"local timestamp ms": 18, "local timestamp us": 19, "local timestamp ns": 20},
}


def column(type_: pa.DataType, name: str = "c") -> BoundColumn:
    """Bounds of a column of this type."""
    domain = domain_of(type_)
    assert domain is not None
    return BoundColumn(name, type_, domain)


def entries(
    wrapper: str, given: Sequence[Entry], value_type: str | None = None, info: str | None = None
) -> StatisticsEntries:
    """Entries as the metadata table's reader returns them; without a value type: version 1."""
    known = [wrapper] if wrapper in WRAPPED_TYPES else []
    bounds = [
        {name: pa.array([entry[end] for entry in given], WRAPPED_TYPES[name]) for name in known}
        for end in (0, 1)
    ]
    return StatisticsEntries.of(
        ColumnStatistics(
            key=pa.array(["" for _ in given], pa.string()),
            file_name=pa.array(["" for _ in given], pa.string()),
            column_name=pa.array(["c" for _ in given], pa.string()),
            minimum=bounds[0],
            maximum=bounds[1],
            value_type=np.full(len(given), TYPES[value_type] if value_type else -1, np.int64),
            type_info=pa.array([info for _ in given], pa.string()),
            null_count=pa.array([entry[2] for entry in given], pa.int64()),
            value_count=pa.array([entry[3] for entry in given], pa.int64()),
            is_tight=np.zeros(len(given), np.bool_),
        )
    )


def plain(bounds: Bounds) -> list[tuple[Any, Any, bool, bool]]:
    """For each container: lower, upper, may hold a value, may hold NULL; None: unknown."""

    def values(ends: Any, unknown: int) -> list[Any]:
        if isinstance(ends, np.ndarray):
            return [None if value == unknown else value for value in ends.tolist()]
        found: list[Any] = ends.to_pylist()
        return found

    lower, upper = values(bounds.lower, MIN_ORDINAL), values(bounds.upper, MAX_ORDINAL)
    size = len(lower)
    flags = [np.broadcast_to(f, (size,)) for f in (bounds.may_be_value, bounds.may_be_null)]
    return list(zip(lower, upper, *(flag.tolist() for flag in flags), strict=True))


UNKNOWN = (None, None, True, True)
