"""All faults, and the table that they are put into."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random

from tests.manage.audit import file_faults, row_faults, statistics_faults, whole_faults
from tests.manage.audit.living_table import (
    LivingTable,
)
from tests.manage.audit.seeding import (
    FAULTS,
    Expected,
    first,
    last,
)

MODULES = (file_faults, row_faults, statistics_faults, whole_faults)
"""Importing them registers their faults."""


def seed(name: str, table: LivingTable) -> Expected:
    """Put a fault into a table."""
    return FAULTS[name](table)


def healthy(path: Path) -> LivingTable:
    """The table that faults are put into: two partitions, three files, one MDT file for a group."""
    table = LivingTable(path, Random(27))
    table.begin({"a": [[1, 2, 3, 4], [5, 6, 7]], "b": [[8, 9, 10]]})
    one, other = first(table), last(table)
    keys = list(one.rows)
    one.rows[keys[0]] |= {"name": "😀", "score": float("nan"), "intField": None}
    one.rows[keys[1]] |= {"name": "\uff5e", "score": -1.5, "intField": 7}
    for key, each in other.rows.items():
        each |= {"name": f"Name {key}", "score": key / 4, "intField": key}
        each |= {"amount": Decimal(key), "born": date(2000, 1, key)}
    table._commit([one, other])
    table.clean()
    table.compact_metadata()
    return table
