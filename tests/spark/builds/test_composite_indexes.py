"""Secondary indexes over several columns: built, refreshed, verified, and asked.

The values of the two columns are spread so that each of them is in all files, and each pair of
values in few.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.index.catalog.status import State, index_status
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.manage.indexing.build_options import BuildResult
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable
from pyhudi_expr.tables.mdt.extension import Extension
from tests.index.prune.matching_slices import INDEXES_ALONE, assert_no_row_lost, read

pytestmark = pytest.mark.spark

_FILES = 8
#: How many of the eight files are kept. Files hold the ids 0 to 99, 100 to 199, ...
_KEPT = {
    "city = 'c3' AND day = DATE'1970-04-22'": 1,  # id 3
    "day = DATE'1970-04-22' AND city = 'c3'": 1,
    "city = 'c4' AND day = DATE'1970-04-22'": 0,
    "city IN ('c3', 'c4') AND day IN (DATE'1970-04-22', DATE'1971-10-11')": 2,  # ids 3 and 104
    "city = 'c3'": _FILES,
    "city = 'none'": 0,
    "city = 'c3' AND day > DATE'1970-01-01'": _FILES,
    "city IS NULL AND day = DATE'1971-02-12'": 1,  # id 11
    "city = 'c5' AND day IS NULL": 1,  # id 5
    "city = 'c5' AND day IS NULL AND fare = 5.00": 1,
    "city = 'c5' AND day IS NULL AND fare = 6.00": 0,
    "(city = 'c3' AND day = DATE'1970-04-22') OR (city = 'c4' AND day = DATE'1971-10-11')": 2,
    "city = 'c3' AND (day = DATE'1970-04-22' OR fare = 3.00)": _FILES,
    "NOT (city = 'c3' AND day = DATE'1970-04-22')": _FILES,
    "city <=> 'c3' AND day <=> DATE'1970-04-22'": 1,
    "day = DATE'1970-04-22'": _FILES,
}


def rows(spark: SparkSession, where: str = "true", day: str = "id * 37 % 800") -> DataFrame:
    """100 rows in a file. Files are larger than their indexes, so queries use those."""
    filler = "concat_ws('', transform(sequence(1, 40), i -> md5(cast(id * 100 + i as string))))"
    return spark.sql(
        f"select concat('k', id) as id, id as ts, "
        f"if(id % 11 = 0, null, concat('c', id % 10)) as city, "
        f"if(id = 5, null, date_add(date'1970-01-01', cast({day} as int))) as day, "
        f"cast(id % 100 as decimal(10, 2)) as fare, {filler} as filler "
        f"from range(0, {100 * _FILES}, 1, {_FILES}) where {where}"
    )


@pytest.mark.parametrize(
    "kind", [TableType.COW, pytest.param(TableType.MOR, marks=pytest.mark.long)]
)
def test_pairs_of_values_are_followed_through_refreshes(
    spark: SparkSession, table_root: Path, kind: TableType
) -> None:
    spec = TableSpec(f"pairs_{kind.name.lower()}", kind, ordering="ts", stats_columns=None)
    table = create(rows(spark), spec, table_root)
    path = str(table.path)
    built = execute(
        spark, f"CREATE INDEX pairs ON '{path}' (city, day, fare) OPTIONS (store = 'extension')"
    )
    assert isinstance(built, BuildResult)
    assert built.records == dict.fromkeys(("record_index", "secondary_index_pairs"), 100 * _FILES)
    extension = Extension.open(OpenedTable.open(path))
    assert extension is not None
    options = extension.definitions["secondary_index_pairs"].options
    assert options["columnType"] == "string;date32[day];decimal128(10, 2)"
    assert_right(table)
    assert kept(spark, table) == _KEPT

    upsert(table, rows(spark, "id in (103, 204)", day="111"))
    delete(table, rows(spark, "id = 15"))
    status = index_status(OpenedTable.open(path), "pairs")
    assert status is not None
    assert status.state is State.LAGGING
    execute(spark, f"REFRESH INDEX pairs ON '{path}'")
    assert_right(table)
    assert kept(spark, table)["city = 'c3' AND day = DATE'1970-04-22'"] == 2


def assert_right(table: HudiTable) -> None:
    """The index has exactly the entries of the table's rows."""
    opened = OpenedTable.open(str(table.path))
    status = index_status(opened, "pairs")
    assert status is not None
    assert status.state is State.ACTIVE
    spark = SparkSession.active()
    for verified in verify(spark, opened, status):
        assert verified.checked >= 100 * _FILES - 1
        assert verified.is_right, verified


def kept(spark: SparkSession, table: HudiTable) -> dict[str, int]:
    """The number of kept files for each predicate. No file with a matching row is dropped."""
    return assert_no_row_lost(Pruner(INDEXES_ALONE), table.path, read(spark, table.path), _KEPT)
