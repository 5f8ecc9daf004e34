"""Answer requests for the rows of metadata views.

A row is evaluated as a container is: with the bounds that its values are. So the filter means what
it means where files are pruned, and a row that is not sent is proved not to match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, combined, string_list, value_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.common.constants import nested_type_name
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import Semantics
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.description import VIEWS, MetadataView
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.protocol.conversion.decoder import BadRequestError
from pyhudi_expr.protocol.generated import ttypes


@dataclass(frozen=True)
class MetadataRows:
    """The rows of a view that a filter may ask for.

    Attributes:
        rows: All columns of these rows.
        considered: The number of rows to which the filter was applied.
    """

    view: MetadataView
    rows: pa.Table
    considered: int


class _RowValues:
    """The values of rows as the bounds of containers of one row each."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the values; None for a column that the rows do not have."""
        if column.name not in self._rows.column_names:
            return None
        values = combined(self._rows[column.name])
        is_null: BoolArray = pc.is_null(values).to_numpy(zero_copy_only=False)
        if not column.domain.is_ordinal:
            texts = values.cast(column.domain.arrow_type)
            return Bounds(texts, texts, ~is_null, is_null)
        numbers = pc.fill_null(values.cast(pa.int64()), 0).to_numpy()
        lower = np.where(is_null, MIN_ORDINAL, numbers)
        return Bounds(lower, np.where(is_null, MAX_ORDINAL, numbers), ~is_null, is_null)


def view_named(name: str) -> MetadataView:
    """Return a view. Raises BadRequestError if there is none."""
    view = VIEWS.get(name)
    if view is None:
        raise BadRequestError(f"there is no metadata view {name!r}; there are {', '.join(VIEWS)}")
    return view


def metadata_rows(
    view: MetadataView, snapshot: TableSnapshot, predicate: HudiExpression, semantics: Semantics
) -> MetadataRows:
    """Return the rows for which the predicate may be TRUE.

    Raises:
        HudiError: The table cannot be read.
    """
    schema = view.schema
    bound = bind(predicate, Scope(schema, semantics))
    considered, kept = 0, [schema.empty_table()]
    for rows in view.rows(snapshot, lambda known: _may_match(bound, known)):
        considered += len(rows)
        kept.append(rows.select(schema.names).cast(schema).filter(_flags(bound, rows)))
    return MetadataRows(view, pa.concat_tables(kept), considered)


def to_thrift(
    found: MetadataRows, columns: Sequence[str] | None, max_bytes: int
) -> list[ttypes.MetadataColumn]:
    """Return the rows in the protocol's form.

    Args:
        found: The rows.
        columns: The columns whose values are sent; None for all.
        max_bytes: Limit of their size.

    Raises:
        HudiError: They are too large.
    """
    named = [each.name for each in found.view.columns]
    wanted = named if columns is None else [name for name in named if name in set(columns)]
    size = found.rows.select(wanted).nbytes
    if size > max_bytes:
        raise HudiError(
            f"{found.view.name}: the {len(found.rows)} rows have {size} bytes, and the service"
            f" sends {max_bytes} at most (max_answer_bytes); ask for less in WHERE"
        )
    return [
        _column(
            ttypes.MetadataColumn(
                name=each.name, type=nested_type_name(each.type), comment=each.comment
            ),
            found.rows if each.name in wanted else None,
        )
        for each in found.view.columns
    ]


def _may_match(bound: BoundExpression, rows: pa.Table) -> BoolArray:
    return as_array(may_be(bound, True, [StatisticsEvidence(_RowValues(rows))]), len(rows))


def _flags(bound: BoundExpression, rows: pa.Table) -> AnyArray:
    return pa.array(_may_match(bound, rows))


def _column(sent: ttypes.MetadataColumn, rows: pa.Table | None) -> ttypes.MetadataColumn:
    if rows is None:
        return sent
    values = rows[sent.name]
    sent.nulls = np.flatnonzero(pc.is_null(values).to_numpy()).tolist()
    if sent.type == "string":
        sent.texts = string_list(pc.fill_null(values, ""))
    elif sent.type.startswith("array"):
        sent.textLists = [each or [] for each in value_list(values)]
    else:
        sent.integers = value_list(pc.fill_null(values.cast(pa.int64()), 0))
    return sent
