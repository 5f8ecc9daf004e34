"""The rows that surely match a predicate, slice by slice, and how many have which values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, domain_of
from pyhudi_expr.expr.nodes import (
    READINGS,
    And,
    Call,
    Case,
    Cast,
    HudiExpression,
    IsNull,
    Not,
    Or,
    PythonValue,
    walk,
)
from pyhudi_expr.expr.semantics import Engine
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot

_FAILING = frozenset({Engine.TRINO, Engine.PRESTO})


def sure_rows(
    pruner: Pruner, snapshot: TableSnapshot, request: PruneRequest, result: PruneResult
) -> Int64Array:
    """Return for each slice how many rows surely match, if all of its rows do; else 0.

    Args:
        pruner: What has made the result.
        snapshot: The table.
        request: The request; not that of an incremental query, which reads rows of slices.
        result: What it keeps.

    Raises:
        HudiError: The table does not support the request.
    """
    counts = snapshot.row_counts()
    if counts is None or request.since is not None:
        return np.zeros(snapshot.listing.num_slices, np.int64)
    if not is_certain(request.predicate, request.semantics.engine):
        return np.zeros(snapshot.listing.num_slices, np.int64)
    is_exact = (counts > 0) & ~snapshot.listing.slice_has_logs & result.keep
    if not is_exact.any():
        return np.zeros(snapshot.listing.num_slices, np.int64)
    # The slices that this excludes have none of the others.
    others = replace(request, predicate=others_of(request.predicate))
    doubtful = pruner.prune_snapshot(snapshot, others).keep
    return np.where(is_exact & ~doubtful, counts, 0).astype(np.int64)


def others_of(predicate: HudiExpression) -> HudiExpression:
    """Return what is TRUE of each row for which a predicate is not."""
    return Or((Not(predicate), IsNull(predicate)))


def is_certain(predicate: HudiExpression, engine: Engine) -> bool:
    """Return whether all rows match, without an error, if none is FALSE or NULL by the evidence.

    Engines do not agree where a conditional value is NULL. A function may fail for values of which
    nothing is known: below OR they may be those of another part than the one that is TRUE. In Trino
    and Presto it fails where it is NULL elsewhere.
    """
    if isinstance(predicate, And):
        return all(is_certain(child, engine) for child in predicate.children)
    parts = list(walk(predicate))
    if any(isinstance(part, Case) for part in parts):
        return False
    if engine not in _FAILING and not any(isinstance(part, And | Or) for part in parts):
        return True
    return not any(
        isinstance(part, Cast) or (isinstance(part, Call) and part.name not in READINGS)
        for part in parts
    )


def matching_rows(
    pruner: Pruner, snapshot: TableSnapshot, request: PruneRequest, result: PruneResult
) -> Int64Array | None:
    """Return the number of rows of each slice that match; None if that is not certain.

    Args:
        pruner: What has made the result.
        snapshot: The table.
        request: The request.
        result: What it keeps.

    Raises:
        HudiError: The table does not support the request.
    """
    sure = sure_rows(pruner, snapshot, request, result)
    return sure if (sure[result.keep] > 0).all() and sure.any() else None


MOST_GROUPS = 10_000
"""A caller generates rows of so many within the limits of an answer."""


@dataclass(frozen=True)
class EqualRows:
    """All rows of some slices, by the values of columns.

    Attributes:
        columns: The columns.
        rows: By one value of each column, how many rows have them. Texts are bytes (UTF-8), dates
            days since 1970-01-01, booleans 0 or 1.
    """

    columns: tuple[BoundColumn, ...]
    rows: Counter[tuple[PythonValue, ...]]


def equal_rows(
    snapshot: TableSnapshot, request: PruneRequest, result: PruneResult, names: Sequence[str]
) -> EqualRows | None:
    """Return the rows of the slices that are kept; None if not all are known.

    A partition's path spells the values of its columns, and the index the number of rows of each
    base file. Where log files change rows, neither tells how many there are.

    Args:
        snapshot: The table.
        request: The request.
        result: What it keeps.
        names: Partition columns, in any case.
    """
    counts, listing, keep = snapshot.row_counts(), snapshot.listing, result.keep
    if counts is None or request.since is not None or snapshot.is_evolved or not keep.any():
        return None
    if not ((counts > 0) & ~listing.slice_has_logs)[keep].all():
        return None
    partitions, of_slice = np.unique(listing.slice_partition[keep], return_inverse=True)
    columns = _columns(snapshot.schema, names)
    if columns is None or len(partitions) > MOST_GROUPS:
        return None
    values = []
    for column in columns:
        bounds = snapshot.values.bounds(column)
        if bounds is None or not _are_single(bounds)[partitions].all():
            return None
        values.append([_value(bounds, partition) for partition in partitions.tolist()])
    totals = np.zeros(len(partitions), np.int64)
    np.add.at(totals, of_slice, counts[keep])
    rows: Counter[tuple[PythonValue, ...]] = Counter()
    for group, total in zip(zip(*values, strict=True), totals.tolist(), strict=True):
        rows[group] += total
    return EqualRows(columns, rows)


def _columns(schema: pa.Schema, names: Sequence[str]) -> tuple[BoundColumn, ...] | None:
    """Return the columns; None if there are none, or one is missing, twice, or has no order."""
    fields = {field.name.lower(): field for field in schema}
    found = []
    for name in names:
        field = fields.get(name.lower())
        domain = None if field is None else domain_of(field.type)
        if field is None or domain is None:
            return None
        found.append(BoundColumn(field.name, field.type, domain))
    return tuple(found) if found and len(set(found)) == len(found) else None


def _are_single(bounds: Bounds) -> BoolArray:
    """Flag the partitions whose path spells one value."""
    lower, upper = bounds.lower, bounds.upper
    if isinstance(lower, np.ndarray):
        return np.asarray((lower == upper) & (lower != MIN_ORDINAL) & (upper != MAX_ORDINAL))
    # A path spells a text, both of whose ends are the same array.
    is_given: BoolArray = lower.is_valid().to_numpy(zero_copy_only=False)
    return is_given & (lower is upper)


def _value(bounds: Bounds, partition: int) -> PythonValue:
    lower = bounds.lower
    return int(lower[partition]) if isinstance(lower, np.ndarray) else lower[partition].as_py()
