"""Draw figures of `results.json` as charts for `docs/benchmarks.md`, one SVG for a benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.reporting.results import Entry

DIRECTORY = Path(__file__).parents[2] / "docs" / "pictures"
_COLORS = ("#0f766e", "#94a3b8", "#d97706")
_BAR = 0.32  # inches


@dataclass(frozen=True)
class Chart:
    """Horizontal bars in groups.

    Attributes:
        benchmark: The benchmark of the figures.
        title: The chart's title; says which bars are better.
        unit: The unit of all figures.
        series: The name and color index of each bar of a group.
        groups: A group's label, and the names of its figures in the order of `series`.
    """

    benchmark: str
    title: str
    unit: str
    series: Sequence[str]
    groups: Mapping[str, Sequence[str]]

    @property
    def file(self) -> Path:
        """The chart's file."""
        return DIRECTORY / f"benchmark-{self.benchmark}.svg"


_ENGINES = {"fetch task": "fetch", "MapReduce": "mr", "Tez": "tez"}
_INDEXES = {
    "column_stats, a range of ids": "column_stats",
    "record_index, a record key": "record_index",
    "secondary_index, a value": "secondary_index",
    "expr_index, a function's value": "expression",
}
_LAYOUTS = {
    "linear": "linear",
    "z-order, direct": "z-order direct",
    "z-order, sampled": "z-order sampled",
    "Hilbert, sampled": "hilbert sampled",
}

CHARTS = (
    Chart(
        "hive",
        "A query that 1 of 2,000 files answers, in Hive: seconds, less is better",
        "s",
        ("pruned", "the same without pruning", "Hudi's input format"),
        {
            shown: tuple(
                f"{engine}, 1 of 2,000 files, {what}"
                for what in ("pruned", "unpruned", "Hudi's input format")
            )
            for shown, engine in _ENGINES.items()
        },
    ),
    Chart(
        "iceberg",
        "Planning over 100,000 files, the same statistics: seconds, less is better",
        "s",
        ("pyhudi", "PyIceberg"),
        {
            "new process": (
                "100,000 files, three leaves: ours in a new process",
                "100,000 files, three leaves: PyIceberg in a new process",
            ),
        },
    ),
    Chart(
        "index-builds",
        "Building an index of 2,000,000 rows in 2,000 files: seconds, less is better",
        "s",
        ("pyhudi", "Hudi"),
        {
            shown: tuple(f"{index}: {who}" for who in ("here", "Hudi"))
            for shown, index in {
                "column_stats": "column_stats of 6 columns",
                "record_index": "record_index of 2,000,000 rows",
                "secondary_index": "secondary index of 2,000,000 rows",
            }.items()
        },
    ),
    Chart(
        "query-path",
        "A query in Hive over 2,000 files, fetch task: seconds, less is better",
        "s",
        ("with the index", "without it"),
        {
            shown: (f"{index}, query with it", f"{index}, query without it")
            for shown, index in _INDEXES.items()
        },
    ),
    Chart(
        "layouts-uniform",
        "Share of the files that a range of two columns reads: %, less is better",
        "% of files",
        ("pyhudi", "Hudi"),
        {
            shown: tuple(f"{layout} {who}, two columns" for who in ("here", "Hudi"))
            for shown, layout in _LAYOUTS.items()
        },
    ),
)


def write(kept: Sequence[Entry]) -> None:
    """Draw each chart whose benchmark has been measured."""
    DIRECTORY.mkdir(exist_ok=True)
    for chart in drawable(kept):
        _draw(chart, values(chart, kept))


def drawable(kept: Sequence[Entry]) -> list[Chart]:
    """Return the charts whose figures are all there."""
    measured = {str(entry["name"]) for entry in kept}
    return [
        chart
        for chart in CHARTS
        if all(f"{chart.benchmark}: {name}" in measured for name in _names(chart))
    ]


def values(chart: Chart, kept: Sequence[Entry]) -> dict[str, float]:
    """Return the value of each of the chart's figures.

    Raises:
        ValueError: A figure has another unit than the chart.
    """
    known = {str(entry["name"]): entry for entry in kept}
    found = {name: known[f"{chart.benchmark}: {name}"] for name in _names(chart)}
    for name, entry in found.items():
        if entry["unit"] != chart.unit:
            raise ValueError(f"{chart.benchmark}: {name} is in {entry['unit']}, not {chart.unit}")
    return {name: float(entry["value"]) for name, entry in found.items()}


def label(value: float) -> str:
    """Return a figure as the chart shows it."""
    return f"{value:.3g}"


def _names(chart: Chart) -> list[str]:
    return [name for names in chart.groups.values() for name in names]


def _draw(chart: Chart, of_names: Mapping[str, float]) -> None:
    bars = len(chart.series)
    height = _BAR * (bars + 1) * len(chart.groups) + 1.1
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pyhudi", "font.size": 10}):
        figure = Figure(figsize=(8, height), layout="constrained")
        axes = figure.subplots()
        for number, series in enumerate(chart.series):
            places = [group * (bars + 1) + number for group in range(len(chart.groups))]
            shown = [of_names[names[number]] for names in chart.groups.values()]
            drawn = axes.barh(places, shown, 0.85, color=_COLORS[number], label=series)
            axes.bar_label(drawn, [label(value) for value in shown], padding=3)
        middles = [group * (bars + 1) + (bars - 1) / 2 for group in range(len(chart.groups))]
        axes.set_yticks(middles, list(chart.groups))
        axes.invert_yaxis()
        axes.margins(x=0.08)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(chart.title, loc="left", fontsize=11)
        figure.legend(loc="outside lower left", ncols=bars, frameon=False)
        figure.savefig(chart.file, metadata={"Date": None})
