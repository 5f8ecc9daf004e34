"""Prune row groups of Parquet files, by us or by pyarrow if it loses no row of a filter.

Parquet's statistics do not count NaN, and have one zero where floats have two. pyarrow trusts
them: a row group whose bounds are 5 and 5 is skipped for `d <> 5`, even if it holds NaN.

pyarrow prunes row groups itself if it gets a filter, but it trusts every footer. For floats this
loses rows: NaN is not within any bounds, and 0.0 and -0.0 are one bound and two values. So pyarrow
gets no filter, and row groups are pruned by the same rules as files: first by the footers that
pyarrow reads anyway, then, of large files, by pages, dictionaries and Bloom filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from math import isnan
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyField
from pyhudi_expr.expr.bound import BoundExpression
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Column,
    Comparison,
    HudiExpression,
    Literal,
    Op,
    Or,
    Term,
    Unknown,
    walk,
)
from pyhudi_expr.expr.semantics import Engine
from pyhudi_expr.index.rows.evaluation import RowRanges
from pyhudi_expr.index.statistics.parquet_footers import RowGroupStatistics

#: TRUE neither for NaN nor for only one of the zeros.
_BLIND = frozenset({Op.EQ, Op.LT, Op.LTEQ, Op.GT, Op.GTEQ})
#: The same where NaN is above all numbers.
_BLIND_IN_SPARK = frozenset({Op.EQ})


def footers_suffice(
    predicate: HudiExpression,
    compared: Sequence[str],
    schema: pa.Schema,
    engine: Engine = Engine.ANY,
) -> bool:
    """Return whether pyarrow's statistics lose no row for which a predicate is TRUE.

    Args:
        predicate: The predicate.
        compared: The top-level columns that it reads.
        schema: The schema of the rows.
        engine: The engine whose rows are wanted, see `arrow_filter`.
    """
    floats = {name.lower() for name in compared if _has_floats(schema.field(name))}
    blind = _BLIND_IN_SPARK if engine is Engine.SPARK else _BLIND
    return not floats or _suffice(predicate, floats, blind)


def _suffice(node: HudiExpression, floats: set[str], blind: Set[Op]) -> bool:
    match node:
        case And(children=nodes) | Or(children=nodes):
            return all(_suffice(child, floats, blind) for child in nodes)
        case Comparison(op=op, left=left, right=right) if op in blind:
            terms: tuple[Term, ...] = (left, right)
        case Between(term=term, low=low, high=high):
            terms = (term, low, high)
        case _:
            parts = list(walk(node))
            is_known = not any(isinstance(part, Unknown) for part in parts)
            return is_known and not any(
                isinstance(part, Column) and part.path[0].lower() in floats for part in parts
            )
    # A function may be TRUE for NaN, or for one of the zeros.
    return all(isinstance(term, Column) or _is_number(term) for term in terms)


def _is_number(term: Term) -> bool:
    return isinstance(term, Literal) and not (isinstance(term.value, float) and isnan(term.value))


def counted_by_rows(filter: pc.Expression, column: str) -> pc.Expression:
    """Return the same filter, for which pyarrow counts rows by evaluating it.

    If a row group's bounds satisfy a filter, pyarrow counts all its rows, those with NaN as well. A
    random number, which is never negative, keeps it from concluding that.

    Args:
        filter: The filter.
        column: One that is read from the files. Without any, a batch of rows gets a single number,
            and pyarrow keeps one row of it.
    """
    number = pc.Expression._call("random", [], pc.RandomOptions(initializer=0))
    return filter & ((number >= pc.scalar(0.0)) | pc.field(column).is_null())


def _has_floats(field: AnyField) -> bool:
    type_ = field.type
    if pa.types.is_floating(type_):
        return True
    return any(_has_floats(type_.field(i)) for i in range(type_.num_fields))


#: A ParquetFileFragment of pyarrow, which its stubs do not know as a fragment.
ParquetFragment: TypeAlias = Any


def matching_row_groups(
    fragments: Sequence[ParquetFragment],
    predicate: BoundExpression,
    unread: frozenset[str] = frozenset(),
) -> list[ParquetFragment]:
    """Return the fragments with the row groups that may hold a row for which a predicate is TRUE.

    Args:
        fragments: The files.
        predicate: The predicate.
        unread: Columns whose stored values are not what rows show.
    """
    if not fragments:
        return []
    footers = [fragment.metadata for fragment in fragments]
    counts = [footer.num_row_groups for footer in footers]
    evidence = StatisticsEvidence(RowGroupStatistics(footers, unread))
    keep = as_array(may_be(predicate, True, [evidence]), sum(counts))
    parts = np.split(keep, np.cumsum(counts)[:-1])
    return [
        fragment if part.all() else fragment.subset(row_group_ids=np.flatnonzero(part).tolist())
        for fragment, part in zip(fragments, parts, strict=True)
        if part.any()
    ]


def with_evaluated_rows(
    fragments: Sequence[ParquetFragment], rows: Mapping[str, RowRanges]
) -> list[ParquetFragment]:
    """Return the fragments with the row groups that have rows that can match.

    Args:
        fragments: The files.
        rows: The rows of those that were evaluated, by the files' paths.
    """
    found = []
    for fragment in fragments:
        evaluated = rows.get(fragment.path)
        if evaluated is None:
            found.append(fragment)
            continue
        given = [group.id for group in fragment.row_groups]
        kept = np.intersect1d(given, evaluated.groups).tolist()
        if kept:
            found.append(fragment.subset(row_group_ids=kept))
    return found
