"""The whole correctness table on every version: Hive's rows are those of a full scan, from no more
files than Hudi's own data skipping leaves to Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from devtools.matrix import FILES, Matrices
from devtools.spark import session_settings
from devtools.tables import TableType
from pyhudi_expr.index.prune import Pruner
from tests.hive.expected_rows import ZONE, Truths, for_hive
from tests.hive.query_results import Hive
from tests.index.prune.hudi_data_skipping import Count, kept_beyond_hudi_in_matrix
from tests.index.prune.matching_slices import request
from tests.index.prune.predicates import ALL
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

COW, MOR = TableType.COW, TableType.MOR
#: For a client in Java, such a text may have been invalid Unicode, so Hive's are left out.
REPLACED = {text for text in ALL if "\ufffd" in text}
TABLES = [(COW, 6), (COW, 8), (COW, 9), (MOR, 6), (MOR, 8), (MOR, 9)]


@pytest.fixture(scope="module")
def truths(hive: Hive, spark: SparkSession) -> Truths:
    return Truths(hive, spark)


def files_of(path: Path) -> Count:
    """Counts the files of slices including log files, as Hive's reports do."""
    listing = Pruner().prune(str(path), request("true")).listing
    sizes = np.bincount(listing.file_slice, minlength=len(listing.slice_file_id))
    files = dict(zip(listing.slice_file_id.to_pylist(), sizes.tolist(), strict=True))

    def count(file_ids: Collection[str]) -> int:
        return sum(files[file_id] for file_id in file_ids)

    return count


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("type_", "version", "texts"),
    [(MOR, 8, ALL[7::120]), *(long(*table, ALL) for table in TABLES)],
)
def test_hudi_does_not_read_fewer_files(
    hive: Hive,
    spark: SparkSession,
    matrices: Matrices,
    truths: Truths,
    type_: TableType,
    version: int,
    texts: Sequence[str],
) -> None:
    table = matrices.get(type_, version).table
    name = hive.register(table)
    kept, wrong = {}, []
    for text in texts:
        answer = hive.query(f"SELECT id FROM {name} WHERE {for_hive(text)}")
        if sorted(row[0] for row in answer.rows) != sorted(truths.in_hive(name, text)):
            wrong.append(text)
        kept[text] = answer.scan.files_kept
    assert wrong == []
    assert sum(kept.values()) < FILES * len(kept) / 2
    compared = {text: files for text, files in kept.items() if text not in REPLACED}
    with session_settings(spark, {"spark.sql.session.timeZone": ZONE}):
        more = kept_beyond_hudi_in_matrix(
            spark, table.path, compared, has_logs=type_ is MOR, count=files_of(table.path)
        )
    assert more == {}
