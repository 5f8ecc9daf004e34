"""Random predicates over random files: an engine says what is true, our rules what may be.

A *case* is one predicate, as one front door reads it, and one file: a file is lost if a row in it
gives a truth value that the rules exclude.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundExpression, columns
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import HudiExpression, IsNull
from pyhudi_expr.expr.terms import Scope
from tests.truth.engine import Circumstances
from tests.truth.files import Files


@dataclass(frozen=True)
class Hearing:
    """One predicate, and what was said of it.

    source: the template that it is mainly made of. truths: by the way in which the engine evaluates
    it, what it gives for each row. readings: by the front door, what our side makes of it.
    true_only: of the ways those that tell which rows are TRUE, and give NULL for the others.
    zone: that a request for it names, where it is not the session's.
    failed: numbers of the rows that make it fail; they are NULL in `truths`, and none in truth.
    """

    dialect: str
    text: str
    source: str
    circumstances: Circumstances
    truths: dict[str, pa.BooleanArray]
    readings: dict[str, HudiExpression]
    true_only: frozenset[str] = frozenset()
    zone: str | None = None
    failed: Sequence[int] = ()

    def columns(self, names: Sequence[str]) -> list[str]:
        """Of these columns those that the predicate names."""
        return [name for name in names if re.search(rf"\b{name}\b", self.text)]

    def rows(self, truth: bool | None) -> list[int]:
        """The rows for which it has this truth value, by some way."""
        found = [np.flatnonzero(rows) for _, rows in self.ways(truth)]
        return sorted({int(row) for rows in found for row in rows})

    def ways(self, truth: bool | None) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
        """The ways that tell this truth value, and of each the rows that have it."""
        for way, truths in self.truths.items():
            if truth is None and way not in self.true_only:
                nulls = np.array(truths.is_null())
                nulls[list(self.failed)] = False
                yield way, nulls
            elif truth is not None:
                yield way, np.asarray(truths.fill_null(not truth)) == truth


_TRUTHS = {True: "TRUE", False: "FALSE", None: "NULL"}


@dataclass(frozen=True)
class Loss:
    """A row that is in a file of which the rules say that it has no such row."""

    hearing: Hearing
    way: str
    door: str
    truth: bool | None
    row: str
    told: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Losses of one key have one cause, mostly."""
        return self.hearing.dialect, self.door, self.hearing.source

    def __str__(self) -> str:
        about = self.hearing
        given = {"zone": about.circumstances.zone, **about.circumstances.settings}
        return (
            f"LOST {about.dialect} by {self.door} ({self.way}): {about.text}\n"
            f"  is {_TRUTHS[self.truth]} for {self.row}\n"
            f"  told: {self.told}; {given}"
        )


@dataclass
class Tally:
    """What came out.

    losses: of each key the shortest. files, kept, ideal: of the files of all predicates by dialect
    and source how many were drawn, how many of them are kept and how many have a row that is TRUE.
    """

    cases: int = 0
    lost: int = 0
    losses: dict[tuple[str, str, str], Loss] = field(default_factory=dict)
    files: Counter[tuple[str, str]] = field(default_factory=Counter)
    kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    ideal: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, hearing: Hearing, files: Files) -> None:
        """Judges a predicate over all files, for TRUE, FALSE and NULL."""
        key = hearing.dialect, hearing.source
        for door, reading in hearing.readings.items():
            zone = hearing.zone or hearing.circumstances.zone
            scope = Scope(files.rows.schema, zone)
            for truth in (True, False, None):
                bound = bind(IsNull(reading) if truth is None else reading, scope)
                evidence = [StatisticsEvidence(files)]
                may = as_array(may_be(bound, truth is not False, evidence), len(files.members))
                for way, rows in hearing.ways(truth):
                    there = files.matrix[:, rows].any(axis=1)
                    for file in np.flatnonzero(there & ~may):
                        self._lose(hearing, way, door, truth, files, int(file), rows, bound)
                    if truth:
                        self.ideal[key] += int(np.count_nonzero(there[: files.drawn]))
                        self.kept[key] += int(np.count_nonzero(may[: files.drawn]))
                        self.files[key] += files.drawn
            self.cases += len(files.members)

    def merge(self, other: Tally) -> None:
        """Adds what another process found."""
        self.cases += other.cases
        self.lost += other.lost
        for loss in other.losses.values():
            self._remember(loss)
        for mine, theirs in zip(self._counters(), other._counters(), strict=True):
            mine.update(theirs)

    def _counters(self) -> Sequence[Counter[tuple[str, str]]]:
        return self.files, self.kept, self.ideal

    def _lose(
        self,
        hearing: Hearing,
        way: str,
        door: str,
        truth: bool | None,
        files: Files,
        file: int,
        rows: npt.NDArray[np.bool_],
        bound: BoundExpression,
    ) -> None:
        self.lost += 1
        row = next(one for one in files.members[file] if rows[one])
        used = [*columns(bound)] or hearing.columns(files.rows.schema.names)
        told = {name: files.told[name][file].value for name in used}
        shown = {name: _shown(files.rows[name][row]) for name in used}
        self._remember(Loss(hearing, way, door, truth, str(shown), str(told)))

    def _remember(self, loss: Loss) -> None:
        before = self.losses.get(loss.key)
        if before is None or len(loss.hearing.text) < len(before.hearing.text):
            self.losses[loss.key] = loss

    def looseness(self) -> Iterator[str]:
        """A line for each source: the shares of files kept, and of those with a row."""
        for key in sorted(self.files):
            files = self.files[key]
            kept, ideal = self.kept[key] / files, self.ideal[key] / files
            yield f"{key[0]:8} {kept:6.2f} {ideal:6.2f}  {key[1]}"


def _shown(value: pa.Scalar) -> str:
    if pa.types.is_timestamp(value.type) and value.is_valid:
        return f"{value.cast(pa.int64()).as_py()} us"
    return repr(value.as_py())
