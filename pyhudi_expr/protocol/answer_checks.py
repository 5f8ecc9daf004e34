"""Whether an answer is about what was asked: a wrong one may come from anything that listens there.

What an answer proves is only as good as its being about this request, this table and no older state
than the caller's; a name in it is joined to the table's path, and must stay below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from thrift.Thrift import TApplicationException

from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import (
    KeptSlices,
    MetadataRequest,
    MetadataResponse,
    PruneRequest,
    PruneResponse,
    PruneStatus,
)


class WrongAnswerError(TApplicationException):  # type: ignore[misc]
    """An answer that is not about the request."""

    def __init__(self, message: str) -> None:
        super().__init__(TApplicationException.PROTOCOL_ERROR, message)


def check_whose(
    request: PruneRequest | MetadataRequest, answer: PruneResponse | MetadataResponse
) -> None:
    """Check that an answer is for this request and table. Raises WrongAnswerError."""
    asked = request.requestId or "", request.basePath or ""
    if (answer.requestId, answer.basePath) != asked:
        raise WrongAnswerError(
            f"the answer is for the request {answer.requestId!r:.80} about"
            f" {answer.basePath!r:.200}, and not for {asked[0]!r} about {asked[1]!r}"
        )
    is_other = answer.status == PruneStatus.UNSUPPORTED_VERSION
    if not is_other and answer.protocolVersion != PROTOCOL_VERSION:
        raise WrongAnswerError(
            f"the answer has version {answer.protocolVersion} of the protocol, and not"
            f" {PROTOCOL_VERSION}"
        )


def check_answer(request: PruneRequest, answer: PruneResponse) -> None:
    """Check that an answer is for this request, its table and its state, and names files below it.

    Raises:
        WrongAnswerError: It is not.
    """
    check_whose(request, answer)
    if answer.status == PruneStatus.OK:
        _check_state(request, answer.instant)
        for name in _names(answer):
            if not _is_below(name):
                raise WrongAnswerError(
                    f"the answer about {request.basePath!r} names {name!r:.200}, which is not below"
                    " the table"
                )


def _check_state(request: PruneRequest, instant: str | None) -> None:
    newest, as_of = request.newestInstant, request.asOfInstant
    if as_of and instant and instant > as_of:
        raise WrongAnswerError(
            f"the answer about {request.basePath!r} is of instant {instant!r:.40}, after {as_of}"
        )
    if newest and not (as_of and newest > as_of) and (instant or "") < newest:
        raise WrongAnswerError(
            f"the answer about {request.basePath!r} is of instant {instant!r:.40}, before {newest}"
        )


def _names(answer: PruneResponse) -> Iterator[str]:
    for verdict in answer.verdicts or ():
        yield verdict.partitionPath
        yield from verdict.tokens or ()
    yield from _kept_names(answer.kept)
    for rows in answer.selectedRows or ():
        yield rows.partitionPath
        yield rows.fileName


def _kept_names(kept: KeptSlices | None) -> Iterable[str]:
    return () if kept is None else (*kept.partitions, *kept.fileIds, *kept.fileNames)


def _is_below(name: str) -> bool:
    """Return whether a name of a partition or a file, joined to the table's path, is below it."""
    return not name.startswith("/") and "\0" not in name and ".." not in name.split("/")
