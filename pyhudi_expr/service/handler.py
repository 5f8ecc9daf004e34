"""Handle the service's requests: check, prune and log them. Nothing is ever raised."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, NoReturn

import structlog

from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import Semantics
from pyhudi_expr.index.kept_rows import KeptRows, RowEvaluator, RowOptions
from pyhudi_expr.index.limits.narrowing import narrowed
from pyhudi_expr.index.limits.sure_rows import equal_rows
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
from pyhudi_expr.service.answers.answer import (
    Answer,
    NotPrunedError,
    OtherVersionError,
    described_matching,
    metadata_refusal,
    refusal,
)
from pyhudi_expr.service.answers.encoding import (
    encode_answer,
    encode_metadata,
    encode_metadata_refusal,
    encode_refusal,
)
from pyhudi_expr.service.answers.openings import Announcements, Openings
from pyhudi_expr.service.answers.questions import decode_spark, reader_of, wanted_rows
from pyhudi_expr.service.jobs import asked_at, check_wanted, is_of_this_job, taking_turns
from pyhudi_expr.service.metadata_rows import metadata_rows, view_named
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.query_log import QueryLog
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.service.table_roots import TableRoots
from pyhudi_expr.tables.keys.key_storage import ignores_keys
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.parsing.budget import spending_as_a_question
from pyhudi_expr.tables.properties import StatedBuckets

_VIEWS = {
    ttypes.TableView.SNAPSHOT: TableView.SNAPSHOT,
    ttypes.TableView.READ_OPTIMIZED: TableView.READ_OPTIMIZED,
}
_log: Any = structlog.get_logger()


#: The part of a caller's time after which the answer says that a table is still being opened; it
#: has to reach the caller.
_OF_PATIENCE = 0.8

#: Evaluations hold Python's lock most of the time: more of them at once only take turns.
_EVALUATIONS = 4


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
            return _answered(request, self._answer, self._metrics)

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
            buckets=StatedBuckets.of(request.catalogProperties or {}),
        )

    def _answer(self, request: ttypes.PruneRequest) -> Answer:
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
            described, counted = request.describeMatching, request.countBy
            matching = (
                None
                if described is None
                else described_matching(self._pruner, snapshot, prune_request, result, described)
            )
            equal = (
                None if counted is None else equal_rows(snapshot, prune_request, result, counted)
            )
        check_wanted()
        _check_as_new(result, request)
        self._metrics.count_result(request.basePath, listed)
        if self._log is not None:
            self._log.add(request.basePath, prune_request.predicate, prune_request.semantics)
        return Answer(
            result=result,
            listed=listed,
            rows_kept=listed.rows_kept(snapshot.row_counts()) if request.countRows else None,
            timeline=snapshot.table.timeline if request.listKept else None,
            selected=self._selected(listed, snapshot) if request.selectRows else None,
            matching=matching,
            counted=equal,
            columns=snapshot.column_summaries() if request.describeColumns else None,
            ignores_keys=ignores_keys(snapshot.table),
        )

    def _await_opening(self, base_path: str, question: PruneRequest, millis: int | None) -> None:
        """Wait for a table that is not open yet, as long as the caller has time for an answer."""
        if millis is None:
            return
        left = asked_at() + _OF_PATIENCE * millis / 1e3 - time.monotonic()
        if not self._openings.open(base_path, question, left):
            raise NotPrunedError(
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

    def _selected(self, listed: PruneResult, snapshot: TableSnapshot) -> KeptRows:
        """Return the rows of the listed files that can match."""
        kept = self._row_evaluator.rows(listed, snapshot.table)
        self._metrics.count_rows(kept)
        return kept

    def metadata(self, request: ttypes.MetadataRequest) -> MetadataResponse:
        """Return rows that describe a table; errors become the response's status."""
        with spending_as_a_question():
            return _described(request, self._describe, self._metrics)

    def _describe(self, request: ttypes.MetadataRequest) -> MetadataResponse:
        view, filter_ = view_named(request.view), decode(request.filter, self._limits)
        base_path = self._path(request.basePath)
        snapshot = self._pruner.open(base_path)
        with taking_turns(self._evaluating):
            found = metadata_rows(view, snapshot, filter_, decode_semantics(request.semantics))
        return encode_metadata(request, found, self._max_answer_bytes)


def row_options(settings: ServiceSettings) -> RowOptions:
    """Return which files are evaluated, by the settings."""
    return RowOptions(
        most_files=settings.row_files,
        least_bytes=settings.row_file_bytes,
        seconds=settings.row_seconds,
        cache_bytes=settings.row_cache_bytes,
    )


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

    def _refused(self, request: object) -> NoReturn:
        raise NotPrunedError(*self._error)


def _answered(
    request: ttypes.PruneRequest,
    answer: Callable[[ttypes.PruneRequest], Answer],
    metrics: Metrics,
) -> PruneResponse:
    """Return the response with the answer, or the refusal for its exception; count and log it."""
    started = time.perf_counter_ns()
    request = request or ttypes.PruneRequest()
    reason: str | None = None
    try:
        _check_request(request)
        found = answer(request)
        response, note = encode_answer(request, found, started), found.note
    except Exception as error:
        refused = refusal(error)
        response = encode_refusal(request, refused)
        reason, note = refused.reason, refused.message
        if refused.status == PruneStatus.FAILED:
            _log_failure(response.requestId, response.basePath, error)
    seconds = (time.perf_counter_ns() - started) / 1e9
    metrics.answered(response, seconds, reason, note)
    _logged(response, note, seconds * 1e3)
    return response


def _noticed(request: ttypes.PruneRequest, notice: Callable[[ttypes.PruneRequest], None]) -> int:
    """Return the status of an announcement that `notice` takes, or that of its exception."""
    try:
        _check_request(request)
        notice(request)
    except Exception as error:
        status = refusal(error).status
        if status == PruneStatus.FAILED:
            _log_failure(request.requestId, request.basePath, error)
        return int(status)
    return int(PruneStatus.OK)


def _described(
    request: ttypes.MetadataRequest,
    describe: Callable[[ttypes.MetadataRequest], MetadataResponse],
    metrics: Metrics,
) -> MetadataResponse:
    """Return the response that describes a table, or the refusal for its exception; log it."""
    started = time.perf_counter_ns()
    request = request or ttypes.MetadataRequest()
    try:
        _check_request(request)
        response = describe(request)
    except Exception as error:
        response = encode_metadata_refusal(request, metadata_refusal(error))
        if refusal(error).status == PruneStatus.FAILED:
            _log_failure(response.requestId, response.basePath, error)
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
        raise OtherVersionError(
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
        raise NotPrunedError(
            "older_view",
            f"the caller knows instant {newest}, the service sees {result.instant} only",
        )


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
