"""What must hold after every operation, as functions of the table."""

from __future__ import annotations

from collections.abc import Set

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.manage.stored_keys import SliceKeys, stored_keys
from pyhudi_expr.tables.hudi_table import HudiTable

_SHOWN = 3


def active_indexes(table: HudiTable) -> frozenset[str]:
    """Return the names of the indexes that answer. Raises HudiError."""
    return frozenset(
        status.name for status in index_statuses(table) if status.state is State.ACTIVE
    )


def stopped_indexes(table: HudiTable, before: Set[str]) -> tuple[str, ...]:
    """Return a line for each index that answered before and does not any more.

    Raises:
        HudiError: The table's indexes cannot be read.
    """
    states = {status.name: status.state.value for status in index_statuses(table)}
    return tuple(
        f"the index {name} is {states.get(name, 'gone')}: refresh it (pyhudi index refresh {name} "
        f"--table {table.base_path})"
        for name in sorted(before)
        if states.get(name) != State.ACTIVE.value
    )


def slices_without_keys(table: HudiTable) -> list[SliceKeys]:
    """Return the slices in which a row has no stored key. Raises HudiError."""
    return [one for one in stored_keys(table, table.listing()) if one.lacks_keys]


def require_stored_keys(table: HudiTable) -> None:
    """Check that each row of a table has its stored key.

    Raises:
        HudiError: One has none; the message names files.
    """
    lacking = slices_without_keys(table)
    if lacking:
        rows = sum(one.rows - one.keys + one.log_rows - one.log_keys for one in lacking)
        names = ", ".join(one.slice.name for one in lacking[:_SHOWN])
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        raise HudiError(
            f"{table.base_path}: {rows} rows have no stored key, in the file slices {names}{more}"
        )
