"""Handle the service's requests: check, prune and log them. Nothing is ever raised."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, NoReturn

import structlog

from pyhudi_expr.errors import CorruptFile, HudiError, TableNotFound, UnsupportedTable
from pyhudi_expr.expr.bound import unknown_reasons
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import Semantics
from pyhudi_expr.index.kept_rows import RowEvaluator
from pyhudi_expr.index.limits.narrowing import narrowed
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.installation import version
from pyhudi_expr.protocol.conversion.decoder import BadRequestError, Limits, decode
from pyhudi_expr.protocol.conversion.semantics import decode_semantics
from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import (
    MetadataResponse,
    PruneResponse,
    PruneStatus,
    ServiceInfo,
)
from pyhudi_expr.service.answers.announcements import Announcements
from pyhudi_expr.service.answers.known_rows import add_known_rows
from pyhudi_expr.service.answers.openings import Openings
from pyhudi_expr.service.answers.spark_conditions import decode_spark, reader_of
from pyhudi_expr.service.answers.wanted_rows import wanted_rows
from pyhudi_expr.service.column_summaries import to_thrift
from pyhudi_expr.service.jobs import asked_at, check_wanted, is_of_this_job, taking_turns
from pyhudi_expr.service.metadata_rows import metadata_rows, view_named
from pyhudi_expr.service.metadata_rows import to_thrift as metadata_columns
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.query_log import QueryLog
from pyhudi_expr.service.selected_rows import row_options, selected_rows
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.service.table_roots import RootError, TableRoots
from pyhudi_expr.service.verdicts import counts, kept_slices, verdicts
from pyhudi_expr.tables.keys.generators import MissingKey
from pyhudi_expr.tables.keys.key_columns import MissingKeyColumn
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.parsing.budget import OverBudgetError, spending_as_a_question

_VIEWS = {
    ttypes.TableView.SNAPSHOT: TableView.SNAPSHOT,
    ttypes.TableView.READ_OPTIMIZED: TableView.READ_OPTIMIZED,
}
_log: Any = structlog.get_logger()


class _NotPrunedError(Exception):
    """Nothing can be pruned; `reason` is a word for the metrics."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


#: The part of a caller's time after which the answer says that a table is still being opened; it
#: has to reach the caller.
_OF_PATIENCE = 0.8

#: Evaluations hold Python's lock most of the time: more of them at once only take turns.
_EVALUATIONS = 4


class _OtherVersionError(Exception):
    """The caller has another version of the protocol."""


_REASONS = {
    TableNotFound: "no_table",
    UnsupportedTable: "unsupported_table",
    CorruptFile: "corrupt_file",
    OverBudgetError: "over_budget",
}


