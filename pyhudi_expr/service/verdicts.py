"""Encode a pruning result as the protocol's verdicts, in as few bytes as possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array
from pyhudi_expr.protocol.ttypes import PartitionVerdict, PruneCounts, VerdictKind
from pyhudi_expr.prune import PruneResult, RowCount

_DIGEST_BYTES = 32
_LENGTH_BYTES = 4
_NO_VERDICT = 0


def verdicts(result: PruneResult) -> list[PartitionVerdict]:
    """Return one verdict for each partition of which something is dropped.

    A partition that its own values exclude is dropped whole. For others it has, whichever is
    shorter, the tokens of the dropped files, or those of the kept ones with the digest of the
    listing (the digest alone if none is kept).
    """
    plan = _plan(result)
    listing = result.listing
    names = listing.partitions.to_numpy(zero_copy_only=False)
    texts = _texts(listing.tokens.filter(pa.array(plan.sent)))
    ends = np.cumsum(np.bincount(listing.file_partition[plan.sent], minlength=len(names)))
    answer = []
    for index in np.flatnonzero(plan.kinds).tolist():
        kind = int(plan.kinds[index])
        verdict = PartitionVerdict(partitionPath=names[index], kind=kind)
        if kind in (VerdictKind.DROP_TOKENS, VerdictKind.KEEP_TOKENS):
            verdict.tokens = texts[int(ends[index - 1]) if index else 0 : int(ends[index])]
        if kind in (VerdictKind.DROP_LISTED, VerdictKind.KEEP_TOKENS):
            verdict.digest = listing.digest(index)
        answer.append(verdict)
    return answer


def counts(result: PruneResult, elapsed_micros: int, rows: RowCount | None) -> PruneCounts:
    """Return the counts of considered and dropped files; `rows` are those kept, if known."""
    listing = result.listing
    kept = result.file_keep
    size = listing.file_size
    partitions = len(listing.partitions)
    kept_partitions = np.zeros(partitions, np.bool_)
    kept_partitions[listing.slice_partition[result.keep]] = True
    return PruneCounts(
        filesConsidered=len(kept),
        filesDropped=int(len(kept) - kept.sum()),
        partitionsConsidered=partitions,
        partitionsDropped=int(partitions - kept_partitions.sum()),
        bytesConsidered=int(size.sum()),
        bytesDropped=int(size[~kept].sum()),
        elapsedMicros=elapsed_micros,
        filesDroppedBy=dict(result.dropped_by),
        rowsKept=rows.rows if rows else None,
        rowsAreExact=rows.exact if rows else None,
    )


@dataclass(frozen=True)
class _Plan:
    """How partitions are encoded.

    Attributes:
        kinds: The verdict's kind for each partition, 0 for none.
        sent: The files to name.
    """

    kinds: Int64Array
    sent: BoolArray


def _plan(result: PruneResult) -> _Plan:
    """Compare, for each partition, the costs of naming the dropped files and the kept ones."""
    listing = result.listing
    partition, partitions = listing.file_partition, len(listing.partitions)
    kept = result.file_keep
    weights = listing.token_bytes + _LENGTH_BYTES
    all_bytes = np.bincount(partition, weights, partitions)
    kept_bytes = np.bincount(partition[kept], weights[kept], partitions)
    dropped_bytes = all_bytes - kept_bytes
    kinds = np.select(
        [
            ~result.partition_keep,
            dropped_bytes == 0,
            dropped_bytes <= kept_bytes + _DIGEST_BYTES,
            kept_bytes == 0,
        ],
        [
            VerdictKind.DROP_PARTITION,
            _NO_VERDICT,
            VerdictKind.DROP_TOKENS,
            VerdictKind.DROP_LISTED,
        ],
        VerdictKind.KEEP_TOKENS,
    )
    by_file = kinds[partition]
    sent = (~kept & (by_file == VerdictKind.DROP_TOKENS)) | (
        kept & (by_file == VerdictKind.KEEP_TOKENS)
    )
    return _Plan(kinds, sent)


def _texts(tokens: AnyArray) -> list[str]:
    # Far faster than to_pylist, which creates a scalar for each.
    texts: list[str] = tokens.to_numpy(zero_copy_only=False).tolist()
    return texts
