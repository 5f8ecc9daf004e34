"""How many file groups a metadata partition gets, once and for all: keys are spread by the number.

RFC-27's rule is the floor for statistics (a file group for each ten columns), Hudi's defaults are
it for the others. Above it decides what the index will hold, twice as much as it does today, in
file groups of 256 MiB before compression.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.indexing.build_source import BuildSource
from pyhudi_expr.mdt.changes.index_definitions import IndexDefinition
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
    """The number of file groups for an index of the table as it is now. Raises HudiError."""
    snapshot = BuildSource.of(table)
    return estimated_shard_count(snapshot.table, snapshot.listing, definition)


def estimated_shard_count(
    table: HudiTable, listing: FileListing, definition: IndexDefinition
) -> int:
    """The same for the listed slices."""
    columns = max(len(definition.fields), 1)
    floor = max(_STATISTICS_FLOOR, math.ceil(columns / _COLUMNS_PER_SHARD))
    match definition.type:
        case "partition_stats":
            floor, size = 1, len(listing.partitions) * columns * _STATISTICS_BYTES
        case "column_stats":
            size = listing.num_files * columns * _STATISTICS_BYTES
        case "bloom_filters":
            floor, size = _FILTERS_FLOOR, listing.num_files * _FILTER_BYTES
        case _:
            floor, size = _KEYS_FLOOR, estimate_rows(table, listing) * _KEY_BYTES
    return min(max(floor, math.ceil(_GROWTH * size / _SHARD_BYTES)), _MOST_SHARDS)


def estimate_rows(table: HudiTable, listing: FileListing) -> int:
    """About how many rows the slices have: by their bytes, and the footers of some base files."""
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
