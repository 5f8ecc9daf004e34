"""The page of `layout analyze`: what queries would read with each layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyhudi_expr.api.pages.axes import Ranges
from pyhudi_expr.api.pages.explanation import Funnel, funnel
from pyhudi_expr.api.pages.file_map import FileMap, FileSet, axes_of, draw_files
from pyhudi_expr.api.pages.render import render
from pyhudi_expr.api.pages.trends import draw_timeline
from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, columns
from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.manage.layout.analysis import Analysis, Shares
from pyhudi_expr.manage.layout.row_order import Layout
from pyhudi_expr.manage.layout.tiling import PieceStatistics, Tiling
from pyhudi_expr.tables.timeline import Instant

_MAX_LAYOUTS = 24
#: Limit of predicates: each has its funnel and two maps.
_MAX_PREDICATES = 8
#: Smaller differences of shares are not shown as such.
_NOTHING = 0.0005
_POINTS = 100
ESTIMATED = "today, by statistics alone"
"""What is comparable with the layouts, which are estimated so."""


def layouts_page(found: Analysis, predicates: Sequence[str], instants: Sequence[Instant]) -> str:
    """Return the page for an analysis: what each predicate reads today and in the best layout.

    `instants` are those of the timeline, oldest first.
    """
    best = found.candidates[0]
    facts = (
        ("table", found.table),
        ("instant", found.instant or "none"),
        ("files of a layout", f"{found.files:,}"),
        ("rows sampled", f"{found.sample.rows.num_rows:,}"),
    )
    return render(
        "layouts.html",
        title=f"layouts of {found.table}",
        headline=_headline(found.today, best),
        facts_of_analysis=facts,
        remarks=found.notes,
        best=str(best.layout),
        queries=[
            _Query(f"Q{number}", text, today, proposed)
            for number, (text, today, proposed) in enumerate(
                zip(predicates, found.today.bytes, best.bytes, strict=True), 1
            )
        ],
        layouts=[
            _row("today", found.today, found.today),
            _row(ESTIMATED, found.estimated, found.today),
            *(
                _row(str(each.layout), each, found.today)
                for each in found.candidates[:_MAX_LAYOUTS]
            ),
        ],
        comparisons=list(_comparisons(found, predicates[:_MAX_PREDICATES])),
        instants=draw_timeline(instants, found.instant),
    )


@dataclass(frozen=True)
class _Query:
    """The shares of the bytes that a query reads, from 0 to 1, today and in the best layout."""

    name: str
    text: str
    today: float
    proposed: float

    @property
    def change(self) -> str:
        """The difference in words: percentage points of the table's bytes."""
        points = _POINTS * (self.proposed - self.today)
        if self.is_worse:
            return f"▲ reads more: +{points:.1f} points"
        return f"▼ {-points:.1f} points" if self.is_better else "no difference"

    @property
    def is_worse(self) -> bool:
        """Whether it would read more."""
        return _is_more(self.proposed, self.today)

    @property
    def is_better(self) -> bool:
        """Whether it would read less."""
        return _is_more(self.today, self.proposed)


@dataclass(frozen=True)
class _Row:
    """A layout: the mean share of the bytes; for each query its share, and whether that is more."""

    name: str
    mean: float
    shares: tuple[tuple[float, bool], ...]


@dataclass(frozen=True)
class _Comparison:
    """A query: its funnel on today's files, and its files today and in the best layout."""

    name: str
    text: str
    parts: Funnel
    maps: tuple[tuple[str, FileMap], ...]


def _headline(today: Shares, best: Shares) -> str:
    if not _is_more(today.mean_bytes, best.mean_bytes):
        return f"No layout would read less than today's {today.mean_bytes:.1%} of the bytes"
    shares = f"{best.mean_bytes:.1%} of the bytes instead of {today.mean_bytes:.1%}"
    pairs = zip(best.bytes, today.bytes, strict=True)
    worse = sum(_is_more(proposed, now) for proposed, now in pairs)
    but = f"; {worse} of {len(best.bytes)} queries would read more" if worse else ""
    return f"{best.layout} would read {shares}{but}"


def _row(name: str, each: Shares, today: Shares) -> _Row:
    pairs = zip(each.bytes, today.bytes, strict=True)
    return _Row(name, each.mean_bytes, tuple((own, _is_more(own, now)) for own, now in pairs))


def _is_more(share: float, other: float) -> bool:
    return share > other + _NOTHING


def _comparisons(found: Analysis, predicates: Sequence[str]) -> Iterator[_Comparison]:
    best = found.candidates[0].layout
    tilings = [(ESTIMATED, found.tiling(None)), (str(best), found.tiling(best))]
    drawn = _columns(found, best)
    ranges = [_ranges(found, tiling, drawn) for _, tiling in tilings]
    reads = [found.reads(tiling) for _, tiling in tilings]
    for number, text in enumerate(predicates):
        result = found.results[number]
        sets = [
            FileSet(own, keep[number], _FactsOfFiles(tiling.rows, tiling.count))
            for own, keep, (_, tiling) in zip(ranges, reads, tilings, strict=True)
        ]
        maps = _maps(sets, result.predicate)
        yield _Comparison(
            f"Q{number + 1}",
            text,
            funnel(result.explain()),
            tuple(zip((name for name, _ in tilings), maps, strict=False)),
        )


def _maps(sets: Sequence[FileSet], predicate: BoundExpression) -> list[FileMap]:
    """Draw the files on shared axes; nothing if a column has no values."""
    axes = axes_of(sets, predicate) if sets[0].ranges else None
    return [] if axes is None else [draw_files(each, axes, predicate) for each in sets]


def _columns(found: Analysis, best: Layout | None) -> list[BoundColumn]:
    """Return the columns of the maps: those of the layout, then others of the predicates."""
    known = {name: one for each in found.results for name, one in columns(each.predicate).items()}
    schema = found.sample.rows.schema
    names = dict.fromkeys([*(() if best is None else best.columns), *known, *schema.names])
    found_columns = []
    for name in names:
        if name not in schema.names:
            continue
        type_ = schema.field(name).type
        domain = domain_of(type_)
        if domain is not None:
            found_columns.append(known.get(name) or BoundColumn(name, type_, domain))
    return found_columns[:2]


def _ranges(found: Analysis, tiling: Tiling, drawn: Sequence[BoundColumn]) -> tuple[Ranges, ...]:
    statistics = PieceStatistics(found.sample.rows, tiling)
    bounds = [(column, statistics.bounds(column)) for column in drawn]
    return tuple(Ranges(column, own.lower, own.upper) for column, own in bounds if own is not None)


@dataclass(frozen=True)
class _FactsOfFiles:
    """Names files by their numbers, as those of a layout do not exist yet."""

    rows: Int64Array
    count: int

    def __call__(self, files: Int64Array) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
        """Return number and share of the sampled rows of each file."""
        total = max(int(self.rows.sum()), 1)
        return [
            (
                f"file {file + 1:,} of {self.count:,}",
                (("share of the rows", f"{self.rows[file] / total:.1%}"),),
            )
            for file in files.tolist()
        ]
