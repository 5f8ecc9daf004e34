"""Figures of a benchmark, some with a bar that they have to clear."""

import operator
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<": operator.lt,
}


@dataclass(frozen=True)
class Measurement:
    """One figure.

    Attributes:
        name: The name, "benchmark: case, what".
        value: The figure, a median of several runs where there are some.
        unit: For example "ms", "MB" (10^6 bytes), "x" for ratios.
        bar: The condition, for example ">= 60"; None for a plain figure.
    """

    name: str
    value: float
    unit: str
    bar: str | None = None

    @property
    def holds(self) -> bool | None:
        """Return whether the figure clears its bar; None without one."""
        if self.bar is None:
            return None
        comparison, _, limit = self.bar.partition(" ")
        return _COMPARISONS[comparison](self.value, float(limit))


Measure = Callable[[], Iterator[Measurement]]


@dataclass(frozen=True)
class Benchmark:
    """A named function that measures; `summary` describes it in one line."""

    name: str
    summary: str
    measure: Measure


_registered: dict[str, Benchmark] = {}


def benchmark(name: str) -> Callable[[Measure], Measure]:
    """Register a function under a name; the first line of its docstring is the summary."""

    def register(measure: Measure) -> Measure:
        summary = (measure.__doc__ or "").strip().partition("\n")[0]
        _registered[name] = Benchmark(name, summary, measure)
        return measure

    return register


def registered() -> tuple[Benchmark, ...]:
    """Return all benchmarks whose modules have been imported, in the order of registration."""
    return tuple(_registered.values())


def seconds(action: Callable[[], object]) -> float:
    """Return the time of one call."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def median_seconds(action: Callable[[], object], runs: int) -> float:
    """Return the median time of some calls."""
    return statistics.median(seconds(action) for _ in range(runs))


def interleaved(samples: Sequence[Callable[[], float]], rounds: int) -> tuple[list[float], ...]:
    """Measure several samples in turns, every other round in reverse order.

    A slower period of the machine affects all of them, so that their ratios can be trusted.
    """
    taken: tuple[list[float], ...] = tuple([] for _ in samples)
    for number in range(rounds):
        order = range(len(samples)) if number % 2 == 0 else reversed(range(len(samples)))
        for index in order:
            taken[index].append(samples[index]())
    return taken
