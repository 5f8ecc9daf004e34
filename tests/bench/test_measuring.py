"""Figures, their limits, and their records."""

from pathlib import Path

import pytest

from bench.reporting import results
from bench.reporting.measuring import Measurement, interleaved


@pytest.mark.parametrize(
    ("value", "bar", "holds"),
    [
        (60.0, ">= 60", True),
        (59.9, ">= 60", False),
        (5.0, "<= 5", True),
        (3.0, "< 3", False),
        (-1.0, "< 3", True),
        (3.0, None, None),
    ],
)
def test_a_figure_is_compared_with_its_limit(value: float, bar: str | None, holds: bool) -> None:
    assert Measurement("name", value, "x", bar).holds is holds


def test_samples_are_interleaved() -> None:
    order: list[str] = []

    def sample(name: str) -> float:
        order.append(name)
        return float(len(order))

    first, second = interleaved([lambda: sample("a"), lambda: sample("b")], rounds=3)
    assert "".join(order) == "abbaab"
    assert (first, second) == ([1, 4, 5], [2, 3, 6])


def test_a_run_of_one_benchmark_leaves_the_figures_of_the_others(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    assert results.load(file) == []
    fast = results.entries("fast", [Measurement("fast: a", 1.23456, "ms", "< 2")])
    slow = results.entries("slow", [Measurement("slow: b", 9, "s")])
    results.save(results.updated(results.updated([], {"fast": fast}), {"slow": slow}), file)

    again = results.entries("fast", [Measurement("fast: c", 3, "ms", "< 2")])
    results.save(results.updated(results.load(file), {"fast": again}), file)
    assert [tuple(entry.values()) for entry in results.load(file)] == [
        ("fast: c", 3.0, "ms", "< 2", False, "make bench BENCH=fast"),
        ("slow: b", 9.0, "s", None, None, "make bench BENCH=slow"),
    ]
