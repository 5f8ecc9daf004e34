"""Who does what SHOW INDEXES advises has an index that answers for all file slices.

`inspect` and `explain` say the same, or that SHOW INDEXES says why. What it says of other states is
followed in `test_certified_builds` (values that Hudi does not write) and `test_hudi_reads_indexes`
(an index that a writer or a restore deleted).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from pyhudi_expr.index.catalog.status import State
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.manage.audit.findings import Audit
from pyhudi_expr.manage.audit.remedies import TableRepair
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.operations import carry_out
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.indexes import carry_out as carry_out_build
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_names import METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable
from pyhudi_expr.tables.mdt.extension import EXTENSION_DIR
from tests.index.prune.changes.test_long_lived_pruner import call_procedure
from tests.index.prune.changes.test_table_services import MANUAL
from tests.index.prune.matching_slices import assert_no_row_lost, read, request
from tests.spark.builds.test_certified_builds import statuses
from tests.spark.builds.test_hudi_reads_indexes import with_options
from tests.spark.builds.test_slice_proofs import always_worth_it, compaction, rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures(always_worth_it.__name__)]

_ALONE = PruneOptions(footer_seconds=0, footer_wait=30)
_PREDICATES = ("s = 'row 7'", "s = 'new'", "id = 3", "id = 7")


def indexed(
    spark: SparkSession,
    parent: Path,
    name: str,
    extra: Mapping[str, str] = MANUAL,
    made_with: str = "",
) -> HudiTable:
    options = {**MANUAL, **extra}
    spec = TableSpec(
        name, TableType.MOR, 9, ordering="o", partitions=("p",), stats_columns=None, extra=options
    )
    table = create(rows(spark, ", ".join(map(str, range(80)))), spec, parent)
    execute(spark, f"CREATE INDEX texts ON '{table.uri}' USING secondary_index(s) {made_with}")
    return with_options(table, writer_options(table.uri))


def kept(table: HudiTable, condition: str) -> int:
    """The number of slices that a query reads."""
    return int(Pruner(_ALONE).prune(table.uri, request(condition)).keep.sum())


def without_entries(spark: SparkSession, root: Path, name: str) -> HudiTable:
    """A table with a row whose entries are gone.

    A delete with an older ordering value loses, but Hudi deletes the entries.
    """
    table = indexed(spark, root, name)
    upsert(table, rows(spark, "3", "'new'", "50"))
    deleted = rows(spark, "3", "'new'", "-1")
    upsert(table, deleted.withColumn("_hoodie_is_deleted", deleted.id.isNotNull()))
    return table


def test_entries_that_hudi_removed_come_back_by_a_refresh(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = without_entries(spark, tmp_path, "refreshed")
    frame = read(spark, table.uri).cache()
    assert frame.where("id = 3").count() == 1
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)
    assert (kept(table, "s = 'nobody'"), kept(table, "id = 12345")) == (1, 1)
    found = statuses(spark, table)
    assert found["record_index"].state is State.DOUBTED
    assert found["texts"].state is State.PARTIAL
    for name in ("record_index", "texts"):
        assert "refresh it" in found[name].note
        execute(spark, f"REFRESH INDEX {name} ON '{table.uri}'")
    after = statuses(spark, table).values()
    assert [(one.state, one.note) for one in after] == [(State.ACTIVE, "")] * len(after)
    assert (kept(table, "s = 'nobody'"), kept(table, "id = 12345")) == (0, 0)
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)


def test_slices_that_are_not_merged_here_are_read_after_a_compaction(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A column of one's own marks rows as deleted."""
    marker = {"hoodie.payload.delete.field": "s", "hoodie.payload.delete.marker": "gone"}
    table = indexed(spark, tmp_path, "compacted", marker)
    spark.sql("DROP TABLE IF EXISTS compacted")
    spark.sql(f"CREATE TABLE compacted USING hudi LOCATION '{table.uri}'")
    upsert(table, rows(spark, "3", "'gone'", "1"))
    upsert(table, rows(spark, "7", "'new'", "1"))
    frame = read(spark, table.uri).cache()
    assert frame.count() == 79
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)
    assert kept(table, "s = 'nobody'") == 1
    found = statuses(spark, table)["texts"]
    assert (found.state, "compact the table" in found.note) == (State.PARTIAL, True)
    for operation in ("schedule", "run"):
        call_procedure(spark, compaction(table, operation), table)
    assert statuses(spark, table)["texts"].state is State.ACTIVE
    assert (kept(table, "s = 'nobody'"), kept(table, "id = 12345")) == (0, 0)
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)


