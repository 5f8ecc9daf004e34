"""Evaluate the rows of Parquet files, and compare them with the rows themselves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.rows.evaluation import RowEvaluation, RowRanges, evaluate
from pyhudi_expr.index.rows.file_reading import FileReader
from pyhudi_expr.index.rows.known_file import FileCache
from pyhudi_expr.tables.storage import Storage

_SECONDS = 60


def reader_of(directory: Path, cache: FileCache | None = None) -> FileReader:
    """A reader that has read nothing."""
    return FileReader(
        Storage.open(str(directory)), cache or FileCache(1 << 26), time.monotonic() + _SECONDS
    )


def evaluated(
    paths: Sequence[Path],
    predicate: HudiExpression,
    schema: pa.Schema,
    zone: str | None = None,
    reader: FileReader | None = None,
) -> RowEvaluation:
    """The rows of files in one directory that can match."""
    reader = reader or reader_of(paths[0].parent)
    files = reader.files([(path.name, path.stat().st_size) for path in paths])
    bound = bind(predicate, Scope(schema, here(zone)))
    return evaluate(bound, [file for file in files if file is not None], frozenset(), [], reader)


def rows_of(found: RowRanges) -> set[int]:
    """The rows of a file that can match; checks the form of the ranges."""
    pairs = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    flat = [edge for pair in pairs for edge in pair]
    assert flat == sorted(set(flat)), "ranges are empty, touch, or do not ascend"
    assert not flat or (flat[0] >= 0 and flat[-1] <= found.file.footer.num_rows)
    return {row for start, end in pairs for row in range(start, end)}