class PruningHandler(PruningService.Iface):  # type: ignore[misc]
    """The service's calls. Thread safe."""

    def __init__(
        self,
        pruner: Pruner,
        settings: ServiceSettings,
        metrics: Metrics | None = None,
        row_evaluator: RowEvaluator | None = None,
        announcements: Announcements | None = None,
    ) -> None:
        self._pruner = pruner
        self._row_evaluator = row_evaluator or RowEvaluator(row_options(settings))
        self._metrics = metrics or Metrics()
        self._announcements = announcements or Announcements(pruner)
        self._openings = Openings(pruner, settings.threads)
        self._roots = TableRoots(settings.table_roots)
        self._evaluating = BoundedSemaphore(_EVALUATIONS)
        self._log = QueryLog(Path(settings.query_log)) if settings.query_log else None
        self._max_answer_bytes = settings.max_answer_bytes
        self._limits = Limits(nodes=settings.max_nodes, literal_bytes=settings.max_literal_bytes)

    def info(self) -> ServiceInfo:
        """Return the service's version and protocol version."""
        return ServiceInfo(protocolVersion=PROTOCOL_VERSION, version=version())

    def prune(self, request: ttypes.PruneRequest) -> PruneResponse:
        """Return which files cannot match; errors become the response's status."""
        with spending_as_a_question():
            return _answered(request, self._prune, self._metrics)

    def announce(self, request: ttypes.PruneRequest) -> int:
        """Load what a question needs, in the background; return a status."""
        return _noticed(request, self._announce)

    def _announce(self, request: ttypes.PruneRequest) -> None:
        question = self._question(request)
        self._announcements.take(self._path(request.basePath), question)

    def _path(self, table: str) -> str:
        if not is_of_this_job(table):
            raise BadRequestError("the request names two tables")
        return self._roots.resolve(table)

    def _question(self, request: ttypes.PruneRequest) -> PruneRequest:
        semantics = decode_semantics(request.semantics)
        predicate, reader = self._condition(request, semantics)
        return PruneRequest(
            predicate=predicate,
            view=_view(request),
            semantics=semantics,
            as_of=request.asOfInstant,
            reader=reader,
        )

    def _prune(self, request: ttypes.PruneRequest, response: PruneResponse) -> str | None:
        started = time.perf_counter_ns()
        prune_request = self._question(request)
        base_path = self._path(request.basePath)
        check_wanted()
        self._await_opening(base_path, prune_request, request.patienceMillis)
        snapshot = self._pruner.open(
            base_path, prune_request.view, prune_request.as_of, asked=asked_at()
        )
        self._metrics.staleness.opened(base_path, snapshot)
        with taking_turns(self._evaluating):
            result = self._pruner.prune_snapshot(snapshot, prune_request)
            # Enough rows are in the listed slices of one state. Verdicts are about files of any
            # state, so they stay those of the filter.
            listed = narrowed(self._pruner, snapshot, prune_request, result, wanted_rows(request))
            add_known_rows(response, request, self._pruner, snapshot, prune_request, result)
        check_wanted()
        _check_as_new(result, request)
        self._metrics.count_result(request.basePath, listed)
        if self._log is not None:
            self._log.add(request.basePath, prune_request.predicate)
        response.instant = result.instant
        response.verdicts = verdicts(result)
        notes = self._select_rows(listed, snapshot, request, response)
        response.message = "; ".join([*result.notes, *notes]) or None
        elapsed_micros = (time.perf_counter_ns() - started) // 1000
        rows = listed.rows_kept(snapshot.row_counts()) if request.countRows else None
        response.counts = counts(listed, elapsed_micros, rows)
        if request.listKept:
            response.kept = kept_slices(listed, snapshot.table.timeline)
        if request.describeColumns:
            response.columns = [to_thrift(summary) for summary in snapshot.column_summaries()]
        return "; ".join([*_without_literals(result), *notes]) or None

    def _await_opening(self, base_path: str, question: PruneRequest, millis: int | None) -> None:
        """Wait for a table that is not open yet, as long as the caller has time for an answer."""
        if millis is None:
            return
        left = asked_at() + _OF_PATIENCE * millis / 1e3 - time.monotonic()
        if not self._openings.open(base_path, question, left):
            raise _NotPrunedError(
                "opening",
                f"{base_path}: the table is being opened, so nothing is pruned yet; that goes on,"
                f" longer than the {millis} ms for which the caller waits",
            )

    def _condition(
        self, request: ttypes.PruneRequest, semantics: Semantics
    ) -> tuple[HudiExpression, PartitionReader]:
        """Return the filter, and how the caller reads partition columns."""
        if request.sparkCondition is None:
            return decode(request.filter, self._limits), PartitionReader.ENGINE
        condition = request.sparkCondition
        return decode_spark(condition, semantics, self._limits), reader_of(condition)

    def _select_rows(
        self,
        result: PruneResult,
        snapshot: TableSnapshot,
        request: ttypes.PruneRequest,
        response: PruneResponse,
    ) -> Sequence[str]:
        """Answer with the rows of kept files, if they are requested; return notes."""
        if not request.selectRows:
            return ()
        kept = self._row_evaluator.rows(result, snapshot.table)
        self._metrics.count_rows(kept)
        response.selectedRows = selected_rows(kept, result.listing) or None
        return kept.notes

    def metadata(self, request: ttypes.MetadataRequest) -> MetadataResponse:
        """Return rows that describe a table; errors become the response's status."""
        with spending_as_a_question():
            return _described(request, self._describe, self._metrics)

    def _describe(self, request: ttypes.MetadataRequest, response: MetadataResponse) -> None:
        view, filter_ = view_named(request.view), decode(request.filter, self._limits)
        base_path = self._path(request.basePath)
        snapshot = self._pruner.open(base_path)
        with taking_turns(self._evaluating):
            found = metadata_rows(view, snapshot, filter_, decode_semantics(request.semantics))
        response.columns = metadata_columns(found, request.columns, self._max_answer_bytes)
        response.rowsConsidered, response.rowsSent = found.considered, len(found.rows)


