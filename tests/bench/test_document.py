"""The figures in the documentation are the recorded ones."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bench.reporting import document, results
from bench.reporting.measuring import Measurement
from bench.reporting.results import Entry

Shown = Callable[[Sequence[Entry]], str]


def test_figures_replace_their_placeholders() -> None:
    kept = results.entries("fast", [Measurement("fast: a | b", 4321.0, "ms", "< 5000")])
    kept += results.entries("slow", [Measurement("slow: c", 2, "s", "< 1")])
    text = (
        "before\n<!-- figures: written by bench/reporting/document.py -->\n"
        "old\n<!-- end of the figures -->\n"
    )
    once = document.written(text, document.figures(kept))
    assert "| a \\| b | 4,321 | ms | < 5000 | yes |" in once
    assert "| c | 2 | s | < 1 | **no** |" in once
    assert "`make bench BENCH=slow`" in once
    assert "\nold\n" not in once
    assert document.written(once, document.figures(kept)) == once


def test_cases_of_a_comparison_are_rows() -> None:
    measured = [
        Measurement("query-path: load at the start", 1.5, "processes"),
        Measurement("query-path: record_index, query without it", 7.5, "s"),
        Measurement("query-path: record_index, query with it", 0.25, "s"),
        Measurement("query-path: bloom_filters, query with it", 0.5, "s"),
    ]
    content = document.figures(results.entries("query-path", measured))
    assert "| load at the start | 1.5 | processes |  |  |" in content
    assert "|  | query without it, s | query with it, s |" in content
    assert "| record_index | 7.5 | 0.25 |" in content
    assert "| bloom_filters |  | 0.5 |" in content


@pytest.mark.parametrize(
    ("file", "shown"), [(document.FILE, document.pictures), (document.TABLES, document.figures)]
)
def test_a_document_shows_the_recorded_figures(file: Path, shown: Shown) -> None:
    content = file.read_text()
    assert document.written(content, shown(results.load())) == content


def test_a_document_without_a_placeholder_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place"):
        document.written("nothing", "figures")
