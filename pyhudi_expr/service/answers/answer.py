"""Answers of the service, as values. `encoding` makes the protocol's responses of them.

An error becomes an answer, too: a status, a word for the metrics and a message.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.errors import CorruptFile, HudiError, TableNotFound, UnsupportedTable
from pyhudi_expr.expr.bound import unknown_reasons
from pyhudi_expr.index.kept_rows import KeptRows
from pyhudi_expr.index.limits.sure_rows import EqualRows, matching_rows
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.row_counts import RowCount
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.column_summaries import ColumnSummary
from pyhudi_expr.protocol.conversion.decoder import BadRequestError
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.table_roots import RootError
from pyhudi_expr.tables.keys.definition import MissingKeyColumn
from pyhudi_expr.tables.keys.generators import MissingKey
from pyhudi_expr.tables.parsing.budget import OverBudgetError
from pyhudi_expr.tables.timeline import Timeline


@dataclass(frozen=True)
class MatchingRows:
    """All rows that match: their number, and summaries of columns over them."""

    rows: int
    columns: Sequence[ColumnSummary]


def described_matching(
    pruner: Pruner,
    snapshot: TableSnapshot,
    request: PruneRequest,
    result: PruneResult,
    names: Collection[str],
) -> MatchingRows | None:
    """Return all rows that match; None if that is not certain.

    Args:
        pruner: What has made the result.
        snapshot: The table.
        request: The request.
        result: What it keeps.
        names: The columns to describe, in any case.

    Raises:
        HudiError: The statistics cannot be read.
    """
    rows = matching_rows(pruner, snapshot, request, result)
    if rows is None:
        return None
    wanted = {name.lower() for name in names}
    schema = pa.schema([field for field in snapshot.schema if field.name.lower() in wanted])
    return MatchingRows(int(rows.sum()), snapshot.summaries_of(schema, rows))


@dataclass(frozen=True)
class Answer:
    """What was found out about a table for a question. What was not asked for is None.

    Attributes:
        result: What the filter excludes. Verdicts are about files of any state, so they are its.
        listed: What the caller reads of the state: fewer slices if these have enough rows.
        rows_kept: The number of rows in them.
        timeline: The timeline by which they were selected, for a caller that reads them by name.
        selected: The rows of these files that can match.
        matching: All rows that match, as far as that is certain.
        counted: All rows by values of columns, as far as these are known.
        columns: Summaries of the table's columns.
        ignores_keys: Whether keys are virtual, and files have stored ones, which readers ignore.
    """

    result: PruneResult
    listed: PruneResult
    rows_kept: RowCount | None = None
    timeline: Timeline | None = None
    selected: KeptRows | None = None
    matching: MatchingRows | None = None
    counted: EqualRows | None = None
    columns: Sequence[ColumnSummary] | None = None
    ignores_keys: bool = False

    @property
    def message(self) -> str | None:
        """Why less was pruned than could be."""
        return "; ".join([*self.result.notes, *self._row_notes]) or None

    @property
    def note(self) -> str | None:
        """The message for logs, with a count instead of notes that quote the predicate."""
        result = self.result
        quoting = frozenset(unknown_reasons(result.predicate) if result.notes else ())
        notes = [note for note in result.notes if note not in quoting]
        if quoting:
            notes.append(f"parts of the filter not supported: {len(quoting)}")
        return "; ".join([*notes, *self._row_notes]) or None

    @property
    def _row_notes(self) -> Sequence[str]:
        return () if self.selected is None else self.selected.notes


class NotPrunedError(Exception):
    """Nothing can be pruned; `reason` is a word for the metrics."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class OtherVersionError(Exception):
    """The caller has another version of the protocol."""


@dataclass(frozen=True)
class Refusal:
    """An answer without files or rows.

    Attributes:
        status: Of `PruneStatus`.
        reason: A word for the metrics.
        message: For the caller; it may be logged.
    """

    status: int
    reason: str
    message: str


NO_KEYS = "no_keys"
_REASONS = {
    TableNotFound: "no_table",
    UnsupportedTable: "unsupported_table",
    CorruptFile: "corrupt_file",
    OverBudgetError: "over_budget",
}


def refusal(error: Exception) -> Refusal:
    """Return the answer for an error. One that nobody expects is FAILED, without its own text."""
    message = str(error)
    if isinstance(error, OtherVersionError):
        return Refusal(PruneStatus.UNSUPPORTED_VERSION, "other_version", message)
    if isinstance(error, RootError):
        return Refusal(PruneStatus.BAD_REQUEST, "outside_of_roots", message)
    if isinstance(error, BadRequestError):
        return Refusal(PruneStatus.BAD_REQUEST, "bad_request", message)
    if isinstance(error, NotPrunedError):
        return Refusal(PruneStatus.NOT_PRUNED, error.reason, message)
    if isinstance(error, (MissingKey, MissingKeyColumn)):
        return Refusal(PruneStatus.BAD_REQUEST, NO_KEYS, message)
    if isinstance(error, HudiError):
        reason = _REASONS.get(type(error), "table_unreadable")
        return Refusal(PruneStatus.NOT_PRUNED, reason, message)
    failed = f"{type(error).__name__} in the service, see its log"
    return Refusal(PruneStatus.FAILED, "failed", failed)


def metadata_refusal(error: Exception) -> Refusal:
    """Return the answer for an error where rows are asked for: without them it is FAILED."""
    found = refusal(error)
    if isinstance(error, (HudiError, NotPrunedError)):
        return Refusal(PruneStatus.FAILED, found.reason, found.message)
    return found
