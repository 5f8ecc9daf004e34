"""A table that changes under a long-lived pruner: new answers are current, old ones stay right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable as WrittenTable
from devtools.tables import TableSpec, TableType, create, delete, upsert
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import columns
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.opening import SnapshotOptions
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.index.slice_sets import keep_slices
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage
from tests.index.prune.matching_slices import Group, assert_no_row_lost, groups_with_matches, read
from tests.marks import long

pytestmark = pytest.mark.spark

PREDICATES = (
    *("x = 5", "x < 3", "x >= 70", "x BETWEEN 20 AND 40", "x > 1000", "x IS NULL", "x <> 5"),
    *("s = 'row 7'", "s LIKE 'row 1%'", "s LIKE 'new%'", "s IS NULL", "NOT (s < 'row 5')"),
    *("d > 30.5", "d = -1", "p = 'p1'", "p = 'p2'", "p = 'p1' AND x < 45", "id IN (3, 77, 1001)"),
    *("x > 1000 OR id = 3", "x = 5 AND s = 'row 5'", "x = 5 AND s = 'row 6'"),
)


@dataclass(frozen=True)
class ExpectedSnapshot:
    """The expected result of a snapshot whose indexes have not been read yet."""

    snapshot: TableSnapshot
    expected: dict[str, set[Group]]

    def assert_right(self) -> None:
        """The snapshot keeps what matched at its time, however the table has changed since."""
        listing, schema = self.snapshot.listing, self.snapshot.schema
        partitions = listing.partitions.to_pylist()
        for text, expected in self.expected.items():
            predicate = bind(parse_predicate(text), Scope(schema, here("UTC")))
            needed = list(columns(predicate).values())
            everywhere = np.ones(len(partitions), np.bool_)
            reading = self.snapshot.reading(PartitionReader.ANY, needed)
            evidence_found = self.snapshot.file_evidence(predicate, needed, everywhere, 10, reading)
            sources = [answer.evidence for answer in evidence_found.answers]
            keep = keep_slices(predicate, sources, listing, self.snapshot.merging)
            kept = {
                (partitions[listing.slice_partition[n]], str(listing.slice_file_id[n]))
                for n in range(listing.num_slices)
                if keep[n]
            }
            assert expected <= kept, text


def rows(spark: SparkSession, where: str, x: str = "id", s: str = "'row ' || id") -> DataFrame:
    """Rows with ids from 0 to 79 in partitions p0 to p3."""
    return spark.sql(
        f"select id, cast({x} as int) as x, {s} as s, id / 2D as d, 'p' || (id div 20) as p "
        f"from range(0, 80, 1, 8) where {where}"
    )


@pytest.mark.parametrize(
    ("type_", "version"),
    [(TableType.MOR, 9), long(TableType.COW, 9), long(TableType.MOR, 8), long(TableType.MOR, 6)],
)
def test_answers_are_right_after_each_action_of_a_writer(
    spark: SparkSession, tmp_path: Path, type_: TableType, version: int
) -> None:
    name = f"changing_{type_.name.lower()}_{version}"
    spec = TableSpec(name, type_, version, partitions=("p",))
    table = create(rows(spark, "true"), spec, tmp_path)
    pruner = Pruner(PruneOptions(footer_wait=20))
    moments: list[ExpectedSnapshot] = []
    instants: list[str] = []

    def check() -> None:
        frame = read(spark, table.path)
        assert_no_row_lost(pruner, table.path, frame, PREDICATES)
        current = HudiTable.open(str(table.path))
        assert current.instant is not None
        instants.append(current.instant)
        moments.append(
            ExpectedSnapshot(
                TableSnapshot.open(current, SnapshotOptions()),
                groups_with_matches(frame, PREDICATES),
            )
        )

    check()
    upsert(table, rows(spark, "id in (3, 45)", x="id + 1000", s="'new ' || id"))
    check()
    delete(table, rows(spark, "id in (5, 45, 77)"))
    check()
    # A failed write: the commit's files and index entries exist, its completion does not.
    upsert(table, rows(spark, "id in (7, 50)", x="id + 2000"))
    put_back = remove_completion(table)
    assert_no_row_lost(pruner, table.path, read(spark, table.path), PREDICATES)
    put_back()
    check()
    upsert(table, rows(spark, "id = 5", s="cast(null as string)"))
    check()
    overwrite_partitions(table, rows(spark, "id between 20 and 23", x="null"))
    check()
    call_procedure(spark, f"run_clustering(path => '{table.path}', order => 'x')", table)
    check()
    if type_ is TableType.MOR:
        upsert(table, rows(spark, "id in (7, 50)", x="-id"))
        call_procedure(spark, f"run_compaction(op => 'schedule', path => '{table.path}')", table)
        upsert(table, rows(spark, "id in (8, 50)", x="-2 * id"))
        check()
        call_procedure(spark, f"run_compaction(op => 'run', path => '{table.path}')", table)
        check()
    for travelled in instants[:2]:
        frame = read(spark, table.path, as__of__instant=travelled)
        assert_no_row_lost(pruner, table.path, frame, PREDICATES, as_of=travelled)
    for moment in moments:
        moment.assert_right()


def remove_completion(table: WrittenTable) -> Callable[[], None]:
    """Removes the completion of the newest commit; the result puts it back."""
    storage = Storage.open(table.uri)
    timeline = ".hoodie" if table.spec.version < 8 else ".hoodie/timeline"
    names = [entry.name for entry in storage.list(timeline)]
    ends = [name for name in names if name.endswith((".commit", ".deltacommit"))]
    newest = f"{timeline}/{max(name for name in ends if not name.startswith('.'))}"
    content = storage.read(newest)
    storage.delete(newest)
    return lambda: storage.write(newest, content)


def overwrite_partitions(table: WrittenTable, frame: DataFrame) -> None:
    """Replaces the partitions that have rows in the frame."""
    options = {**table.spec.options(), "hoodie.datasource.write.operation": "insert_overwrite"}
    frame.write.format("hudi").options(**options).mode("append").save(table.uri)


def call_procedure(spark: SparkSession, procedure: str, table: WrittenTable) -> None:
    """Runs one of Hudi's procedures with the table's own options."""
    prefixes = ("hoodie.metadata", "hoodie.write.table.version")
    own = {name: v for name, v in table.spec.options().items() if name.startswith(prefixes)}
    with session_settings(spark, own):
        spark.sql(f"call {procedure}").collect()
