"""The page of `explain`: what each part of a predicate leaves, and where the files are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pyhudi_expr.api.pages.file_map import FileMap, FileSet, axes_of, draw_files
from pyhudi_expr.api.pages.funnel import funnel, trapezoid
from pyhudi_expr.api.pages.ranges import ranges_of
from pyhudi_expr.api.pages.render import megabytes, render, size_of
from pyhudi_expr.api.pages.timeline import draw_timeline
from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.index.explanation import Explanation
from pyhudi_expr.index.explanation import remarks as remarks_on
from pyhudi_expr.index.kept_rows import KeptRows
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.tables.hudi_names import PARTITION_STATS
from pyhudi_expr.tables.timeline.timeline import Instant


def explain_page(
    base_path: str,
    predicate: str,
    result: PruneResult,
    explanation: Explanation,
    instants: Sequence[Instant],
    rows: KeptRows | None = None,
) -> str:
    """Return the page for a result.

    It is a whole document. A notebook may show it in a cell as it is: its styles apply to nothing
    else.

    Args:
        base_path: The table.
        predicate: The predicate as text.
        result: What is read.
        explanation: What each part of the predicate excludes.
        instants: Those of the timeline, oldest first.
        rows: The rows of the kept files, if they were evaluated.
    """
    evaluated = (("rows", str(rows)),) if rows is not None else ()
    total, read = result.files_total, result.files_kept
    return render(
        "explanation.html",
        title=f"explain: {predicate}",
        predicate=predicate,
        headline=headline(result),
        total=total,
        facts_of_result=(
            ("table", base_path),
            ("instant", result.instant or "none"),
            *evaluated,
        ),
        remarks=[*result.notes, *remarks_on(result.files_kept, result.unasked, explanation)],
        parts=funnel(explanation),
        read=read,
        read_points=trapezoid(read, read, total),
        sources=list(_sources(result)),
        map=_map(result),
        by_partition=PARTITION_STATS in result.dropped_by,
        instants=draw_timeline(instants, result.instant),
    )


def headline(result: PruneResult) -> str:
    """Return the result in one line: files skipped, and how much is read."""
    total, skipped = result.files_total, result.files_total - result.files_kept
    share = f", {skipped / total:.1%}" if total else ""
    sizes = size_of(result.bytes_kept, result.bytes_total)
    return f"{skipped:,} of {total:,} files skipped{share}; {sizes} read"


def _sources(result: PruneResult) -> Iterator[tuple[str, int, str]]:
    """Return for each index the files that it drops, and its time."""
    seconds = {source.name: source.seconds for source in result.evidence}
    for name in dict.fromkeys([*result.dropped_by, *seconds]):
        spent = f"{1000 * seconds[name]:.1f} ms" if name in seconds else ""
        yield name, result.dropped_by.get(name, 0), spent


def _map(result: PruneResult) -> FileMap | None:
    """Draw the files over the two columns that exclude most of them, if any has ranges."""
    ranges = tuple(ranges_of(result)[:2])
    if not ranges:
        return None

    def facts(files: Int64Array) -> list[tuple[str, tuple[tuple[str, str]]]]:
        sizes = result.listing.file_size[files].tolist()
        paths = result.listing.paths(files)
        return [
            (path, (("size", megabytes(size)),)) for path, size in zip(paths, sizes, strict=True)
        ]

    files = FileSet(ranges, np.asarray(result.file_keep), facts)
    axes = axes_of([files], result.predicate)
    return None if axes is None else draw_files(files, axes, result.predicate)
