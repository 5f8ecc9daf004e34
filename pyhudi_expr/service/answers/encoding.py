"""Responses of the protocol, made of the service's answers: the one place that does it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from pyhudi_expr.index.limits.equal_rows import EqualRows
from pyhudi_expr.index.statistics.column_summaries import ColumnSummary
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import MetadataResponse, PruneResponse, PruneStatus
from pyhudi_expr.service.answers.answer import Answer
from pyhudi_expr.service.answers.known_rows import MatchingRows
from pyhudi_expr.service.answers.refusals import Refusal
from pyhudi_expr.service.column_summaries import literal, to_thrift
from pyhudi_expr.service.metadata_rows import MetadataRows
from pyhudi_expr.service.metadata_rows import to_thrift as metadata_columns
from pyhudi_expr.service.selected_rows import selected_rows
from pyhudi_expr.service.verdicts import counts, kept_slices, verdicts

_Part = TypeVar("_Part")
_Sent = TypeVar("_Sent")


def encode_answer(request: ttypes.PruneRequest, answer: Answer, started: int) -> PruneResponse:
    """Return the response of an answer about files.

    Args:
        request: The question.
        answer: What was found out for it.
        started: When the service began with it, of `time.perf_counter_ns`.
    """
    result, listed, selected = answer.result, answer.listed, answer.selected
    sent = verdicts(result)
    rows = _encoded(selected, lambda kept: selected_rows(kept, listed.listing))
    elapsed_micros = (time.perf_counter_ns() - started) // 1000
    return PruneResponse(
        protocolVersion=PROTOCOL_VERSION,
        requestId=request.requestId,
        basePath=request.basePath,
        status=PruneStatus.OK,
        message=answer.message,
        instant=result.instant,
        verdicts=sent,
        counts=counts(listed, elapsed_micros, answer.rows_kept),
        columns=_encoded(answer.columns, _columns),
        kept=_encoded(answer.timeline, lambda timeline: kept_slices(listed, timeline)),
        selectedRows=rows or None,
        matching=_encoded(answer.matching, _matching),
        counted=_encoded(answer.counted, _counted),
    )


def encode_refusal(request: ttypes.PruneRequest, refusal: Refusal) -> PruneResponse:
    """Return the response of a question without an answer."""
    return PruneResponse(
        protocolVersion=PROTOCOL_VERSION,
        requestId=request.requestId or "",
        basePath=request.basePath or "",
        status=refusal.status,
        message=refusal.message,
    )


def encode_metadata(
    request: ttypes.MetadataRequest, found: MetadataRows, most_bytes: int
) -> MetadataResponse:
    """Return the response with rows that describe a table.

    Args:
        request: The question.
        found: The rows.
        most_bytes: Limit of their size.

    Raises:
        HudiError: They are too large.
    """
    return MetadataResponse(
        protocolVersion=PROTOCOL_VERSION,
        requestId=request.requestId,
        basePath=request.basePath,
        status=PruneStatus.OK,
        columns=metadata_columns(found, request.columns, most_bytes),
        rowsConsidered=found.considered,
        rowsSent=len(found.rows),
    )


def encode_metadata_refusal(request: ttypes.MetadataRequest, refusal: Refusal) -> MetadataResponse:
    """Return the response of a question about a table that has no answer."""
    return MetadataResponse(
        protocolVersion=PROTOCOL_VERSION,
        requestId=request.requestId or "",
        basePath=request.basePath or "",
        status=refusal.status,
        message=refusal.message,
    )


def _encoded(part: _Part | None, encode: Callable[[_Part], _Sent | None]) -> _Sent | None:
    """Return a part of an answer as it is sent; None if it was not asked for, or is not known."""
    return None if part is None else encode(part)


def _columns(found: Sequence[ColumnSummary]) -> list[ttypes.ColumnSummary]:
    return [to_thrift(summary) for summary in found]


def _matching(found: MatchingRows) -> ttypes.MatchingRows:
    return ttypes.MatchingRows(rows=found.rows, columns=_columns(found.columns))


def _counted(found: EqualRows) -> list[ttypes.EqualRows]:
    return [
        ttypes.EqualRows(
            values=[
                literal(value, column) for value, column in zip(values, found.columns, strict=True)
            ],
            rows=rows,
        )
        for values, rows in found.rows.items()
    ]
