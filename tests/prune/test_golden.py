"""Tables that real Hudi wrote elsewhere: no predicate on any column drops a file with a match."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
)
from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing, TableView
from tests.conftest import GOLDEN_DATA
from tests.expr.oracle import ENGINES, Table, truths
from tests.prune.judging import assert_no_row_lost, read

NAMES = sorted(path.stem for path in GOLDEN_DATA.glob("*.zip"))
MERGED = [name for name in NAMES if name.startswith("mor")]
ZONE = "America/New_York"

Rows = list[Mapping[str, Any]]


def rows_of(path: Path) -> tuple[dict[str, pa.DataType], Rows]:
    """The columns that have an order, and a base file's rows with the values as they are stored."""
    table = pq.read_table(path, partitioning=None)
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    types = {field.name: field.type for field in table.schema if domain_of(field.type)}
    columns = {}
    for name, type_ in types.items():
        column = table[name]
        if pa.types.is_date(type_):
            column = column.cast(pa.int32())
        elif pa.types.is_timestamp(type_):
            column = column.cast(pa.int64())
        columns[name] = column.to_pylist()
    found = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return types, found


def predicates(types: Mapping[str, pa.DataType], rows: Rows) -> Iterator[HudiExpression]:
    """A dozen for each column, of the values that it has."""
    for name, type_ in types.items():
        column = Column(tuple(name.split(".")))
        yield from (IsNull(column), Not(IsNull(column)))
        values = sorted({row[name] for row in rows if row[name] is not None})
        if not values:
            continue
        low, middle, high = (
            Literal(value, type_) for value in (values[0], values[len(values) // 2], values[-1])
        )
        for op, literal in itertools.product(Op, (low, middle)):
            yield Comparison(op, column, literal)
        yield Comparison(Op.GTEQ, column, high)
        yield Not(In(column, (low, high)))
        yield In(column, (low, middle))
        yield Between(column, middle, high)
        yield And((Comparison(Op.EQ, column, middle), Not(IsNull(column))))
        yield Or((Comparison(Op.EQ, column, low), Comparison(Op.GT, column, high)))
        if pa.types.is_string(type_):
            yield StartsWith(column, str(middle.value)[:3])


def base_paths(listing: FileListing) -> list[str]:
    return listing.paths(~listing.file_is_log)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_base_file_with_a_match_is_dropped(name: str, golden: Mapping[str, Path]) -> None:
    base = golden[name]
    pruner = Pruner(PruneOptions(footers=True, footer_wait=20))
    listing = HudiTable.open(str(base)).listing(TableView.READ_OPTIMIZED)
    files = {path: rows_of(base / path) for path in base_paths(listing)}
    types = {name: type_ for types, _ in files.values() for name, type_ in types.items()}
    every = [row for _, rows in files.values() for row in rows]
    table = Table(types, ZONE)
    dropped = 0
    for predicate in predicates(types, every):
        asked = PruneRequest(predicate, TableView.READ_OPTIMIZED, ZONE)
        result = pruner.prune(str(base), asked)
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
