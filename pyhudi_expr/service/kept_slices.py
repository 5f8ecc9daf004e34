"""List the slices that a pruning result keeps, for callers that read them without listing."""

from __future__ import annotations

import numpy as np

from pyhudi_expr.arrays import string_list
from pyhudi_expr.protocol.ttypes import KeptSlices
from pyhudi_expr.prune import PruneResult
from pyhudi_expr.table.timeline.timeline import Timeline

MOST_FILES = 10_000
"""A list of so many takes 2 MB and 10 ms; reading more takes far longer than listing them."""


def kept_slices(result: PruneResult, timeline: Timeline) -> KeptSlices | None:
    """Return the slices to read; None if they have more than `MOST_FILES` files.

    Args:
        result: What was pruned.
        timeline: The timeline by which the result's slices were selected.
    """
    if result.files_kept > MOST_FILES:
        return None
    kept = result.listing.some(result.keep)
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
