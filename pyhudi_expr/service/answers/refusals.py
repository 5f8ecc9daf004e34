"""Why a request has no answer: errors become a status, a word for the metrics and a message."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi_expr.errors import CorruptFile, HudiError, TableNotFound, UnsupportedTable
from pyhudi_expr.protocol.conversion.decoder import BadRequestError
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.table_roots import RootError
from pyhudi_expr.tables.keys.definition import MissingKeyColumn
from pyhudi_expr.tables.keys.generators import MissingKey
from pyhudi_expr.tables.parsing.budget import OverBudgetError


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
        return Refusal(PruneStatus.BAD_REQUEST, "no_keys", message)
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
