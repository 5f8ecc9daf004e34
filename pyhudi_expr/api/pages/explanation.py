"""The page of `explain`: what each part of a predicate leaves, and where the files are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.api.pages.file_map import FileMap, FileSet, axes_of, draw_files
from pyhudi_expr.api.pages.regions import ranges_of
from pyhudi_expr.api.pages.render import megabytes, render, size_of
from pyhudi_expr.api.pages.trends import draw_timeline
from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.index.explanation import Explanation, IndexAnswer
from pyhudi_expr.index.explanation import remarks as remarks_on
from pyhudi_expr.index.kept_rows import KeptRows
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.tables.hudi_names import PARTITION_STATS
from pyhudi_expr.tables.timeline import Instant

_WORDS = {"AND": "all of these", "OR": "any of these"}


@dataclass(frozen=True)
class Funnel:
    """A part of the predicate.

    Attributes:
        text: The part; of AND and OR, in words, which of their operands are needed.
        reached: Number of files that the parts before it leave.
        left: Number of these that remain after it.
        total: Number of files of the table.
        alone: What it excludes by itself; empty if that is nothing.
        notes: Why it does not exclude more.
        answers: What the indexes say of it.
        connective: AND or OR; empty for a part without parts.
    """

    text: str
    reached: int
    left: int
    total: int
    alone: str
    notes: tuple[str, ...]
    answers: tuple[IndexAnswer, ...]
    connective: str
    children: tuple[Funnel, ...]

    @property
    def points(self) -> str:
        """The corners of its segment, in a square of 100: from what reaches it to what is left."""
        return trapezoid(self.reached, self.left, self.total)

    @property
    def straight(self) -> str:
        """The corners of a segment with what reaches it."""
        return trapezoid(self.reached, self.reached, self.total)

    @property
    def straight_left(self) -> str:
        """The corners of a segment with what is left."""
        return trapezoid(self.left, self.left, self.total)


def funnel(node: Explanation) -> Funnel:
    """Return the funnel of an explanation."""
    says = "NOT " if node.negated else ""
    return Funnel(
        text=_WORDS[node.connective] if node.connective else f"{says}{node.predicate}",
        reached=node.reached,
        left=node.left,
        total=node.files,
        alone=_alone(node),
        notes=tuple(_notes(node)),
        answers=() if node.children else _shown(node),
        connective=node.connective,
        children=tuple(map(funnel, node.children)),
    )


def trapezoid(above: int, below: int, total: int) -> str:
    """Return the corners of a centred segment of a funnel, in a square of 100."""
    upper, lower = (50 * count / max(total, 1) for count in (above, below))
    corners = ((50 - upper, 0), (50 + upper, 0), (50 + lower, 100), (50 - lower, 100))
    return " ".join(f"{x:.2f},{y}" for x, y in corners)


def _alone(node: Explanation) -> str:
    if not node.excluded:
        return ""
    text = f"By itself it rules out {node.excluded:,} of {node.files:,} files"
    text += f", {node.excluded_bytes / 1e6:,.1f} MB"
    return text if node.excluded_rows is None else f"{text}, {node.excluded_rows:,} rows"


def _notes(node: Explanation) -> Iterator[str]:
    if node.reason:
        yield node.reason


def _shown(node: Explanation) -> tuple[IndexAnswer, ...]:
    return tuple(answer for answer in node.answers if answer.files or answer.reason)


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
