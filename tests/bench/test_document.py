"""The figures in the documentation are those that were kept."""

import pytest

from bench import document, results
from bench.measuring import Measurement


def test_figures_take_their_place() -> None:
    kept = results.entries("fast", [Measurement("fast: a | b", 4321.0, "ms", "< 5000")])
    kept += results.entries("slow", [Measurement("slow: c", 2, "s", "< 1")])
    text = (
        "before\n<!-- figures: written by bench/document.py -->\nold\n<!-- end of the figures -->\n"
    )
    once = document.written(text, kept)
    assert "| a \\| b | 4,321 | ms | < 5000 | yes |" in once
    assert "| c | 2 | s | < 1 | **no** |" in once
    assert "`make bench BENCH=slow`" in once
    assert "\nold\n" not in once
    assert document.written(once, kept) == once


def test_the_document_shows_the_kept_figures() -> None:
    shown = document.FILE.read_text()
    assert document.written(shown, results.load()) == shown


def test_a_document_without_a_place_is_told() -> None:
    with pytest.raises(ValueError, match="no place"):
        document.written("nothing", [])
