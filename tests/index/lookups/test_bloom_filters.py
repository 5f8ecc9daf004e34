"""Bloom filters written by Hudi: each key's file matches, and hardly any other file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from pyhudi_expr.index.lookups.bloom_filters import BloomFilters
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.records.bloom_filter import HashedKeys
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing


def test_each_file_may_hold_its_keys_and_no_others(golden: Mapping[str, Path]) -> None:
    path = golden["mor_v6_metadata_pending_compaction"]
    mdt = MetadataTable.open(HudiTable.open(str(path)))
    assert mdt is not None
    listing = current_listing(mdt.table, mdt, TableView.READ_OPTIMIZED)
    held = {
        number: set(pq.read_table(path / name, partitioning=None)["_hoodie_record_key"].to_pylist())
        for number, name in enumerate(listing.paths(np.arange(listing.num_files)))
    }
    every = set().union(*held.values())
    filters = dict(BloomFilters(mdt, listing)._filters(range(listing.num_files)))
    assert filters.keys() == held.keys()
    for number, keys in held.items():
        for key in every:
            hashed_key = HashedKeys(ByteStrings.of([key.encode()]))
            assert filters[number].may_hold_any(hashed_key) == (key in keys)
