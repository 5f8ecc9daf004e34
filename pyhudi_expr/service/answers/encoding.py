"""Encode answers as the protocol's responses: the one place where these are made."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import Int64Array, string_list
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Kind
from pyhudi_expr.expr.frontend.common.constants import type_name
from pyhudi_expr.expr.nodes import Literal, PythonValue
from pyhudi_expr.index.kept_rows import KeptRows
from pyhudi_expr.index.limits.sure_rows import EqualRows
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.index.row_counts import RowCount
from pyhudi_expr.index.statistics.column_summaries import ColumnSummary
from pyhudi_expr.protocol.conversion.literals import encode_literal
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import (
    KeptSlices,
    MetadataResponse,
    PartitionVerdict,
    PruneCounts,
    PruneResponse,
    PruneStatus,
    SelectedRows,
    VerdictKind,
)
from pyhudi_expr.service.answers.answer import NO_KEYS, Answer, MatchingRows, Refusal
from pyhudi_expr.service.metadata_rows import MetadataRows
from pyhudi_expr.service.metadata_rows import to_thrift as metadata_columns
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.positions import ranges
from pyhudi_expr.tables.timeline import Timeline

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
        ignoresKeys=answer.ignores_keys or None,
    )


def encode_refusal(request: ttypes.PruneRequest, refusal: Refusal) -> PruneResponse:
    """Return the response of a question without an answer."""
    lacks_keys = refusal.reason == NO_KEYS or None
    return PruneResponse(**_refused(request, refusal), lacksKeys=lacks_keys)


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
    return MetadataResponse(**_refused(request, refusal))


def _refused(
    request: ttypes.PruneRequest | ttypes.MetadataRequest, refusal: Refusal
) -> dict[str, Any]:
    """Return the fields of every response without an answer; a request may lack its own."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "requestId": request.requestId or "",
        "basePath": request.basePath or "",
        "status": refusal.status,
        "message": refusal.message,
    }


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


_NANOS = 10**9
#: Types whose bounds may be truncated, so that they are not values.
_MAY_BE_CUT = frozenset({Kind.TEXT, Kind.BINARY})


def to_thrift(summary: ColumnSummary) -> ttypes.ColumnSummary:
    """Return a summary in the protocol's form."""
    column = summary.column
    sent = ttypes.ColumnSummary(
        name=column.name,
        nulls=summary.nulls,
        distinct=summary.distinct,
        length=summary.length,
        keptByEquality=summary.kept_by_equality,
    )
    may_be_cut = column.domain.kind in _MAY_BE_CUT and not summary.attained
    if summary.least is not None and not may_be_cut:
        sent.least = literal(summary.least, column)
        sent.greatest = literal(summary.greatest, column)
        sent.attained = summary.attained
    return sent


