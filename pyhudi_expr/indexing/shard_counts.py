"""Choose the number of file groups of a metadata partition, which is fixed: keys are hashed by it.

The minimum is RFC-27's rule for statistics (one file group for ten columns), and Hudi's default for
the others. Above it, the number allows for twice today's entries in file groups of 256 MiB before
compression.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.indexing.build_source import BuildSource
from pyhudi_expr.mdt.changes.index_definitions import IndexDefinition
from pyhudi_expr.table import hudi_names
from pyhudi_expr.table.errors import CorruptFile
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing

_COLUMNS_PER_SHARD = 10
_STATISTICS_FLOOR, _FILTERS_FLOOR, _KEYS_FLOOR = 2, 4, 10
#: Bytes of one entry with its key, before compression.
_STATISTICS_BYTES, _FILTER_BYTES, _KEY_BYTES = 250, 150_000, 120
_SHARD_BYTES = 256 << 20
_GROWTH = 2
_MOST_SHARDS = 9_999  # file ids have four digits
_SAMPLED_FILES = 8


def shard_count(table: HudiTable, definition: IndexDefinition) -> int:
    """Return the number of file groups for an index of the table as it is now.

    Raises:
        HudiError: The table cannot be read.
    """
    snapshot = BuildSource.of(table)
    return estimated_shard_count(snapshot.table, snapshot.listing, definition)


def estimated_shard_count(
    table: HudiTable, listing: FileListing, definition: IndexDefinition
) -> int:
    """Return the number of file groups for an index of the listed slices."""
    columns = max(len(definition.fields), 1)
    floor = max(_STATISTICS_FLOOR, math.ceil(columns / _COLUMNS_PER_SHARD))
    match definition.type:
        case hudi_names.PARTITION_STATS:
            floor, size = 1, len(listing.partitions) * columns * _STATISTICS_BYTES
        case hudi_names.COLUMN_STATS:
            size = listing.num_files * columns * _STATISTICS_BYTES
        case hudi_names.BLOOM_FILTERS:
            floor, size = _FILTERS_FLOOR, listing.num_files * _FILTER_BYTES
        case _:
            floor, size = _KEYS_FLOOR, estimate_rows(table, listing) * _KEY_BYTES
    return min(max(floor, math.ceil(_GROWTH * size / _SHARD_BYTES)), _MOST_SHARDS)


def estimate_rows(table: HudiTable, listing: FileListing) -> int:
    """Estimate the rows of the slices by their bytes and the footers of some base files."""
    bases = np.flatnonzero(~listing.file_is_log)
    if not len(bases):
        return 0
    chosen = bases[:: math.ceil(len(bases) / _SAMPLED_FILES)]
    found = 0
    for path in listing.paths(chosen):
        with table.storage.open_input(path) as source:
            try:
                found += pq.read_metadata(source).num_rows
            except (OSError, pa.ArrowException) as error:
                raise CorruptFile(f"{table.base_path}/{path}", f"no Parquet: {error}") from error
    share = listing.file_size[chosen].sum() / max(int(listing.file_size.sum()), 1)
    return math.ceil(found / share) if share else 0