class RefusingHandler(PruningService.Iface):  # type: ignore[misc]
    """A handler that does not prune: it always answers NOT_PRUNED."""

    def __init__(self, reason: str, message: str, metrics: Metrics) -> None:
        self._error = reason, message
        self._metrics = metrics

    def info(self) -> ServiceInfo:
        """Return the service's version and protocol version."""
        return ServiceInfo(protocolVersion=PROTOCOL_VERSION, version=version())

    def prune(self, request: ttypes.PruneRequest) -> PruneResponse:
        """Return NOT_PRUNED."""
        return _answered(request, self._refused, self._metrics)

    def announce(self, request: ttypes.PruneRequest) -> int:
        """Return NOT_PRUNED, and load nothing."""
        return int(PruneStatus.NOT_PRUNED)

    def metadata(self, request: ttypes.MetadataRequest) -> MetadataResponse:
        """Return FAILED, with the reason."""
        return _described(request, self._refused, self._metrics)

    def _refused(self, request: object, response: object) -> NoReturn:
        raise _NotPrunedError(*self._error)


def _answered(
    request: ttypes.PruneRequest,
    evaluate: Callable[[ttypes.PruneRequest, PruneResponse], str | None],
    metrics: Metrics,
) -> PruneResponse:
    """Return the response that `evaluate` fills, or the status for its exception; count and log it.

    `evaluate` returns what may be logged of the response's message.
    """
    started = time.perf_counter_ns()
    request = request or ttypes.PruneRequest()
    response = PruneResponse(
        protocolVersion=PROTOCOL_VERSION,
        requestId=request.requestId or "",
        basePath=request.basePath or "",
        status=PruneStatus.OK,
    )
    reason = note = None
    try:
        _check_request(request)
        note = evaluate(request, response)
    except _OtherVersionError as error:
        reason = "other_version"
        _failed(response, PruneStatus.UNSUPPORTED_VERSION, str(error))
    except (BadRequestError, RootError) as error:
        reason = "outside_of_roots" if isinstance(error, RootError) else "bad_request"
        _failed(response, PruneStatus.BAD_REQUEST, str(error))
    except _NotPrunedError as error:
        reason = error.reason
        _failed(response, PruneStatus.NOT_PRUNED, str(error))
    except (MissingKey, MissingKeyColumn) as error:
        reason = "no_keys"
        _failed(response, PruneStatus.BAD_REQUEST, str(error))
    except HudiError as error:
        reason = _REASONS.get(type(error), "table_unreadable")
        _failed(response, PruneStatus.NOT_PRUNED, str(error))
    except Exception as error:
        reason = "failed"
        _failed(response, PruneStatus.FAILED, f"{type(error).__name__} in the service, see its log")
        _log_failure(response.requestId, response.basePath, error)
    seconds = (time.perf_counter_ns() - started) / 1e9
    note = note if reason is None else response.message
    metrics.answered(response, seconds, reason, note)
    _logged(response, note, seconds * 1e3)
    return response


def _noticed(request: ttypes.PruneRequest, notice: Callable[[ttypes.PruneRequest], None]) -> int:
    """Return the status of an announcement that `notice` takes, or that of its exception."""
    try:
        _check_request(request)
        notice(request)
    except _OtherVersionError:
        return int(PruneStatus.UNSUPPORTED_VERSION)
    except (BadRequestError, RootError):
        return int(PruneStatus.BAD_REQUEST)
    except Exception as error:
        _log_failure(request.requestId, request.basePath, error)
        return int(PruneStatus.FAILED)
    return int(PruneStatus.OK)


