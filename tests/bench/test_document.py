"""The figures in the documentation are those that were kept."""

import pytest

from bench.reporting import document, results
from bench.reporting.measuring import Measurement


def test_figures_take_their_place() -> None:
    kept = results.entries("fast", [Measurement("fast: a | b", 4321.0, "ms", "< 5000")])
    kept += results.entries("slow", [Measurement("slow: c", 2, "s", "< 1")])
    text = (
        "before\n<!-- figures: written by bench/reporting/document.py -->\n"
        "old\n<!-- end of the figures -->\n"
    )
    once = document.written(text, kept)
    assert "| a \\| b | 4,321 | ms | < 5000 | yes |" in once
    assert "| c | 2 | s | < 1 | **no** |" in once
    assert "`make bench BENCH=slow`" in once
    assert "\nold\n" not in once
    assert document.written(once, kept) == once


def test_cases_of_a_comparison_are_rows() -> None:
    measured = [
        Measurement("query-path: load at the start", 1.5, "processes"),
        Measurement("query-path: record_index, query without it", 7.5, "s"),
        Measurement("query-path: record_index, query with it", 0.25, "s"),
        Measurement("query-path: bloom_filters, query with it", 0.5, "s"),
    ]
    shown = document.figures(results.entries("query-path", measured))
    assert "| load at the start | 1.5 | processes |  |  |" in shown
    assert "|  | query without it, s | query with it, s |" in shown
    assert "| record_index | 7.5 | 0.25 |" in shown
    assert "| bloom_filters |  | 0.5 |" in shown


def test_the_document_shows_the_kept_figures() -> None:
    shown = document.FILE.read_text()
    assert document.written(shown, results.load()) == shown


def test_a_document_without_a_place_is_told() -> None:
    with pytest.raises(ValueError, match="no place"):
        document.written("nothing", [])
