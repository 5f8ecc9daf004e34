"""The page of `explain`: what each part of a predicate excludes, and where the files are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import Float64Array
from pyhudi_expr.expr.bound import BoundColumn, columns
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL
from pyhudi_expr.expr.evaluate import StatisticsEvidence
from pyhudi_expr.index.explanation import Explanation
from pyhudi_expr.pages.drawings import FileDrawing, draw_files, draw_timeline
from pyhudi_expr.pages.render import megabytes, render
from pyhudi_expr.prune import PruneResult
from pyhudi_expr.table.timeline.timeline import Instant


def explain_page(
    base_path: str,
    predicate: str,
    result: PruneResult,
    explanation: Explanation,
    instants: Sequence[Instant],
) -> str:
    """Return the page for a result; `instants` are those of the timeline, oldest first."""
    facts = (
        ("table", base_path),
        ("predicate", predicate),
        ("instant", result.instant or "none"),
        ("files read", f"{result.files_kept:,} of {result.files_total:,}"),
        ("size", f"{megabytes(result.bytes_kept)} of {megabytes(result.bytes_total)}"),
        *(("note", note) for note in result.notes),
    )
    return render(
        "explanation.html",
        title=f"explain: {predicate}",
        facts_of_result=facts,
        explanation=explanation,
        sources=[(source.name, f"{1000 * source.seconds:.1f} ms") for source in result.evidence],
        drawing=_drawing(result),
        instants=draw_timeline(instants, result.instant),
    )


def _drawing(result: PruneResult) -> FileDrawing | None:
    """Draw the files over the first two columns of the predicate that have bounds, if any."""
    found = list(_bounded(result))[:2]
    if not found:
        return None
    (name, lower, upper), *others = found
    if others:
        second, bottom, top = others[0]
    else:
        # One column: the files one above the other, in the order of their minima.
        second = "files"
        place = np.argsort(np.argsort(lower, kind="stable")) / max(len(lower), 1)
        bottom, top = place, place + 1 / max(len(lower), 1)
    known = ~np.isnan(lower) & ~np.isnan(upper) & ~np.isnan(bottom) & ~np.isnan(top)
    boxes = np.stack([lower, upper, bottom, top], axis=1)[known]
    lacking = int(np.count_nonzero(~known))
    title = "by their bounds" if not lacking else f"by their bounds; {lacking:,} without"
    return draw_files(title, (name, second), boxes, result.file_keep[known])


def _bounded(result: PruneResult) -> Iterator[tuple[str, Float64Array, Float64Array]]:
    for name, column in columns(result.predicate).items():
        for source in result.evidence:
            bounds = _bounds(source.evidence, column, result.files_total)
            if bounds is not None:
                yield name, *bounds
                break


def _bounds(
    evidence: object, column: BoundColumn, files: int
) -> tuple[Float64Array, Float64Array] | None:
    found = evidence.bounds(column) if isinstance(evidence, StatisticsEvidence) else None
    if found is None or not _is_of_files(found, files):
        return None
    lower, upper = _ranks(found)
    return None if np.isnan(lower).all() or np.isnan(upper).all() else (lower, upper)


def _is_of_files(bounds: Bounds, files: int) -> bool:
    return all(
        isinstance(ends, np.ndarray | pa.Array) and len(ends) == files
        for ends in (bounds.lower, bounds.upper)
    )


def _ranks(bounds: Bounds) -> tuple[Float64Array, Float64Array]:
    """Return lower and upper bounds as ranks from 0 to 1 among all of them; NaN if unknown."""
    if isinstance(bounds.lower, np.ndarray):
        ends = np.concatenate([bounds.lower, bounds.upper])
        known = (ends > MIN_ORDINAL) & (ends < MAX_ORDINAL)
        _, rank = np.unique(ends, return_inverse=True)
    else:
        joined = pa.concat_arrays([bounds.lower, bounds.upper])
        known = joined.is_valid().to_numpy(zero_copy_only=False)
        rank = pc.rank(joined, tiebreaker="dense").to_numpy().astype(np.int64)
    ranks = np.where(known, rank, 0).astype(np.float64)
    least = ranks[known].min() if known.any() else 0.0
    spread = max((ranks[known].max() - least) if known.any() else 0.0, 1.0)
    shares: Float64Array = np.where(known, (ranks - least) / spread, np.nan)
    return shares[: len(shares) // 2], shares[len(shares) // 2 :]
