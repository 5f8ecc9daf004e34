"""Cases of pruning out of other systems' own tests: their facts, evaluated by our evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, parse_predicate
from pyhudi_expr.expr.semantics import here
from tests.expr.kept_files import kept
from tests.expr.statistics import RecordedStatistics

#: One verdict of a peer on files, and the predicates that it is of; see `Peer`.
Verdict = tuple["Files", str, Sequence[str]]


@dataclass(frozen=True)
class Files:
    """Files of known rows.

    types: by column; those in structs have dots.
    rows: by file; values of the only column, or tuples. Bounds are those of the rows.
    given, absent: see `RowStatistics`; all else is recorded.
    zone: of the session.
    """

    types: Mapping[str, pa.DataType]
    rows: Sequence[Sequence[Any]]
    given: Mapping[tuple[str, int], RecordedStatistics] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    zone: str = "UTC"

    def kept(self, text: str, dialect: str) -> frozenset[int]:
        """Return the files that we keep for a predicate."""
        engine = DIALECTS[dialect].engine
        rows = [[self._stored(row) for row in file] for file in self.rows]
        found = kept(
            parse_predicate(text, DIALECTS[dialect]),
            self.types,
            *rows,
            semantics=here(self.zone, engine),
            given=self.given,
            absent=self.absent,
        )
        return frozenset(found)

    def _stored(self, row: Any) -> tuple[Any, ...]:
        values = (row,) if len(self.types) == 1 else row
        return tuple(map(_stored, values, self.types.values()))


def _stored(value: Any, type_: pa.DataType) -> Any:
    scalar: Any = pa.scalar(value, type_)
    return scalar.value if pa.types.is_temporal(type_) else value


@dataclass(frozen=True)
class Case:
    """A predicate on files, and what a peer does with each of them."""

    files: Files
    verdicts: str
    text: str

    def with_verdict(self, verdict: str) -> frozenset[int]:
        """Return the files of which the peer has this verdict."""
        return frozenset(i for i, found in enumerate(self.verdicts) if found == verdict)


@dataclass(frozen=True)
class Peer:
    """What a peer's own tests say that it reads and skips.

    Verdicts are signs, one for each file:

    ====  ====================================================
    `+`   the peer reads it, and a row may match
    `~`   the peer reads it; no row can match, so we skip it
    `-`   the peer skips it, and so do we
    ====  ====================================================

    name: as people know it.
    dialect: in which the predicates are written.
    verdicts: see above.
    weaker: predicates for which we keep a file that the peer skips, with the reason.
    """

    name: str
    dialect: str
    verdicts: Sequence[Verdict]
    weaker: Mapping[str, str]

    def cases(self) -> Iterator[Case]:
        """Return one case for each predicate on each set of files."""
        for files, verdicts, texts in self.verdicts:
            assert len(verdicts) == len(files.rows), texts
            yield from (Case(files, verdicts, text) for text in texts)


def unless_all_match(*texts: str) -> list[str]:
    """Return predicates that exclude a file if all of its rows match the given one.

    Limits and counts ask so (`pyhudi_expr.index.limits.sure_rows`).
    """
    return [f"NOT ({text}) OR ({text}) IS NULL" for text in texts]
