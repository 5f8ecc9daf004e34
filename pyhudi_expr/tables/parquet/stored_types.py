"""The types of a file's columns, with what pyarrow does not show: which of them are INT96."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pyarrow as pa

if TYPE_CHECKING:
    import pyarrow.parquet as pq

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
