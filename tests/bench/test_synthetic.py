"""Synthetic tables are read like Hudi's: every record has its correct location."""

from pathlib import Path

import numpy as np
import pytest

from bench.service import cases
from bench.tables import synthetic
from bench.tables.synthetic import ROWS_PER_FILE, shards_of, write_table
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.keys import column_stats_key, partition_stats_key, shard
from pyhudi_expr.tables.mdt.records.metadata_records import COLUMN_STATS as COLUMN_STATS_RECORD
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

FILES, PARTITIONS = 400, 8


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("synthetic") / "table"
    write_table(path, files=FILES, partitions=PARTITIONS)
    return path


@pytest.fixture(scope="module")
def metadata(table: Path) -> MetadataTable:
    found = MetadataTable.open(HudiTable.open(str(table)))
    assert found is not None
    return found


def kept(table: Path, predicate: str) -> int:
    return Pruner().prune(str(table), PruneRequest(parse_predicate(predicate))).files_kept


def test_all_files_of_a_synthetic_table_are_listed(metadata: MetadataTable) -> None:
    assert metadata.lists_files
    listing = metadata.table.listing(files=metadata.stored_files())
    assert (listing.num_files, len(listing.partitions)) == (FILES, PARTITIONS)


def test_each_file_has_its_statistics_in_the_shard_of_their_key(metadata: MetadataTable) -> None:
    listing = metadata.table.listing(files=metadata.stored_files())
    partitions = listing.partitions.take(listing.file_partition).to_pylist()
    names = listing.file_name.to_pylist()
    for column in ("id", "spread", "code"):
        keys = [
            column_stats_key(column, partition, name)
            for partition, name in zip(partitions, names, strict=True)
        ]
        # A look-up reads only the key's own shard.
        assert metadata.lookup(COLUMN_STATS, keys).keys == sorted(keys)
        of_partitions = [partition_stats_key(column, path) for path in set(partitions)]
        assert len(metadata.lookup(PARTITION_STATS, of_partitions)) == PARTITIONS


def test_shards_of_many_keys_equal_those_of_each() -> None:
    keys = [column_stats_key("c", "p", f"file-{number}") for number in range(200)]
    expected = [shard(key, 7) for key in keys]
    assert shards_of(np.array(keys), 7).tolist() == expected


def test_a_synthetic_table_is_pruned_by_its_layout(table: Path) -> None:
    assert kept(table, "id = 12345") == 1
    assert kept(table, f"id < {10 * ROWS_PER_FILE}") == 10
    assert kept(table, "code = 'item-0000000500-m'") == 1
    assert kept(table, "code LIKE 'item-%'") == FILES
    assert kept(table, "day = 'nowhere'") == 0
    pruner = Pruner()
    for case in cases(FILES, options=50):
        answer = pruner.prune(str(table), PruneRequest(case.predicate))
        assert (answer.files_kept, answer.notes) == (case.kept, ()), case.name


def test_files_are_spread_evenly(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="10 files cannot be spread evenly over 3 partitions"):
        write_table(tmp_path / "table", files=10, partitions=3)


@pytest.mark.parametrize("column", synthetic.columns_of(4, fillers=1), ids=lambda found: found.name)
def test_entries_equal_those_of_an_avro_library(column: synthetic._Column) -> None:
    encode = synthetic._entry_encoder(column)
    for k in range(4):
        bounds = column.minimum[k], column.maximum[k]
        written = synthetic._stats_record(COLUMN_STATS_RECORD, column, "the file", bounds, 1)
        assert encode("the file", *bounds) == written
