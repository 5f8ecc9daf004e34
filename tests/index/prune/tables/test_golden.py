"""Tables written by real Hudi: no predicate on any column drops a file with a match."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from tests.conftest import GOLDEN_DATA
from tests.expr.oracle import truths
from tests.expr.oracle_engines import ENGINES, Table
from tests.index.prune.brute_force import predicates, rows_of
from tests.index.prune.matching_slices import assert_no_row_lost, read

NAMES = sorted(path.stem for path in GOLDEN_DATA.glob("*.zip"))
MERGED = [name for name in NAMES if name.startswith("mor")]
ZONE = "America/New_York"


def base_paths(listing: FileListing) -> list[str]:
    return listing.paths(~listing.file_is_log)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_base_file_with_a_match_is_dropped(name: str, golden: Mapping[str, Path]) -> None:
    base = golden[name]
    pruner = Pruner(PruneOptions(footers=True, footer_wait=20))
    listing = HudiTable.open(str(base)).listing(TableView.READ_OPTIMIZED)
    files = {
        path: rows_of(pq.read_table(base / path, partitioning=None)) for path in base_paths(listing)
    }
    types = {name: type_ for types, _ in files.values() for name, type_ in types.items()}
    every = [row for _, rows in files.values() for row in rows]
    table = Table(types, ZONE)
    dropped = 0
    for predicate in predicates(types, every):
        request = PruneRequest(predicate, TableView.READ_OPTIMIZED, here(ZONE))
        result = pruner.prune(str(base), request)
        kept = set(result.kept_paths())
        for path, (_, rows) in files.items():
            if path in kept:
                continue
            dropped += 1
            for row in rows:
                for engine in ENGINES:
                    given = truths(predicate, row, table, engine)
                    assert True not in given, (path, predicate, row, engine.name)
    assert dropped


COMMON = ("true", "false")
SAMPLES = (
    *("id = 1", "id > 2", "name LIKE 'A%'", "isActive", "NOT isActive", "intField > 20000"),
    *("longField IS NULL", "doubleField < 1000", "decimalField = 123.45", "byteField = 20"),
    *("dateField >= DATE '2023-04-01'", "structField.field1 > 'Z'", "name IN ('Alice', 'Bob')"),
)
TRANSACTIONS = (
    *("txn_id = 'TXN-001'", "txn_id LIKE 'TXN%'", "amount > 100", "amount < 10.5", "region = 'us'"),
    *("currency = 'USD'", "is_international", "fee_amount IS NULL", "merchant_name IS NOT NULL"),
    *("txn_date >= DATE '2024-01-15'", "region <> 'eu' AND amount > 500", "txn_ts < 0"),
)
COMPACTED = (
    *("id = 1", "id > 100", "p = 'a b'", "p = 'x/y=z'", "q = 0", "q > 0", "s LIKE 'a%'", "s > 's'"),
    *(
        "d < 0",
        "d IS NULL",
        "m > 10",
        "m = 1.5",
        "b",
        "NOT b",
        "dt >= DATE '2024-01-01'",
        "id < 10",
    ),
    *("ts < TIMESTAMP '2024-01-01 00:00:00'", "NOT (id < 50)", "s IS NULL", "p IS NULL"),
)


@pytest.mark.smoke("False-mor_v9")
@pytest.mark.spark
@pytest.mark.parametrize("name", MERGED)
@pytest.mark.parametrize("footers", [True, False])
def test_no_slice_with_a_merged_match_is_dropped(
    spark: SparkSession, name: str, footers: bool, golden: Mapping[str, Path]
) -> None:
    base = golden[name]
    own = SAMPLES if "keygen" in name else COMPACTED if "compaction" in name else TRANSACTIONS
    pruner = Pruner(PruneOptions(footers=footers, footer_wait=20))
    kept = assert_no_row_lost(pruner, base, read(spark, base), (*own, *COMMON))
    assert kept["false"] == 0
