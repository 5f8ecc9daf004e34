"""Which virtual keys Apache Hudi (1.2) keeps apart and together, as its own tables need it.

Without meta fields Hudi makes a row's key in two ways: its writers by the key generator, its
readers and merges straight from the engine's values (`RecordContext`). Where the two differ, an
upsert adds a second row and a delete finds none. So such tables are refused:

=============================  ======================  =========================================
key                            writers                 merges
=============================  ======================  =========================================
one column, complex generator  `column:value`          `value`
date                           `yyyy-MM-dd`            days since 1970
consistent timestamp           `yyyy-MM-dd HH:mm:ss`   microseconds since 1970
decimal                        digits                  the address of a Java object
binary                         hexadecimal digits      the address of a Java object
=============================  ======================  =========================================

Tables to which rows are only added (`definition.APPEND_ONLY`) may have keys of the last four: Hudi
compares none, and the writers' spelling, which indexes and readers here take, is known.

Generators other than the simple, complex and non-partitioned ones are refused by Hudi itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.tables.keys.definition import APPEND_ONLY, Generator, KeyDefinition

_ALLOWED = frozenset({"SIMPLE", "COMPLEX", "NON_PARTITION"})


class UnmergeableKeys(UnsupportedTable):
    """Hudi would not find rows again by such virtual keys."""


def require_mergeable(definition: KeyDefinition, types: Sequence[pa.DataType], label: str) -> None:
    """Check that Hudi finds rows by virtual keys.

    Args:
        definition: The definition of the keys.
        types: The types of the key's columns.
        label: The table, for messages.

    Raises:
        UnmergeableKeys: It does not; the message says why.
    """
    reason = _reason(definition, types)
    if reason is not None:
        raise UnmergeableKeys(
            f"{label}: Apache Hudi cannot keep a table with these virtual keys: {reason}"
        )


def _reason(definition: KeyDefinition, types: Sequence[pa.DataType]) -> str | None:
    generator = definition.hudi
    if generator.name.removesuffix("_AVRO") not in _ALLOWED:
        return (
            f"it has no tables without meta fields for {generator.value}, only for the simple, "
            "complex and non-partitioned generators"
        )
    is_complex = generator in (Generator.COMPLEX, Generator.COMPLEX_AVRO)
    if is_complex and len(definition.columns) == 1 and definition.names_only_column:
        return (
            f"its complex generator spells the key of one column {definition.columns[0]!r} with "
            "the name, its merges without: upserts would add rows and deletes find none; use "
            "SimpleKeyGenerator or NonpartitionedKeyGenerator"
        )
    if definition.append_only:
        return None
    for name, type_ in zip(definition.columns, types, strict=True):
        different = _spelled_differently(f"key column {name!r} of type {type_}", type_, definition)
        if different is not None:
            return f"{different}; if rows are only added to the table, set {APPEND_ONLY}=true"
    return None


def _spelled_differently(label: str, type_: pa.DataType, definition: KeyDefinition) -> str | None:
    if pa.types.is_date(type_):
        return f"its writers spell the {label} as yyyy-MM-dd, its merges as days"
    if pa.types.is_decimal(type_):
        return f"its merges do not compare the digits of the {label}"
    if pa.types.is_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return f"its merges do not compare the bytes of the {label}"
    if pa.types.is_timestamp(type_) and definition.text.consistent_timestamps:
        return f"its writers spell the {label} as a text, its merges as a number"
    return None
