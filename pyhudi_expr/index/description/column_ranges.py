"""The range of each column in each file, as `column_stats` has it, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, AnyField, arrow_array, value_list
from pyhudi_expr.errors import UnknownColumn
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Values
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Domain, Kind, domain_of
from pyhudi_expr.expr.frontend.common.hive_types import type_name
from pyhudi_expr.index.description.contents import file_columns
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.file_ranges import file_ranges, ordinal_values


@dataclass(frozen=True)
class RangedColumn:
    """A column that has an order. `type` is Hive's name of its type."""

    name: str
    type: str
    bound: BoundColumn


def ranged_columns(schema: pa.Schema) -> list[RangedColumn]:
    """Return the columns of a schema that have an order, and the fields of its structs."""
    return [
        RangedColumn(name, type_name(of.type), BoundColumn(name, of.type, domain))
        for name, of in _fields(schema, "")
        if (domain := domain_of(of.type)) is not None
    ]


def chosen_columns(
    columns: Sequence[RangedColumn], names: Sequence[str] | None, table: str
) -> Sequence[RangedColumn]:
    """Return the named columns, in any letter case; all of them for None.

    Raises:
        UnknownColumn: There is none of a name; the message begins with `table`.
    """
    if names is None:
        return columns
    known = {column.name.lower(): column for column in columns}
    for name in names:
        if name.lower() not in known:
            near = get_close_matches(name.lower(), known, 1)
            hint = f"; is it {known[near[0]].name}?" if near else ""
            raise UnknownColumn(f"{table}: there is no column {name} that has an order{hint}")
    return [known[name.lower()] for name in names]


def column_range_tables(
    snapshot: TableSnapshot, columns: Iterable[RangedColumn]
) -> Iterator[pa.Table]:
    """Read the ranges of the columns, a table for each; see `Table.column_ranges`.

    Raises:
        HudiError: The index cannot be read.
    """
    files = file_columns(snapshot.listing)
    described = {name: files[name] for name in ("path", "partition", "kind")}
    for column in columns:
        size = snapshot.listing.num_files
        yield pa.table(
            {
                **described,
                "column": pa.repeat(column.name, size),
                "type": pa.repeat(column.type, size),
                **_ranges(snapshot, column.bound),
            }
        )


def _fields(fields: Iterable[AnyField], prefix: str) -> Iterator[tuple[str, AnyField]]:
    for field in fields:
        yield prefix + field.name, field
        if pa.types.is_struct(field.type):
            inner = [field.type.field(i) for i in range(field.type.num_fields)]
            yield from _fields(inner, f"{prefix}{field.name}.")


def _ranges(snapshot: TableSnapshot, column: BoundColumn) -> dict[str, AnyArray]:
    # An old file of a table whose columns were renamed may hold another column of that name.
    stats = None if snapshot.is_evolved else snapshot.column_stats
    found = file_ranges(stats, snapshot.listing, column)
    bounds = found.bounds
    return {
        "min": _texts(bounds.lower, MIN_ORDINAL, column.domain),
        "max": _texts(bounds.upper, MAX_ORDINAL, column.domain),
        "nulls": arrow_array(found.nulls, found.nulls < 0),
        "rows": arrow_array(found.rows, found.rows < 0),
    }


def _texts(ends: Values, unknown: int, domain: Domain) -> AnyArray:
    """Return bounds as texts; null where they are unknown, or no text."""
    if domain.kind is Kind.BINARY:
        return pa.array([None if v is None else v.hex() for v in value_list(ends)], pa.string())
    if domain.kind is Kind.TEXT:
        return pa.array([_decoded(value) for value in value_list(ends)], pa.string())
    if not domain.is_ordinal:
        return ends.cast(pa.string())
    texts = ordinal_values(ends, domain).cast(pa.string())
    return pc.if_else(pa.array(ends == unknown), pa.scalar(None, pa.string()), texts)


def _decoded(value: bytes | None) -> str | None:
    """Return a text; None for a bound that was loosened to bytes that are none."""
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
