"""Checks pruning of random files by random predicates against an engine's own evaluation.

A *case* is one predicate, as one front end converts it, and one file. A case is lost if a row of
the file has a truth value that the rules exclude.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundExpression, columns
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import HudiExpression, IsNull
from pyhudi_expr.expr.semantics import Semantics
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.limits.sure_rows import is_certain, others_of
from pyhudi_expr.tables.schema import optional_columns
from tests.truth.engine import SessionOptions
from tests.truth.files import Files


@dataclass(frozen=True)
class Question:
    """A predicate as one front end has it.

    semantics: of a request with it.
    is_filter: it is what an optimizer leaves of a filter, which may be FALSE where the predicate is
        NULL.
    """

    expression: HudiExpression
    semantics: Semantics
    is_filter: bool = False


@dataclass(frozen=True)
class EvaluatedPredicate:
    """One predicate with the engine's results and our conversions.

    source: the template that it was mainly made from.
    truths: by evaluator (a way in which the engine evaluates), the truth value of each row.
    questions: by front end, the converted predicate.
    true_only: evaluators that only report which rows are TRUE, and return NULL for the others.
    failed: indexes of rows for which evaluation fails: NULL in `truths`, but not really NULL.
    """

    dialect: str
    text: str
    source: str
    session_options: SessionOptions
    truths: dict[str, pa.BooleanArray]
    questions: Mapping[str, Question]
    true_only: frozenset[str] = frozenset()
    failed: Sequence[int] = ()

    def bound(self, front_end: str, schema: pa.Schema) -> BoundExpression:
        """The predicate as one front end converts it, bound to columns."""
        question = self.questions[front_end]
        optional = frozenset(optional_columns(schema))
        return bind(question.expression, Scope(schema, question.semantics, optional))

    def columns(self, names: Sequence[str]) -> list[str]:
        """Those of the columns that the predicate names."""
        return [name for name in names if re.search(rf"\b{name}\b", self.text)]

    def rows(self, truth: bool | None) -> list[int]:
        """The rows with this truth value in any evaluator."""
        found = [np.flatnonzero(rows) for _, rows in self.evaluators(truth)]
        return sorted({int(row) for rows in found for row in rows})

    def evaluators(self, truth: bool | None) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
        """The evaluators that report this truth value, and a mask of the rows that have it."""
        for evaluator, truths in self.truths.items():
            if truth is None and evaluator not in self.true_only:
                nulls = np.array(truths.is_null())
                nulls[list(self.failed)] = False
                yield evaluator, nulls
            elif truth is not None:
                yield evaluator, np.asarray(truths.fill_null(not truth)) == truth


def _may_hold(bound: BoundExpression, truth: bool | None, files: Files) -> npt.NDArray[np.bool_]:
    found = may_be(bound, truth is not False, [StatisticsEvidence(files)])
    return as_array(found, len(files.members))


_TRUTHS = {True: "TRUE", False: "FALSE", None: "NULL"}


@dataclass(frozen=True)
class Loss:
    """A row in a file for which the rules exclude the row's truth value."""

    evaluated: EvaluatedPredicate
    evaluator: str
    front_end: str
    truth: bool | None
    row: str
    bounds: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Losses with the same key usually have one cause."""
        return self.evaluated.dialect, self.front_end, self.evaluated.source

    def __str__(self) -> str:
        evaluated = self.evaluated
        return (
            f"LOST {evaluated.dialect} by {self.front_end} ({self.evaluator}): {evaluated.text}\n"
            f"  is {_TRUTHS[self.truth]} for {self.row}\n"
            f"  bounds: {self.bounds}; {evaluated.session_options}"
        )


@dataclass
class Tally:
    """The results of cases.

    losses: the shortest loss for each key. files, kept, ideal: the number of random files over all
    predicates, by dialect and source: all, those that are kept, and those with a TRUE row.
    """

    sessions: int = 0
    predicates: int = 0
    cases: int = 0
    lost: int = 0
    losses: dict[tuple[str, str, str], Loss] = field(default_factory=dict)
    files: Counter[tuple[str, str]] = field(default_factory=Counter)
    kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    ideal: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, evaluated: EvaluatedPredicate, files: Files) -> None:
        """Checks a predicate over all files, for TRUE, FALSE and NULL."""
        self.predicates += 1
        key = evaluated.dialect, evaluated.source
        for front_end, question in evaluated.questions.items():
            scope = Scope(files.rows.schema, question.semantics)
            expression = question.expression
            if is_certain(expression, question.semantics.engine):
                self._add_sure(evaluated, files, front_end, bind(others_of(expression), scope))
            for truth in (True,) if question.is_filter else (True, False, None):
                bound = bind(IsNull(expression) if truth is None else expression, scope)
                may = _may_hold(bound, truth, files)
                for _, holds_row in self._compared(evaluated, files, front_end, truth, may, bound):
                    if truth:
                        self.ideal[key] += int(np.count_nonzero(holds_row[: files.random_files]))
                        self.kept[key] += int(np.count_nonzero(may[: files.random_files]))
                        self.files[key] += files.random_files
                # A filter of rows takes each for a file of its own.
                singles = files.singles
                may = _may_hold(bound, truth, singles)
                deque(self._compared(evaluated, singles, front_end, truth, may, bound), maxlen=0)
            self.cases += len(files.members)

    def _add_sure(
        self, evaluated: EvaluatedPredicate, files: Files, front_end: str, others: BoundExpression
    ) -> None:
        """Checks the files all of whose rows are said to match: no row fails either."""
        may = _may_hold(others, True, files)
        for evaluator, truths in evaluated.truths.items():
            rows = ~np.asarray(truths.fill_null(False))
            holds_row = np.asarray(files.matrix[:, rows].any(axis=1))
            for file in np.flatnonzero(holds_row & ~may):
                self._record_loss(
                    *(evaluated, evaluator, f"{front_end}, all rows", None, files, int(file)),
                    *(rows, others),
                )

    def add_kept(
        self,
        evaluated: EvaluatedPredicate,
        files: Files,
        front_end: str,
        by: str,
        kept: npt.NDArray[np.bool_],
    ) -> None:
        """Checks the files that somebody else keeps for a predicate, as one front end has it.

        by: who keeps them, for statistics.
        """
        bound = evaluated.bound(front_end, files.rows.schema)
        key = evaluated.dialect, by
        of = f"{front_end}, {by}"
        for _, holds_row in self._compared(evaluated, files, of, True, kept, bound):
            self.ideal[key] += int(np.count_nonzero(holds_row))
            self.kept[key] += int(np.count_nonzero(kept))
            self.files[key] += len(files.members)
        self.cases += len(files.members)

    def _compared(
        self,
        evaluated: EvaluatedPredicate,
        files: Files,
        front_end: str,
        truth: bool | None,
        may: npt.NDArray[np.bool_],
        bound: BoundExpression,
    ) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
        """Records losses; yields each evaluator and the files with a row of this truth value."""
        for evaluator, rows in evaluated.evaluators(truth):
            holds_row = np.asarray(files.matrix[:, rows].any(axis=1))
            for file in np.flatnonzero(holds_row & ~may):
                self._record_loss(
                    evaluated, evaluator, front_end, truth, files, int(file), rows, bound
                )
            yield evaluator, holds_row

    def merge(self, other: Tally) -> None:
        """Adds the results of another process."""
        self.sessions += other.sessions
        self.predicates += other.predicates
        self.cases += other.cases
        self.lost += other.lost
        for loss in other.losses.values():
            self._keep_shortest(loss)
        for mine, theirs in zip(self._counters(), other._counters(), strict=True):
            mine.update(theirs)

    def _counters(self) -> Sequence[Counter[tuple[str, str]]]:
        return self.files, self.kept, self.ideal

    def _record_loss(
        self,
        evaluated: EvaluatedPredicate,
        evaluator: str,
        front_end: str,
        truth: bool | None,
        files: Files,
        file: int,
        rows: npt.NDArray[np.bool_],
        bound: BoundExpression,
    ) -> None:
        self.lost += 1
        row = next(one for one in files.members[file] if rows[one])
        used = [*columns(bound)] or evaluated.columns(files.rows.schema.names)
        bounds = {name: files.bound_kinds[name][file].value for name in used}
        row_values = {name: _format_value(files.rows[name][row]) for name in used}
        # What goes to another process is as small as a report needs.
        reported = replace(evaluated, truths={}, questions={})
        self._keep_shortest(
            Loss(reported, evaluator, front_end, truth, str(row_values), str(bounds))
        )

    def _keep_shortest(self, loss: Loss) -> None:
        known = self.losses.get(loss.key)
        if known is None or len(loss.evaluated.text) < len(known.evaluated.text):
            self.losses[loss.key] = loss

    def __str__(self) -> str:
        counts = f"{self.sessions} sessions, {self.predicates} predicates, {self.cases} cases"
        return f"{counts}, {self.lost} lost"

    def looseness(self) -> Iterator[str]:
        """A line for each source: the share of files kept, and of files with a TRUE row."""
        for key in sorted(self.files):
            files = self.files[key]
            kept, ideal = self.kept[key] / files, self.ideal[key] / files
            yield f"{key[0]:8} {kept:6.2f} {ideal:6.2f}  {key[1]}"


def _format_value(value: pa.Scalar) -> str:
    if pa.types.is_timestamp(value.type) and value.is_valid:
        return f"{value.cast(pa.int64()).as_py()} us"
    return repr(value.as_py())
