"""Keep new figures: in `results.json`, in the charts, and in the documentation."""

from collections.abc import Mapping, Sequence

from bench.reporting import charts, document, results
from bench.reporting.results import Entry


def publish(measured: Mapping[str, Sequence[Entry]]) -> None:
    """Replace all kept figures of these benchmarks."""
    kept = results.updated(results.load(), measured)
    results.save(kept)
    charts.write(kept)
    shown = {document.FILE: document.pictures(kept), document.TABLES: document.figures(kept)}
    for file, text in shown.items():
        file.write_text(document.written(file.read_text(), text))
