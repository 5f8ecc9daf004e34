"""An index too large for one machine, evaluated in tasks, with the results of bounds in memory."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from bench.tables.synthetic import ROWS_PER_FILE, write_table
from devtools.matrix import Matrices
from devtools.tables import TableType
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.statistics.joined_column_stats import StreamingEvidence
from pyhudi_expr.spark.jobs.batch_runner import LocalRunner, Runner, SparkRunner
from pyhudi_expr.spark.query.dataframes import prune_table, pruner_of
from pyhudi_expr.spark.query.sharded_bounds import ShardedEvaluation

FILES = 400
ROWS = FILES * ROWS_PER_FILE
#: Less than a column takes, but enough for the results of all leaves.
LITTLE = 40
SYNTHETIC = [
    f"spread < {ROWS // 4}",
    f"NOT (spread >= {ROWS // 2} OR amount <= {ROWS / 8})",
    f"spread < {ROWS // 2} AND (amount > {ROWS / 8} OR code >= 'item-{ROWS // 20:010d}')",
    f"spread IN (5, {ROWS // 3}, {ROWS - 1}) AND day <> '2020-01-02'",
    "code LIKE 'item-00001%' OR amount IS NULL",
    "id > spread",  # two columns, whose entries for one file are in different shards
    "id = 12345 OR missing = 3",
]
GOLDEN = [
    *("amount > 50", "amount <> 10 AND txn_id < 'TXN-005'", "merchant_name IS NULL", "txn_id > ''"),
    *(
        "merchant_name LIKE 'A%' OR amount > 80",
        "account_id = merchant_name",
        "NOT is_international",
    ),
]
MATRIX = [
    *("i = 3005", "i < -4000 OR i > 25000", "NOT (d < 30)", "d = CAST('NaN' AS double)"),
    *(
        "s LIKE 'name_017%' AND i > 0",
        "i = 504001 OR n = 12",
        "i < l",
        "st.c.e >= DATE '2100-01-01'",
    ),
    *("dec38 = 12", "none IS NOT NULL", "u = '\ufffd005'", "i + ti > 26000 OR bin = X'0305FA'"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("synthetic") / "table"
    write_table(target, files=FILES, partitions=8)
    return target


def pruner(runner: Runner, files: int, bucket_bytes: int) -> Pruner:
    streaming = ShardedEvaluation(runner, bucket_bytes)
    return Pruner(PruneOptions(cache_bytes=LITTLE * files, streaming=streaming))


def answers(pruner: Pruner, table: Path, asked: Sequence[str]) -> dict[str, PruneResult]:
    return {
        text: pruner.prune(str(table), PruneRequest(parse_predicate(text), semantics=here("UTC")))
        for text in asked
    }


def assert_alike(found: Mapping[str, PruneResult], expected: Mapping[str, PruneResult]) -> None:
    for text, result in found.items():
        assert any(isinstance(source.evidence, StreamingEvidence) for source in result.evidence), (
            text
        )
        assert result.keep.tolist() == expected[text].keep.tolist(), text
    assert sum(result.files_kept < result.files_total for result in found.values()) > 2


def test_results_equal_those_of_bounds_in_memory(table: Path) -> None:
    expected = answers(Pruner(), table, SYNTHETIC)
    for bucket_bytes in (1 << 30, 10_000):  # one, and some
        assert_alike(
            answers(pruner(LocalRunner(), FILES, bucket_bytes), table, SYNTHETIC), expected
        )


@pytest.mark.parametrize("name", ["cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"])
def test_log_files_and_partitions_of_real_tables(golden: Mapping[str, Path], name: str) -> None:
    expected = answers(Pruner(PruneOptions(footer_wait=20)), golden[name], GOLDEN)
    files = expected[GOLDEN[0]].files_total
    assert_alike(answers(pruner(LocalRunner(), files, 5_000), golden[name], GOLDEN), expected)


def test_a_damaged_shard_keeps_the_files(table: Path, tmp_path: Path) -> None:
    copy = tmp_path / "table"
    shutil.copytree(table, copy)
    *_, shard = sorted((copy / ".hoodie" / "metadata" / "column_stats").glob("*.hfile"))
    shard.write_bytes(shard.read_bytes()[:-100])
    (result,) = answers(pruner(LocalRunner(), FILES, 1 << 30), copy, ["spread < 900"]).values()
    assert result.files_kept == FILES // 8  # by partition_stats: the minimum is in one partition
    assert any(
        "column_stats cannot be read" in note and shard.name in note for note in result.notes
    )


@pytest.mark.spark
@pytest.mark.parametrize("type_", [TableType.COW, TableType.MOR])
def test_sparks_tasks_keep_the_same_slices(
    spark: SparkSession, matrices: Matrices, type_: TableType
) -> None:
    path = matrices.get(type_).table.path
    expected = answers(Pruner(PruneOptions(footer_wait=20)), path, MATRIX)
    files = expected[MATRIX[0]].files_total
    assert_alike(answers(pruner(LocalRunner(), files, 5_000), path, MATRIX), expected)
    some = MATRIX[type_ is TableType.MOR :: 2]
    assert_alike(answers(pruner(SparkRunner(spark), files, 100_000), path, some), expected)

    text = MATRIX[1]
    found = prune_table(spark, str(path), text, pruner=pruner_of(spark, LITTLE * files))
    unsharded = prune_table(spark, str(path), text)
    assert np.array_equal(found.result.keep, unsharded.result.keep)
    assert found.frame.count() == unsharded.frame.count() > 0