def _described(
    request: ttypes.MetadataRequest,
    describe: Callable[[ttypes.MetadataRequest, MetadataResponse], None],
    metrics: Metrics,
) -> MetadataResponse:
    """Return the response that `describe` fills, or the status for its exception; log it."""
    started = time.perf_counter_ns()
    request = request or ttypes.MetadataRequest()
    response = MetadataResponse(
        protocolVersion=PROTOCOL_VERSION,
        requestId=request.requestId or "",
        basePath=request.basePath or "",
        status=PruneStatus.OK,
    )
    try:
        _check_request(request)
        describe(request, response)
    except _OtherVersionError as error:
        response.status, response.message = PruneStatus.UNSUPPORTED_VERSION, str(error)
    except (BadRequestError, RootError) as error:
        response.status, response.message = PruneStatus.BAD_REQUEST, str(error)
    except (_NotPrunedError, HudiError) as error:
        response.status, response.message = PruneStatus.FAILED, str(error)
    except Exception as error:
        response.status = PruneStatus.FAILED
        response.message = f"{type(error).__name__} in the service, see its log"
        _log_failure(response.requestId, response.basePath, error)
    if response.status != PruneStatus.OK:
        response.columns = response.rowsConsidered = response.rowsSent = None
    status = PruneStatus._VALUES_TO_NAMES[response.status]
    metrics.described(status)
    event = {"request": response.requestId, "table": response.basePath, "status": status}
    event["ms"] = round((time.perf_counter_ns() - started) / 1e6, 1)
    if response.status == PruneStatus.OK:
        sent = {"considered": response.rowsConsidered, "sent": response.rowsSent}
        _log.info("metadata", view=request.view, **event, **sent)
    else:
        _log.warning("metadata", view=request.view, **event, reason=response.message)
    return response


def _log_failure(request: str, table: str, error: Exception) -> None:
    """Log an error without its own text, which may be a literal."""
    _log.error(
        "request failed",
        request=request,
        table=table,
        error=type(error).__name__,
        trace="".join(traceback.format_tb(error.__traceback__)),
    )


def _check_request(request: ttypes.PruneRequest | ttypes.MetadataRequest) -> None:
    if request.protocolVersion != PROTOCOL_VERSION:
        raise _OtherVersionError(
            f"the service speaks version {PROTOCOL_VERSION} of the protocol, "
            f"the caller {request.protocolVersion}"
        )
    if request.requestId is None or not request.basePath or request.filter is None:
        raise BadRequestError("the request lacks its id, the table's base path or the filter")


def _view(request: ttypes.PruneRequest) -> TableView:
    view = _VIEWS.get(request.view)
    if view is None:
        raise BadRequestError(f"the view {request.view} is unknown")
    return view


def _check_as_new(result: PruneResult, request: ttypes.PruneRequest) -> None:
    """Refuse a view of the table that is older than the caller's."""
    newest, as_of = request.newestInstant, request.asOfInstant
    if not newest or (as_of and newest > as_of):
        return
    if result.instant is None or result.instant < newest:
        raise _NotPrunedError(
            "older_view",
            f"the caller knows instant {newest}, the service sees {result.instant} only",
        )


def _failed(response: PruneResponse, status: int, message: str) -> None:
    response.status, response.message = status, message
    response.instant = response.verdicts = response.counts = None
    response.columns = response.kept = response.selectedRows = None
    response.matching = response.counted = None


def _without_literals(result: PruneResult) -> list[str]:
    """Return the notes for the log, with a count instead of notes that quote the predicate."""
    quoting = frozenset(unknown_reasons(result.predicate) if result.notes else ())
    notes = [note for note in result.notes if note not in quoting]
    return notes + ([f"parts of the filter not supported: {len(quoting)}"] if quoting else [])


def _logged(response: PruneResponse, note: str | None, millis: float) -> None:
    done = response.counts
    event = {
        "request": response.requestId,
        "table": response.basePath,
        "status": PruneStatus._VALUES_TO_NAMES[response.status],
        "ms": round(millis, 1),
    }
    if done is not None:
        event |= {"considered": done.filesConsidered, "dropped": done.filesDropped}
    if note:
        event["reason"] = note
    log = _log.info if response.status == PruneStatus.OK else _log.warning
    log("prune", **event)
