"""What the service answers: requests are checked, judged and logged; nothing is ever raised."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable
from typing import Any

import structlog

from pyhudi_expr.frontend.thrift import BadRequestError, Limits, decode
from pyhudi_expr.protocol import PruningService, ttypes
from pyhudi_expr.protocol.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.ttypes import PruneResponse, PruneStatus, ServiceInfo
from pyhudi_expr.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.service.roots import RootError, TableRoots
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.service.verdicts import counts, verdicts
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.listing import TableView

_VIEWS = {
    ttypes.TableView.SNAPSHOT: TableView.SNAPSHOT,
    ttypes.TableView.READ_OPTIMIZED: TableView.READ_OPTIMIZED,
}
_log: Any = structlog.get_logger()


class _NotPrunedError(Exception):
    """Why nothing is proved."""


class PruningHandler(PruningService.Iface):  # type: ignore[misc]
    """The service's two calls; thread safe."""

    def __init__(self, pruner: Pruner, settings: ServiceSettings) -> None:
        self._pruner = pruner
        self._roots = TableRoots(settings.table_roots)
        self._limits = Limits(nodes=settings.max_nodes, literal_bytes=settings.max_literal_bytes)

    def info(self) -> ServiceInfo:
        """Who answers, and in which version."""
        return ServiceInfo(protocolVersion=PROTOCOL_VERSION, version=version())

    def prune(self, request: ttypes.PruneRequest) -> PruneResponse:
        """Which files cannot match; what goes wrong is told by the status."""
        return answered(request, self._judged)

    def _judged(self, request: ttypes.PruneRequest, response: PruneResponse) -> None:
        begun = time.perf_counter_ns()
        question = PruneRequest(
            predicate=decode(request.filter, self._limits),
            view=_view(request),
            zone=request.timeZone,
            as_of=request.asOfInstant,
        )
        result = self._pruner.prune(self._roots.resolve(request.basePath), question)
        _check_as_new(result, request)
        response.instant = result.instant
        response.verdicts = verdicts(result)
        response.message = "; ".join(result.notes) or None
        response.counts = counts(result, (time.perf_counter_ns() - begun) // 1000)


class BusyHandler(PruningService.Iface):  # type: ignore[misc]
    """Answers for the service when too many requests wait already."""

    def info(self) -> ServiceInfo:
        """Who answers, and in which version."""
        return ServiceInfo(protocolVersion=PROTOCOL_VERSION, version=version())

    def prune(self, request: ttypes.PruneRequest) -> PruneResponse:
        """NOT_PRUNED."""
        return answered(request, self._refused)

    @staticmethod
    def _refused(request: ttypes.PruneRequest, response: PruneResponse) -> None:
        raise _NotPrunedError("the service is busy: too many requests wait")


def version() -> str:
    """The package's version."""
    return importlib.metadata.version("pyhudi-expr")


def answered(
    request: ttypes.PruneRequest, judge: Callable[[ttypes.PruneRequest, PruneResponse], None]
) -> PruneResponse:
    """The response that `judge` fills, or the status for what it raises; logged as one line."""
    begun = time.perf_counter_ns()
    request = request or ttypes.PruneRequest()
    response = PruneResponse(
        protocolVersion=PROTOCOL_VERSION,
        requestId=request.requestId or "",
        basePath=request.basePath or "",
        status=PruneStatus.OK,
    )
    try:
        _check_request(request, response)
        if response.status == PruneStatus.OK:
            judge(request, response)
    except (BadRequestError, RootError) as error:
        _failed(response, PruneStatus.BAD_REQUEST, str(error))
    except (HudiError, _NotPrunedError) as error:
        _failed(response, PruneStatus.NOT_PRUNED, str(error))
    except Exception as error:
        _failed(response, PruneStatus.FAILED, f"{type(error).__name__} in the service, see its log")
        _log.exception("request failed", request=response.requestId, table=response.basePath)
    _logged(response, (time.perf_counter_ns() - begun) / 1e6)
    return response


def _check_request(request: ttypes.PruneRequest, response: PruneResponse) -> None:
    if request.protocolVersion != PROTOCOL_VERSION:
        _failed(
            response,
            PruneStatus.UNSUPPORTED_VERSION,
            f"the service speaks version {PROTOCOL_VERSION} of the protocol, "
            f"the caller {request.protocolVersion}",
        )
    elif request.requestId is None or not request.basePath or request.filter is None:
        raise BadRequestError("the request lacks its id, the table's base path or the filter")


def _view(request: ttypes.PruneRequest) -> TableView:
    view = _VIEWS.get(request.view)
    if view is None:
        raise BadRequestError(f"the view {request.view} is unknown")
    return view


def _check_as_new(result: PruneResult, request: ttypes.PruneRequest) -> None:
    """An older view of the table than the caller's is no answer."""
    newest, as_of = request.newestInstant, request.asOfInstant
    if not newest or (as_of and newest > as_of):
        return
    if result.instant is None or result.instant < newest:
        raise _NotPrunedError(
            f"the caller knows instant {newest}, the service sees {result.instant} only"
        )


def _failed(response: PruneResponse, status: int, message: str) -> None:
    response.status, response.message = status, message
    response.instant = response.verdicts = response.counts = None


def _logged(response: PruneResponse, millis: float) -> None:
    done = response.counts
    event = {
        "request": response.requestId,
        "table": response.basePath,
        "status": PruneStatus._VALUES_TO_NAMES[response.status],
        "ms": round(millis, 1),
    }
    if done is not None:
        event |= {"considered": done.filesConsidered, "dropped": done.filesDropped}
    if response.message:
        event["reason"] = response.message
    log = _log.info if response.status == PruneStatus.OK else _log.warning
    log("prune", **event)
