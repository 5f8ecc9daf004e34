"""Trino with the example plugin reads the newest rows of a table, and only files that can match."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.engines.statements import StatementError
from devtools.matrix import FILES, SCHEMA, Matrices, Matrix, Partitioning, write_matrix
from devtools.tables import TableType, upsert
from pyhudi_expr.protocol.generated.ttypes import (
    KeptSlices,
    PruneRequest,
    PruneResponse,
    PruneStatus,
)
from tests.engines.conditions import OF_PARTITIONS, OTHERS, SKIPPING, WIDE, expected_ids
from tests.engines.conftest import TrinoTables
from tests.engines.engine_queries import OFF, Ids
from tests.engines.meddling_service import MeddlingHandler

pytestmark = pytest.mark.engines


def ask(trino: TrinoTables, matrix: Matrix, condition: str) -> tuple[Ids, Ids]:
    """A query without and with pruning; the rows are those of DuckDB."""
    name = f"pyhudi.lake.{matrix.table.name}"
    unpruned = trino.queries.ids(name, condition, OFF)
    pruned = trino.queries.ids(name, condition)
    assert unpruned.ids == expected_ids(matrix.rows, condition)
    assert pruned.ids == unpruned.ids
    return unpruned, pruned


@pytest.mark.parametrize("condition", [*SKIPPING, WIDE, "st.a = 3005", "st.c.d < 1e0"])
def test_files_that_cannot_match_are_not_read(
    trino: TrinoTables, trino_matrix: Matrix, condition: str
) -> None:
    unpruned, pruned = ask(trino, trino_matrix, condition)
    assert pruned.counted("FilesRead") < unpruned.counted("FilesRead") <= FILES


@pytest.mark.parametrize("condition", [*OTHERS, *OF_PARTITIONS])
def test_other_conditions_find_their_rows(
    trino: TrinoTables, trino_matrix: Matrix, condition: str
) -> None:
    ask(trino, trino_matrix, condition)


def test_the_connector_alone_reads_every_version_of_a_file(
    trino: TrinoTables, trino_matrix: Matrix
) -> None:
    name = trino_matrix.table.name
    own = trino.queries.ids(f"hive.lake.{name}", "true", {})
    ours = trino.queries.ids(f"pyhudi.lake.{name}", "true")
    assert ours.ids == expected_ids(trino_matrix.rows, "true")
    assert len(own.ids) > len(ours.ids)
    assert ours.counted("FilesRead") == FILES < ours.counted("FilesListed")


def test_a_table_with_log_files_is_refused(trino: TrinoTables, matrices: Matrices) -> None:
    table = matrices.get(TableType.MOR, 9, Partitioning.HIVE).table
    trino.register(table)
    with pytest.raises(StatementError, match="has log files"):
        trino.queries.ids(f"pyhudi.lake.{table.name}", "true")


def test_conditions_on_hidden_columns_are_refused(trino: TrinoTables, trino_matrix: Matrix) -> None:
    with pytest.raises(StatementError, match=r"conditions on \$path"):
        trino.queries.ids(f"pyhudi.lake.{trino_matrix.table.name}", "\"$path\" = 'x'")


def test_without_a_service_there_are_no_rows(trino: TrinoTables, trino_matrix: Matrix) -> None:
    with pytest.raises(StatementError, match="cannot be listed, UNREACHABLE"):
        trino.queries.ids(f"down.lake.{trino_matrix.table.name}", "i = 3005")


def _fails(kept: KeptSlices, response: PruneResponse) -> None:
    response.status, response.message = PruneStatus.FAILED, "it does not feel well"


def _lists_nothing(kept: KeptSlices, response: PruneResponse) -> None:
    response.kept = None


def _is_about_another_table(kept: KeptSlices, response: PruneResponse) -> None:
    response.basePath = "/another"


def _names_a_file_that_is_not_there(kept: KeptSlices, response: PruneResponse) -> None:
    kept.fileNames[0] = f"not-{kept.fileNames[0]}"


def _names_another_size(kept: KeptSlices, response: PruneResponse) -> None:
    kept.fileSizes[0] += 1


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (_fails, "SERVICE_FAILED: .*does not feel well"),
        (_lists_nothing, "too many files"),
        (_is_about_another_table, "WRONG_ANSWER"),
        (_names_a_file_that_is_not_there, "0 of [0-9]+ bytes were listed"),
        (_names_another_size, "[0-9]+ of [0-9]+ bytes were listed"),
    ],
)
def test_what_is_no_list_of_the_tables_files_is_an_error(
    trino: TrinoTables,
    trino_matrix: Matrix,
    service: MeddlingHandler,
    change: Callable[[KeptSlices, PruneResponse], None],
    error: str,
) -> None:
    def answer(request: PruneRequest) -> PruneResponse:
        response = service.true_answer(request)
        change(response.kept, response)
        return response

    with service.answering(answer), pytest.raises(StatementError, match=error):
        trino.queries.ids(f"pyhudi.lake.{trino_matrix.table.name}", "i = 3005")


def test_a_commit_during_a_query_is_not_seen_in_part(
    trino: TrinoTables, service: MeddlingHandler, spark: SparkSession, tmp_path: Path
) -> None:
    matrix = write_matrix(spark, tmp_path, type=TableType.COW, partitioning=Partitioning.HIVE)
    rows = {row["id"]: row for row in matrix.rows}
    # One row leaves the condition, and one of another file gets into it.
    moved = [{**rows[8005], "i": -1}, {**rows[25007], "i": 3005}]

    def answer(request: PruneRequest) -> PruneResponse:
        response = service.true_answer(request)
        tuples = [tuple(row[name] for name in SCHEMA.names) for row in moved]
        upsert(matrix.table, spark.createDataFrame(spark.sparkContext.parallelize(tuples), SCHEMA))
        return response

    trino.queries.client.run("CREATE SCHEMA pyhudi.changing")
    trino.register(matrix.table, "changing")
    name = f"pyhudi.changing.{matrix.table.name}"
    with service.answering(answer):
        assert trino.queries.ids(name, "i = 3005").ids == [8005]
    assert trino.queries.ids(name, "i = 3005").ids == [25007]
