"""`bench/tpcds.json` and `bench/tpch.json`: the latest run of each query in each mode."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

DIRECTORY = Path(__file__).parents[1]


@dataclass(frozen=True)
class Result:
    """A query that was run and compared.

    Attributes:
        query: Its number.
        mode: The name of the mode.
        verdict: The comparison of its rows with DuckDB's, or why it failed.
        is_equal: Whether they are an answer of the query.
        rows: Number of rows.
        seconds: Its time.
        files_considered: Number of files that its scans of Hudi tables would have read unpruned.
        files_kept: Number of files that they read.
        outcomes: How the scans were pruned, without repetition.
        load: The processes that wanted a processor in the last minute.
    """

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


@dataclass(frozen=True)
class Results:
    """The results of a suite at one scale."""

    suite: str
    scale: float
    results: tuple[Result, ...] = ()

    @property
    def file(self) -> Path:
        """The file that keeps them."""
        return DIRECTORY / f"{self.suite}.json"

    def updated(self, fresh: Iterable[Result]) -> "Results":
        """Return these with newer results in the places of older ones, in the queries' order."""
        kept = {(one.query, one.mode): one for one in (*self.results, *fresh)}
        in_order = sorted(kept.values(), key=lambda one: (int(one.query), one.mode))
        return Results(self.suite, self.scale, tuple(in_order))

    def save(self) -> None:
        """Write the file, with a result on each line."""
        head = json.dumps({"scale": self.scale, "cores": os.cpu_count()})
        lines = ",\n".join(f"  {json.dumps(asdict(one))}" for one in self.results)
        self.file.write_text(f'{head[:-1]}, "results": [\n{lines}\n]}}\n')


def load(suite: str, scale: float) -> Results:
    """Return the results that are kept; none if there are only those of another scale."""
    empty = Results(suite, scale)
    if not empty.file.is_file():
        return empty
    kept = json.loads(empty.file.read_text())
    return empty.updated(_results(kept["results"])) if kept["scale"] == scale else empty


def _results(entries: Sequence[dict[str, object]]) -> list[Result]:
    return [Result(**{**entry, "outcomes": tuple(entry["outcomes"])}) for entry in entries]  # type: ignore[arg-type]