def damaged(table: HudiTable, partition: str) -> None:
    for file in (table.path / METADATA_DIR / partition).glob("*.hfile"):
        file.write_bytes(b"nothing")


def removed(table: HudiTable, directory: str) -> None:
    shutil.rmtree(table.path / directory)


def unreadable(table: HudiTable, directory: str) -> None:
    (table.path / directory / ".hoodie/hoodie.properties").write_bytes(b"\xff\xfe garbage")


def repair(spark: SparkSession, table: HudiTable) -> None:
    """What `pyhudi audit --repair` does; all findings are gone then."""

    def audited() -> Audit:
        return audit(OpenedTable.open(table.uri), AuditOptions())

    options = BuildOptions(wait=1)
    operation = TableRepair(
        audited(), options, lambda work: carry_out_build(spark, work, options), audited, print
    )
    assert carry_out(operation, operation.plan()).findings == ()


def assert_answers(spark: SparkSession, table: HudiTable, frame: DataFrame) -> None:
    after = statuses(spark, table).values()
    assert [(one.state, one.note) for one in after] == [(State.ACTIVE, "")] * len(after)
    assert (kept(table, "s = 'nobody'"), kept(table, "id = 12345")) == (0, 0)
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)


@pytest.mark.parametrize(
    ("harm", "what", "said"),
    [
        (damaged, "secondary_index_texts", "no query uses it"),
        (damaged, "record_index", "no query uses it"),
        (removed, f"{METADATA_DIR}/secondary_index_texts", "no query uses it"),
        (removed, METADATA_DIR, "the metadata table is gone"),
        (unreadable, METADATA_DIR, "the metadata table cannot be read"),
    ],
    ids=["damaged values", "damaged keys", "no values", "no metadata table", "an unreadable one"],
)
def test_broken_indexes_are_built_anew(
    harm: Callable[[HudiTable, str], None],
    what: str,
    said: str,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    table = indexed(spark, tmp_path, "broken")
    upsert(table, rows(spark, "3", "'new'", "50"))
    frame = read(spark, table.uri).cache()
    assert frame.count() == 80
    harm(table, what)
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)
    found = statuses(spark, table)
    broken = [name for name, one in sorted(found.items()) if one.state is State.BROKEN]
    assert broken
    assert all(said in found[name].note for name in broken), found
    if any("move " in found[name].note for name in broken):
        shutil.move(table.path / METADATA_DIR, tmp_path / "away")
    if any("pyhudi audit --repair" in found[name].note for name in broken):
        repair(spark, table)
    for name, one in sorted(statuses(spark, table).items()):
        if "refresh it" in one.note:
            execute(spark, f"REFRESH INDEX {name} ON '{table.uri}'")
    assert_answers(spark, table, frame)


def test_an_index_that_is_gone_from_the_extension_comes_back_by_a_refresh(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = indexed(spark, tmp_path, "ours", {}, "OPTIONS (store = 'extension')")
    frame = read(spark, table.uri).cache()
    assert frame.count() == 80
    removed(table, EXTENSION_DIR)
    found = statuses(spark, table)["texts"]
    assert (found.state, found.note) == (
        State.DROPPED,
        "it is gone from the extension; refresh it",
    )
    execute(spark, f"REFRESH INDEX texts ON '{table.uri}'")
    assert_answers(spark, table, frame)


def test_keys_that_hudi_removed_are_in_an_index_of_the_extension(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The other advice for a record index that lacks keys; Hudi's has to go first."""
    table = without_entries(spark, tmp_path, "beside")
    assert "build it with store = 'extension'" in statuses(spark, table)["record_index"].note
    for statement in (
        f"DROP INDEX texts ON '{table.uri}'",
        f"DROP INDEX record_index ON '{table.uri}'",
        f"CREATE INDEX keys ON '{table.uri}' USING record_index OPTIONS (store = 'extension')",
        f"CREATE INDEX texts ON '{table.uri}' USING secondary_index(s) "
        "OPTIONS (store = 'extension')",
    ):
        execute(spark, statement)
    assert_answers(spark, table, read(spark, table.uri).cache())
