"""Incremental queries: only files with rows that were written after an instant are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, TableType, create, upsert
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.changes.test_long_lived_pruner import call_procedure, rows
from tests.index.prune.matching_slices import Group, groups, groups_with_matches, read
from tests.marks import long

pytestmark = pytest.mark.spark

WHERE = ("x >= 0", "x = 45", "p = 'p1' OR x > 1000")


def instant_of(path: Path) -> str:
    instant = HudiTable.open(str(path)).instant
    assert instant is not None
    return instant


@pytest.mark.parametrize(
    ("type_", "version"), [long(TableType.COW, 9), (TableType.MOR, 9), long(TableType.MOR, 6)]
)
def test_only_files_with_newer_rows(
    spark: SparkSession, tmp_path: Path, type_: TableType, version: int
) -> None:
    spec = TableSpec("growing", type_, version, partitions=("p",))
    table = create(rows(spark, "true"), spec, tmp_path)
    instants = ["0", instant_of(table.path)]
    upsert(table, rows(spark, "id in (3, 45)", x="id + 1000"))
    instants.append(instant_of(table.path))
    upsert(table, rows(spark, "id = 77", x="id + 2000"))
    instants.append(instant_of(table.path))
    # Clustering rewrites all files; the rows keep their commit times.
    call_procedure(spark, f"run_clustering(path => '{table.path}', order => 'x')", table)
    pruner = Pruner()

    def kept(where: str, since: str, until: str | None = None) -> set[Group]:
        request = PruneRequest(parse_predicate(where), as_of=until, since=since)
        return groups(pruner.prune(str(table.path), request))

    for n, since in enumerate(instants):
        for until in (None, *instants[max(n, 1) :]):
            frame = (
                read(spark, table.path)
                if until is None
                else read(spark, table.path, as__of__instant=until)
            ).where(f"_hoodie_commit_time > '{since}'")
            for where, expected in groups_with_matches(frame, WHERE).items():
                found = kept(where, since, until)
                assert expected <= found, (where, since, until)
                # Layout 1 does not record which commits wrote to a log file, and as of an instant a
                # slice includes its later log files.
                exact = type_ is TableType.COW or (version > 6 and until is None)
                if where == "x >= 0" and exact:
                    assert found == expected
    assert not kept("x >= 0", instants[-1])


def test_a_table_without_meta_fields_has_no_incremental_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    virtual = {"hoodie.populate.meta.fields": "false"}
    table = create(rows(spark, "true"), TableSpec("virtual", extra=virtual), tmp_path)
    with pytest.raises(UnsupportedTable, match=r"hoodie\.populate\.meta\.fields"):
        Pruner().prune(str(table.path), PruneRequest(parse_predicate("x = 1"), since="0"))
