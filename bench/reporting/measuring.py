"""What a benchmark gives: figures, some with a bar that they have to clear."""

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
        name: what was measured, "benchmark: case, what".
        value: the figure, a median where there were several runs.
        unit: such as "ms", "MB" (10^6 bytes), "x" for ratios.
        bar: what the figure has to be, such as ">= 60"; None for a plain figure.
    """

    name: str
    value: float
    unit: str
    bar: str | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the figure clears its bar; None without one."""
        if self.bar is None:
            return None
        comparison, _, limit = self.bar.partition(" ")
        return _COMPARISONS[comparison](self.value, float(limit))


Measure = Callable[[], Iterator[Measurement]]


@dataclass(frozen=True)
class Benchmark:
    """A named way to get some measurements; `summary` says in a line what they show."""

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
    """All benchmarks whose modules have been imported, in the order of registration."""
    return tuple(_registered.values())


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def median_seconds(action: Callable[[], object], runs: int) -> float:
    """The median of some calls' times."""
    return statistics.median(seconds(action) for _ in range(runs))


def interleaved(samples: Sequence[Callable[[], float]], rounds: int) -> tuple[list[float], ...]:
    """Several samples, taken in turn, every other round the other way round.

    What slows the machine down for a while slows all of them, so that their ratios can be trusted.
    """
    taken: tuple[list[float], ...] = tuple([] for _ in samples)
    for number in range(rounds):
        order = range(len(samples)) if number % 2 == 0 else reversed(range(len(samples)))
        for index in order:
            taken[index].append(samples[index]())
    return taken
