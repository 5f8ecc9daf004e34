"""The page of `explain`: what each part of a predicate leaves, and where the files are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.index.explanation import Explanation
from pyhudi_expr.pages.file_map import FileMap, FileSet, axes_of, draw_files
from pyhudi_expr.pages.funnel import funnel, trapezoid
from pyhudi_expr.pages.ranges import ranges_of
from pyhudi_expr.pages.render import megabytes, render
from pyhudi_expr.pages.timeline import draw_timeline
from pyhudi_expr.prune import PruneResult
from pyhudi_expr.table.timeline.timeline import Instant

_MEGABYTE = 1e6


def explain_page(
    base_path: str,
    predicate: str,
    result: PruneResult,
    explanation: Explanation,
    instants: Sequence[Instant],
) -> str:
    """Return the page for a result; `instants` are those of the timeline, oldest first.

    It is a whole document. A notebook may show it in a cell as it is: its styles apply to nothing else.
    """
    total, read = result.files_total, result.files_kept
    return render(
        "explanation.html",
        title=f"explain: {predicate}",
        predicate=predicate,
        headline=headline(result),
        skipped_share=(total - read) / max(total, 1),
        facts_of_result=(("table", base_path), ("instant", result.instant or "none")),
        remarks=[*result.notes, *_remarks(result, explanation)],
        parts=funnel(explanation),
        read=read,
        read_points=trapezoid(read, read, total),
        sources=list(_sources(result)),
        map=_map(result),
        instants=draw_timeline(instants, result.instant),
    )


def headline(result: PruneResult) -> str:
    """Return the result in one line: files skipped, and megabytes read."""
    total, skipped = result.files_total, result.files_total - result.files_kept
    share = f", {skipped / total:.1%}" if total else ""
    sizes = f"{_short(result.bytes_kept)} of {_short(result.bytes_total)} MB read"
    return f"{skipped:,} of {total:,} files skipped{share}; {sizes}"


def _short(size: int) -> str:
    """Return bytes in MB; a decimal below 100, and two below 0.1."""
    amount = size / _MEGABYTE
    if not amount or amount >= 100:
        return f"{amount:,.0f}"
    return f"{amount:,.1f}" if amount >= 0.1 else f"{amount:,.2f}"


def _remarks(result: PruneResult, explanation: Explanation) -> Iterator[str]:
    more = result.files_kept - explanation.left
    if more > 0:
        yield (
            f"{more:,} more files are read than the parts of the predicate leave: a base file and"
            " its log files are read together"
        )


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
