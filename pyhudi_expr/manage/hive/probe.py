"""Find a predicate for which a table's indexes exclude files, for a query that must be pruned."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.expr.bound import columns
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL
from pyhudi_expr.expr.evaluate import StatisticsEvidence
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import Column, HudiExpression, IsNull, Not
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.manage.hive.columns import quote_identifier
from pyhudi_expr.tables.hudi_names import META_COLUMNS
from pyhudi_expr.tables.hudi_table import HudiTable

_PLAIN = re.compile(r"[A-Za-z0-9 ._:/@+-]{1,200}")


@dataclass(frozen=True)
class Probe:
    """A predicate (Hive's SQL), and the number of files that it keeps."""

    predicate: str
    kept: int
    files: int


def find_probe(table: HudiTable, without: Collection[str] = ()) -> Probe | None:
    """Return a condition "column <= its minimum" that excludes a file; None if there is none.

    Args:
        table: The table.
        without: Columns, in lower case, that are none of Hive's filter: Hive itself excludes their
            partitions.

    Raises:
        HudiError: The table cannot be read.
    """
    pruner = Pruner()
    for predicate in _predicates(pruner, table, without):
        result = pruner.prune(table.base_path, _request(parse_predicate(predicate)))
        if result.files_kept < result.files_total:
            return Probe(predicate, result.files_kept, result.files_total)
    return None


def _request(predicate: HudiExpression) -> PruneRequest:
    return PruneRequest(predicate, reader=PartitionReader.ENGINE)


def _predicates(pruner: Pruner, table: HudiTable, without: Collection[str]) -> Iterator[str]:
    for field in table.schema():
        simple = pa.types.is_string(field.type) or pa.types.is_integer(field.type)
        if not simple or field.name in META_COLUMNS or field.name.lower() in without:
            continue
        request = _request(Not(IsNull(Column((field.name,)))))
        result = pruner.prune(table.base_path, request)
        for column in columns(result.predicate).values():
            for source in result.evidence:
                found = source.evidence
                known = found.bounds(column) if isinstance(found, StatisticsEvidence) else None
                least = None if known is None else _least(known)
                if least is not None:
                    yield f"{quote_identifier(field.name)} <= {least}"


def _least(bounds: Bounds) -> str | None:
    """Return the least of all lower bounds, as SQL; None if unknown, or not expressible."""
    if isinstance(bounds.lower, np.ndarray):
        known = bounds.lower[(bounds.lower > MIN_ORDINAL) & (bounds.lower < MAX_ORDINAL)]
        return str(known.min()) if len(known) else None
    if not isinstance(bounds.lower, pa.Array):
        return None
    least = pc.min(bounds.lower).as_py()
    text = least.decode(errors="replace") if isinstance(least, bytes) else least
    # A bound may be truncated within a character; and quotes are escaped in several ways.
    return f"'{text}'" if isinstance(text, str) and _PLAIN.fullmatch(text) else None
