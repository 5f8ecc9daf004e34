"""A single entry of statistics that are stored as columns."""

from typing import Any

from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics


def bounds_of(found: ColumnStatistics, row: int) -> tuple[str, Any, Any]:
    """The wrapper of an entry's bounds, its minimum and its maximum; "" and None if it has none."""
    for wrapper, values in found.minimum.items():
        if values[row].is_valid:
            return wrapper, values[row].as_py(), found.maximum[wrapper][row].as_py()
    return "", None, None