def literal(value: PythonValue, column: BoundColumn) -> ttypes.Literal:
    """Return a value of a column, in the units of its domain, in the protocol's form."""
    if column.domain.kind in (Kind.WALL_CLOCK, Kind.INSTANT):
        seconds, units = divmod(value, column.domain.units)
        nanos = units * (_NANOS // column.domain.units)
        return ttypes.Literal(type=type_name(column.type), epochSeconds=seconds, nanos=nanos)
    if column.domain.kind is Kind.DATE:
        return ttypes.Literal(type=type_name(column.type), epochDays=value)
    if column.domain.kind is Kind.TEXT:
        value = value.decode()
    value = bool(value) if pa.types.is_boolean(column.type) else value
    return encode_literal(Literal(value, column.type))


def selected_rows(kept: KeptRows, listing: FileListing) -> list[SelectedRows]:
    """Return the files that need not be read whole, with their rows that can match."""
    names = string_list(listing.file_name.take(pa.array(kept.files)))
    partitions = listing.file_partition[kept.files].tolist()
    answer = []
    for rows, name, partition in zip(kept.rows, names, partitions, strict=True):
        if rows.is_whole:
            continue
        footer = rows.file.footer
        answer.append(
            SelectedRows(
                partitionPath=listing.partition_paths[partition],
                fileName=name,
                fileSize=footer.size,
                footerDigest=footer.digest,
                rangeStarts=rows.starts.tolist(),
                rangeEnds=rows.ends.tolist(),
                rowGroupRows=footer.group_rows.tolist(),
                rowGroupOffsets=footer.group_offsets.tolist(),
                rowGroupBytes=footer.group_bytes.tolist(),
            )
        )
    return answer


MOST_FILES = 10_000
"""A list of so many takes 2 MB and 10 ms; reading more takes far longer than listing them."""
_DIGEST_BYTES = 32
_NO_VERDICT = 0
_MOST_KNOWN = 20_000
"""Verdicts about whole partitions that are kept for a listing, of some 200 bytes each."""


def verdicts(result: PruneResult) -> list[PartitionVerdict]:
    """Return one verdict for each partition of which something is dropped.

    A partition that its own values exclude is dropped whole. For others it has, whichever is
    shorter, the tokens of the dropped files, or those of the kept ones with the digest of the
    listing (the digest alone if none is kept).
    """
    if result.files_kept == result.files_total:
        return []
    plan, whole = _plan(result), _whole_partitions(result.listing)
    named = _with_tokens(result.listing, plan) if len(plan.sent) else {}
    return [
        named.get(index) or whole[index, kind]
        for index, kind in enumerate(plan.kinds.tolist())
        if kind != _NO_VERDICT
    ]


def _with_tokens(listing: FileListing, plan: _Plan) -> dict[int, PartitionVerdict]:
    """Return the verdicts that name files, by the positions of their partitions."""
    texts, begin = listing.token_texts(plan.sent), 0
    found: dict[int, PartitionVerdict] = {}
    partitions = np.flatnonzero(plan.sent_of_partition)
    ends = np.cumsum(plan.sent_of_partition[partitions])
    for index, end in zip(partitions.tolist(), ends.tolist(), strict=True):
        kind = int(plan.kinds[index])
        digest = listing.digest(index) if kind == VerdictKind.KEEP_TOKENS else None
        path = listing.partition_paths[index]
        found[index] = PartitionVerdict(path, kind, texts[begin:end], digest)
        begin = end
    return found


class _WholePartitions(dict[tuple[int, int], PartitionVerdict]):
    """The verdicts that drop all files of a partition, by its position and the verdict's kind.

    They are the same in each answer: to make some dozens of them takes longer than to find the few
    partitions for which another one is due.
    """

    def __init__(self, listing: FileListing) -> None:
        super().__init__()
        # Not the listing itself, which would keep its own entry below alive.
        self._listing = weakref.ref(listing)

    def __missing__(self, key: tuple[int, int]) -> PartitionVerdict:
        listing, (index, kind) = self._listing(), key
        assert listing is not None
        digest = listing.digest(index) if kind == VerdictKind.DROP_LISTED else None
        found = PartitionVerdict(listing.partition_paths[index], kind, None, digest)
        if len(self) < _MOST_KNOWN:
            self[key] = found
        return found


_known: weakref.WeakKeyDictionary[FileListing, _WholePartitions] = weakref.WeakKeyDictionary()


def _whole_partitions(listing: FileListing) -> _WholePartitions:
    known = _known.get(listing)
    if known is None:
        known = _known[listing] = _WholePartitions(listing)
    return known


def counts(result: PruneResult, elapsed_micros: int, rows: RowCount | None) -> PruneCounts:
    """Return the counts of considered and dropped files; `rows` are those kept, if known."""
    partitions = len(result.listing.partitions)
    return PruneCounts(
        filesConsidered=result.files_total,
        filesDropped=result.files_total - result.files_kept,
        partitionsConsidered=partitions,
        partitionsDropped=partitions - _kept_partitions(result),
        bytesConsidered=result.bytes_total,
        bytesDropped=result.bytes_total - result.bytes_kept,
        elapsedMicros=elapsed_micros,
        filesDroppedBy=dict(result.dropped_by),
        rowsKept=rows.rows if rows else None,
        rowsAreExact=rows.exact if rows else None,
    )


def _kept_partitions(result: PruneResult) -> int:
    """Return the number of partitions with a slice that is kept."""
    listing = result.listing
    if result.files_kept == result.files_total:
        return len(listing.partitions)
    return int(np.count_nonzero(np.bincount(listing.slice_partition[result.kept.positions])))


@dataclass(frozen=True)
class _Plan:
    """How partitions are encoded.

    Attributes:
        kinds: The verdict's kind for each partition, 0 for none.
        sent: The files to name, as ascending positions.
        sent_of_partition: Their number in each partition.
    """

    kinds: Int64Array
    sent: Int64Array
    sent_of_partition: Int64Array


def kept_slices(result: PruneResult, timeline: Timeline) -> KeptSlices | None:
    """Return the slices to read; None if they have more than `MOST_FILES` files.

    Args:
        result: What was pruned.
        timeline: The timeline by which the result's slices were selected.
    """
    if result.files_kept > MOST_FILES:
        return None
    kept = result.listing.at(result.kept.positions)
    slices, partitions = kept.num_slices, len(kept.partitions)
    logs = np.bincount(kept.file_slice[kept.file_is_log], minlength=slices)
    files = np.bincount(kept.file_slice, minlength=slices)
    return KeptSlices(
        timelineDigest=timeline.digest,
        partitions=string_list(kept.partitions),
        partitionSlices=np.bincount(kept.slice_partition, minlength=partitions).tolist(),
        fileIds=string_list(kept.slice_file_id),
        baseInstants=string_list(kept.slice_base_instant),
        haveBaseFile=(files > logs).tolist(),
        logFiles=logs.tolist(),
        fileNames=string_list(kept.file_name),
        fileSizes=kept.file_size.tolist(),
    )


def _plan(result: PruneResult) -> _Plan:
    """Compare, for each partition, the costs of naming the dropped files and the kept ones."""
    listing = result.listing
    kept, partitions = result.kept.files, len(listing.partitions)
    partition = listing.partitions_of(kept)
    kept_bytes = np.bincount(partition, listing.token_bytes(kept), partitions)
    dropped_bytes = listing.partition_token_bytes - kept_bytes
    # In order of precedence, the least one first; np.select would take most of the time.
    kinds = np.where(kept_bytes == 0, VerdictKind.DROP_LISTED, VerdictKind.KEEP_TOKENS)
    kinds[dropped_bytes <= kept_bytes + _DIGEST_BYTES] = VerdictKind.DROP_TOKENS
    kinds[dropped_bytes == 0] = _NO_VERDICT
    kinds[~result.partition_keep] = VerdictKind.DROP_PARTITION
    sent = kept[kinds[partition] == VerdictKind.KEEP_TOKENS]
    by_dropped = kinds == VerdictKind.DROP_TOKENS
    if np.count_nonzero(by_dropped):
        files = ranges(listing.partition_file_bounds, np.flatnonzero(by_dropped))
        dropped = np.setdiff1d(files, kept, assume_unique=True)
        sent = np.sort(np.concatenate([sent, dropped]))
    return _Plan(kinds, sent, np.bincount(listing.partitions_of(sent), minlength=partitions))
