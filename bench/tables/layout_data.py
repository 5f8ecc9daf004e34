"""The rows, the queries and the ideal tiling of the benchmark of layouts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, AnyChunkedArray

COLUMNS = ("i", "s", "d")
_PREFIX = "https://www.example.com/items/"
_QUERIES = 30
_SHARE = 0.1

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def _uniform(rng: np.random.Generator, rows: int) -> list[Floats]:
    return [rng.random(rows) for _ in COLUMNS]


def _skewed(rng: np.random.Generator, rows: int) -> list[Floats]:
    """Return values of which most are small and some large; a tenth of them are one value."""
    columns = [np.minimum(rng.lognormal(0, 2, rows) / 2000, 0.999999) for _ in COLUMNS]
    for column in columns:
        column[rng.random(rows) < 0.1] = 0.001
    return columns


def _correlated(rng: np.random.Generator, rows: int) -> list[Floats]:
    """Return columns with a loose correlation."""
    common = rng.random(rows)
    return [np.clip(common + rng.normal(0, 0.1, rows), 0, 0.999999) for _ in COLUMNS]


DATA_SETS: dict[str, Callable[[np.random.Generator, int], list[Floats]]] = {
    "uniform": _uniform,
    "skewed": _skewed,
    "correlated": _correlated,
}


def rows(name: str, count: int) -> pa.Table:
    """Return an id, an int, a string with a long common prefix and a double, in no order."""
    rng = np.random.default_rng(28)
    i, s, d = DATA_SETS[name](rng, count)
    numbers = (s * 1e8).astype(np.int64).astype("U8")
    digits = np.char.zfill(numbers, 8)
    return pa.table(
        {
            "id": np.arange(count),
            "i": (i * 1e9).astype(np.int32),
            "s": pa.array(np.char.add(_PREFIX, digits)),
            "d": d * 1e3 - 500,
        }
    )


@dataclass(frozen=True)
class Ranges:
    """A predicate: each column lies between two values. bounds: by column."""

    bounds: dict[str, tuple[object, object]]


def questions(table: pa.Table) -> dict[str, list[Ranges]]:
    """Return 30 random ranges of a tenth of the values of two columns, and 30 of one column."""
    rng = np.random.default_rng(7)
    ordered = {name: table.column(name).combine_chunks().sort() for name in COLUMNS}

    def some(columns: int) -> Iterator[Ranges]:
        for _ in range(_QUERIES):
            chosen = rng.choice(len(COLUMNS), columns, replace=False)
            yield Ranges({COLUMNS[n]: _range(rng, ordered[COLUMNS[n]]) for n in chosen})

    return {"two columns": list(some(2)), "one column": list(some(1))}


def _range(rng: np.random.Generator, ordered: AnyArray) -> tuple[object, object]:
    first = int(rng.integers(0, int(len(ordered) * (1 - _SHARE))))
    return ordered[first].as_py(), ordered[first + int(len(ordered) * _SHARE)].as_py()


def share_touched(files: Sequence[pa.Table], asked: Sequence[Ranges]) -> float:
    """Return the mean share of files whose minimum and maximum values admit a row in the ranges.

    files: The rows of each file, with all columns.
    """
    extremes = {
        name: [(min_max["min"].as_py(), min_max["max"].as_py()) for min_max in found]
        for name, found in ((n, [_min_max(file.column(n)) for file in files]) for n in COLUMNS)
    }
    touched = [
        all(
            extremes[name][number][0] <= high and extremes[name][number][1] >= low
            for name, (low, high) in one.bounds.items()
        )
        for one in asked
        for number in range(len(files))
    ]
    return sum(touched) / len(touched)


def _min_max(column: AnyChunkedArray) -> pa.StructScalar:
    ends = pc.min_max(column)
    assert isinstance(ends, pa.StructScalar)
    return ends


def ideal(table: pa.Table, files: int) -> list[pa.Table]:
    """Divide the rows by the columns in turn, into so many files.

    Each division has two parts, with as equal shares of the files as possible.
    """
    ranks = []
    for name in COLUMNS:
        rank = np.empty(table.num_rows, np.int64)
        rank[pc.sort_indices(table.column(name)).to_numpy()] = np.arange(len(rank))
        ranks.append(rank)

    def divided(tile: npt.NDArray[np.int64], count: int, depth: int) -> Iterator[pa.Table]:
        if count == 1:
            yield table.take(pa.array(tile))
            return
        ordered = tile[np.argsort(ranks[depth % len(ranks)][tile], kind="stable")]
        first = count // 2
        cut = len(ordered) * first // count
        yield from divided(ordered[:cut], first, depth + 1)
        yield from divided(ordered[cut:], count - first, depth + 1)

    return list(divided(np.arange(table.num_rows), files, 0))
