"""Predicates as users give them, checked against a table's columns."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from reprlib import Repr
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.errors import InvalidType, PyHudiWarning, QuotedColumnWarning
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.evaluate import Evidence, StatisticsEvidence
from pyhudi_expr.expr.frontend.sql.plain import is_query
from pyhudi_expr.expr.nodes import Call, Case, Column, HudiExpression, Literal, children, walk
from pyhudi_expr.index.opening import NO_METADATA_TABLE, NO_STATISTICS
from pyhudi_expr.index.prune import PruneResult

Predicate: TypeAlias = str | pc.Expression | Sequence[Any] | HudiExpression
"""SQL text, a pyarrow expression, a list of filters, or a tree of `pyhudi_expr.expr.nodes`."""

_PACKAGE = str(Path(__file__).parents[1])
_KINDS = (str, pc.Expression, list, tuple, HudiExpression)
_ACCEPTED = (
    "SQL text (\"fare > 100 AND city = 'Oslo'\"), a pyarrow expression "
    '(pc.field("city") == "Oslo"), a list of filters ([("fare", ">", 100)]) or None'
)
_SHORT = Repr()
_SHORT.maxstring = 200


def checked(predicate: Predicate | None) -> Predicate | None:
    """Return a predicate that can be read more than once. Raises InvalidType."""
    if predicate is not None and not isinstance(predicate, _KINDS):
        raise InvalidType(f"predicate: expected {_ACCEPTED}, got {type(predicate).__name__}")
    if not isinstance(predicate, list | tuple):
        return predicate
    from pyhudi_expr.expr.frontend.arrow.filter_lists import held  # on use, see `Table`

    found: Predicate = held(predicate)
    return found


def text_of(predicates: Sequence[Predicate]) -> str:
    """Return predicates that are to be TRUE together as people read them."""
    texts = [" ".join(one.split()) if isinstance(one, str) else str(one) for one in predicates]
    if len(texts) < 2:
        return "".join(texts) or "all rows"
    return " AND ".join(f"({text})" for text in texts)


def warn_if_unevaluated(result: PruneResult, text: str) -> None:
    """Warn of a predicate, or a part of it, that no file was evaluated by: more files are kept."""
    reasons = [*result.unknown]
    if not reasons and not _is_evaluated(result):
        reasons = list(_notes(result))
    if not reasons:
        return
    advice = ""
    if {NO_METADATA_TABLE, NO_STATISTICS}.intersection(reasons):
        advice = "; `pyhudi index create` builds column_stats"
    warnings.warn(
        f"files were not evaluated by the predicate {_SHORT.repr(text)}, or not by all of it, so "
        f"more are read (the rows are right): {'; '.join(reasons)}{advice}",
        PyHudiWarning,
        stacklevel=_depth_of_caller(),
    )


def warn_of_query(predicate: Predicate | None) -> None:
    """Warn of a whole query: its columns, LIMIT and the like are not carried out."""
    if isinstance(predicate, str) and is_query(predicate):
        warnings.warn(
            "of the query only the WHERE is used: give columns=, order_by= and limit= to scan",
            PyHudiWarning,
            stacklevel=_depth_of_caller(),
        )


def warn_of_quoted_columns(tree: HudiExpression, schema: pa.Schema) -> None:
    """Warn of a column's name in quotes that make it a text, compared with other constants."""
    for found in _quoted_columns(tree, schema):
        warnings.warn(found, QuotedColumnWarning, stacklevel=_depth_of_caller())


def _quoted_columns(tree: HudiExpression, schema: pa.Schema) -> Iterator[str]:
    """Return a message for each column's name that is a text, compared with other constants."""
    names = {field.name.lower() for field in schema}
    for node in walk(tree):
        if isinstance(node, Column | Literal | Call | Case):
            continue
        first, *others = [*children(node), None]
        is_constant = {type(one) for one in others} <= {Literal, type(None)}
        if not isinstance(first, Literal) or not is_constant:
            continue
        if isinstance(first.value, str) and first.value.lower() in names:
            yield (
                f"{first.value!r} in quotes is a text in this SQL, not the column; "
                f"write {first.value} or `{first.value}`"
            )


def _notes(result: PruneResult) -> Iterator[str]:
    """Return why no index evaluates the predicate, without what follows from another reason."""
    missing = [note for note in (NO_METADATA_TABLE, NO_STATISTICS) if note in result.notes]
    yield from missing[:1]
    yield from (note for note in result.notes if note not in missing)
    if not missing:
        yield "no index has its columns"


def _is_evaluated(result: PruneResult) -> bool:
    """Return whether an index knows at least one column of the predicate, of at least one file."""
    needed = result.columns
    known = (_known(source.evidence, column) for source in result.evidence for column in needed)
    return not needed or result.files_kept < result.files_total or any(known)


def _known(evidence: Evidence, column: BoundColumn) -> bool:
    if not isinstance(evidence, StatisticsEvidence):
        return True  # an index of keys or values, which is used only if it has the column
    flags = evidence.known(column)
    return flags is not None and bool(np.any(flags))


def _depth_of_caller() -> int:
    """Return how many frames above the caller the first one outside of this package is."""
    depth, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth + 1
