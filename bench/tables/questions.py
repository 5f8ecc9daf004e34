"""The query of the benchmarks of synthetic tables: three leaves of a long, a double, a string."""

from dataclasses import dataclass

import numpy as np

from bench.tables import synthetic


@dataclass(frozen=True)
class Question:
    """`spread < most AND (amount > least OR code >= first)` of a synthetic table."""

    most: int
    least: float
    first: str

    @property
    def sql(self) -> str:
        """Return the condition as SQL."""
        return f"spread < {self.most} AND (amount > {self.least} OR code >= '{self.first}')"

    def kept(self, files: int) -> int:
        """Return how many of the table's files can hold a match, counted from the values."""
        _, spread, amount, code = synthetic.columns_of(files, 0)
        below = np.array(spread.minimum) < self.most
        above = np.array(amount.maximum) > self.least
        behind = np.array([text >= self.first for text in code.maximum])
        return int((below & (above | behind)).sum())


def question_of(files: int) -> Question:
    """Return a query that keeps about a quarter of the files, of every partition."""
    rows = files * synthetic.ROWS_PER_FILE
    return Question(rows // 2, float(rows // 8), f"item-{rows // 20:010d}")
