"""`bench/tpcds.json` and `bench/tpch.json`: the latest run of each query, scale and mode."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

DIRECTORY = Path(__file__).parents[1]


@dataclass(frozen=True)
class Result:
    """A query that was run and compared.

    Attributes:
        scale: The scale of the data.
        query: Its number.
        mode: The name of the mode.
        verdict: The comparison of its rows with DuckDB's, or why it failed.
        is_equal: Whether they are an answer of the query.
        rows: Number of rows.
        seconds: Its time.
        files_considered: Number of files that its scans of Hudi tables would have read unpruned.
        files_kept: Number of files that they read, and that were read for its plan.
        outcomes: How the scans were pruned, without repetition.
        load: The processes that wanted a processor in the last minute.
    """

    scale: float
    query: str
    mode: str
    verdict: str
    is_equal: bool
    rows: int
    seconds: float
    files_considered: int
    files_kept: int
    outcomes: tuple[str, ...]
    load: float

    def best_of(self, other: "Result") -> "Result":
        """Return the shorter run, or the one whose rows are wrong, with the outcomes of both."""
        best = min(self, other, key=lambda one: (one.is_equal, one.seconds))
        return replace(best, outcomes=tuple(sorted({*self.outcomes, *other.outcomes})))


@dataclass(frozen=True)
class Results:
    """The results of a suite."""

    suite: str
    results: tuple[Result, ...] = ()

    @property
    def file(self) -> Path:
        """The file that keeps them."""
        return DIRECTORY / f"{self.suite}.json"

    def at(self, scale: float) -> "Results":
        """Return those of one scale."""
        return Results(self.suite, tuple(one for one in self.results if one.scale == scale))

    def updated(self, fresh: Iterable[Result]) -> "Results":
        """Return these with newer results in the places of older ones, in the queries' order."""
        kept = {(one.scale, int(one.query), one.mode): one for one in (*self.results, *fresh)}
        return Results(self.suite, tuple(kept[place] for place in sorted(kept)))

    def save(self) -> None:
        """Write the file, with a result on each line."""
        lines = ",\n".join(f"  {json.dumps(asdict(one))}" for one in self.results)
        self.file.write_text(f"[\n{lines}\n]\n")


def load(suite: str) -> Results:
    """Return the results that are kept, none before the first run."""
    file = Results(suite).file
    if not file.is_file():
        return Results(suite)
    entries = json.loads(file.read_text())
    return Results(
        suite,
        tuple(Result(**{**entry, "outcomes": tuple(entry["outcomes"])}) for entry in entries),
    )
