"""The number of file groups of an index: at least RFC-27's and Hudi's default, more if needed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bench.tables.synthetic import write_table
from pyhudi_expr.manage.indexing import build_options
from pyhudi_expr.manage.indexing.build_options import shard_count
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition


def definition(type_: str, columns: int) -> IndexDefinition:
    fields = tuple(f"c{number}" for number in range(columns))
    return IndexDefinition(type_, type_, "", fields, {}, "V2")


@pytest.mark.parametrize(
    ("type_", "columns", "shards"),
    [
        ("column_stats", 1, 2),
        ("column_stats", 20, 2),
        ("column_stats", 21, 3),
        ("partition_stats", 40, 1),
        ("bloom_filters", 0, 4),
        ("record_index", 0, 10),
        ("secondary_index", 1, 10),
    ],
)
def test_a_small_table_gets_the_minimum(
    golden: Mapping[str, Path], type_: str, columns: int, shards: int
) -> None:
    table = HudiTable.open(str(golden["cow_v9_txns_simple_meta"]))
    assert shard_count(table, definition(type_, columns)) == shards


def test_many_files_get_more(tmp_path: Path) -> None:
    write_table(tmp_path / "t", files=4_000, partitions=10)
    table = HudiTable.open(str(tmp_path / "t"))
    # 4,000 filters of 150,000 bytes, twice, in 256 MiB each.
    assert shard_count(table, definition("bloom_filters", 0)) == 5


def test_indexes_of_keys_are_sized_by_the_lengths_of_keys_and_values(
    golden: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = HudiTable.open(str(golden["cow_v9_txns_simple_meta"]))
    name = IndexDefinition("s", "secondary_index", "", ("merchant_name",), {}, "V2")
    both = replace(name, fields=("merchant_name", "currency"))
    monkeypatch.setattr(build_options, "_SHARD_BYTES", 2)  # two entries, as it may grow
    records, names, pairs = (
        shard_count(table, one) // 12 for one in (definition("record_index", 0), name, both)
    )
    # Keys are like TXN-001, names have some ten letters, currencies have three.
    assert records == 80 + len("TXN-001")
    assert 5 < names - (40 + len("TXN-001")) < 15
    assert pairs == names + len("EUR")
