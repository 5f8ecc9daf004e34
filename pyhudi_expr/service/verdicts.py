"""A pruning result as the protocol's verdicts: what was proved, in as few bytes as possible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.prune import PruneResult
from pyhudi_expr.service.gen.pruning.ttypes import PartitionVerdict, PruneCounts, VerdictKind

_DIGEST_BYTES = 32
_LENGTH_BYTES = 4


def verdicts(result: PruneResult) -> list[PartitionVerdict]:
    """One verdict for each partition of which something is dropped.

    A partition that its own values exclude is dropped whole. Of the others go, whichever is
    shorter, the tokens of the dropped files, or those of the kept ones together with the digest
    of the listing that was judged (for none kept: the digest alone).
    """
    return list(_verdicts(result))


def counts(result: PruneResult, elapsed_micros: int) -> PruneCounts:
    """What was considered and dropped."""
    listing = result.listing
    kept = result.keep[listing.file_slice]
    size = listing.file_size
    partitions = len(listing.partitions)
    kept_partitions = np.zeros(partitions, np.bool_)
    kept_partitions[listing.file_partition[kept]] = True
    return PruneCounts(
        filesConsidered=len(kept),
        filesDropped=int(len(kept) - kept.sum()),
        partitionsConsidered=partitions,
        partitionsDropped=int(partitions - kept_partitions.sum()),
        bytesConsidered=int(size.sum()),
        bytesDropped=int(size[~kept].sum()),
        elapsedMicros=elapsed_micros,
    )


def _verdicts(result: PruneResult) -> Iterator[PartitionVerdict]:
    listing = result.listing
    partitions = len(listing.partitions)
    dropped = ~result.keep[listing.file_slice]
    by_values = ~result.partition_keep
    weights = pc.binary_length(listing.tokens).to_numpy(zero_copy_only=False) + _LENGTH_BYTES
    drop_bytes, keep_bytes = (
        np.bincount(listing.file_partition, np.where(chosen, weights, 0), partitions)
        for chosen in (dropped, ~dropped)
    )
    names = listing.partitions
    for index in np.flatnonzero(by_values | (drop_bytes > 0)).tolist():
        path = names[index].as_py()
        if by_values[index]:
            yield PartitionVerdict(partitionPath=path, kind=VerdictKind.DROP_PARTITION)
        elif drop_bytes[index] <= keep_bytes[index] + _DIGEST_BYTES:
            tokens = _tokens(result, index, dropped)
            yield PartitionVerdict(partitionPath=path, kind=VerdictKind.DROP_TOKENS, tokens=tokens)
        elif keep_bytes[index] == 0:
            yield PartitionVerdict(
                partitionPath=path, kind=VerdictKind.DROP_LISTED, digest=listing.digest(index)
            )
        else:
            yield PartitionVerdict(
                partitionPath=path,
                kind=VerdictKind.KEEP_TOKENS,
                tokens=_tokens(result, index, ~dropped),
                digest=listing.digest(index),
            )


def _tokens(result: PruneResult, partition: int, chosen: np.ndarray) -> list[str]:
    listing = result.listing
    start, end = listing.partition_file_bounds[partition : partition + 2].tolist()
    tokens = listing.tokens.slice(start, end - start)
    found: list[str] = tokens.filter(pa.array(chosen[start:end])).to_pylist()
    return found
