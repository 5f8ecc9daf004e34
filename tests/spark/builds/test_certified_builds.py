"""Indexes built here come with certificates, and are repaired where Hudi does not follow them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.manage.indexing import index_plan
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds import certifying
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.spark.query.dataframes import pruned
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable
from pyhudi_expr.tables.mdt.certificates import stored
from pyhudi_expr.tables.mdt.certificates.certificates import decoded_values
from pyhudi_expr.tables.mdt.extension import Extension
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.index.prune.changes.direct_lookups import looked_up_directly
from tests.index.prune.changes.test_long_lived_pruner import rows
from tests.index.prune.matching_slices import assert_no_row_lost, read, request
from tests.spark.builds.test_hudi_reads_indexes import with_options

pytestmark = pytest.mark.spark

_VALUES = ("s = 'row 7'", "s IN ('row 3', 'new 5', '')", "s <=> null", "s = 'nobody'")


@pytest.fixture
def directly() -> Iterator[None]:
    """No index is read into memory, and certificates are those beside the table."""
    with looked_up_directly():
        yield


def spec(type_: TableType) -> TableSpec:
    return TableSpec("t", type_, 9, partitions=("p",), stats_columns=None)


def forget_certificates() -> None:
    for held in (stored._RECORDS, stored._VALUES):
        held._known.clear()


def statuses(spark: SparkSession, table: HudiTable) -> dict[str, IndexStatus]:
    shown = execute(spark, f"SHOW INDEXES FROM '{table.uri}'")
    assert isinstance(shown, list)
    return {one.name: one for one in shown}


@pytest.mark.smoke("in this process-extension")
@pytest.mark.parametrize("store", ["hudi", "extension"])
@pytest.mark.parametrize("many", [True, False], ids=["in tasks", "in this process"])
def test_a_build_writes_certificates(
    store: str,
    many: bool,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    directly: None,
) -> None:
    monkeypatch.setattr(certifying, "LOCAL_BYTES", 0 if many else 1 << 30)
    table = create(rows(spark, "true"), spec(TableType.COW), tmp_path)
    execute(
        spark,
        f"CREATE INDEX texts ON '{table.uri}' USING secondary_index(s) "
        f"OPTIONS (store = '{store}', shards = 2)",
    )
    opened = OpenedTable.open(table.uri)
    extension = Extension.open(opened)
    mdt = MetadataTable.open(opened) if extension is None else extension.records
    assert mdt is not None
    forget_certificates()
    written = stored.record_certificate(mdt), stored.value_certificate(mdt, "secondary_index_texts")
    anew = stored.certify_records(mdt), stored.certify_values(mdt, "secondary_index_texts")
    assert written[0] is not None
    assert written[1] is not None
    assert anew[1].sums is not None
    for found, expected in ((written[0].sums, anew[0].sums), (written[1].sums, anew[1].sums)):
        assert found is not None
        assert sorted(found.table.to_pylist(), key=str) == sorted(
            expected.table.to_pylist(), key=str
        )
    assert written[1].doubtful.to_pylist() == anew[1].doubtful.to_pylist() == []
    assert written[1].numbers_only == anew[1].numbers_only
    forget_certificates()
    assert_no_row_lost(Pruner(), table.uri, read(spark, table.uri), _VALUES)
    assert Pruner().prune(table.uri, request("s = 'nobody'")).files_kept == 0
    execute(spark, f"DROP INDEX texts ON '{table.uri}'")
    forget_certificates()
    assert stored._stored(mdt, "secondary_index_texts", decoded_values) is None


def test_pruned_uses_an_index_the_first_time(
    spark: SparkSession, tmp_path: Path, directly: None
) -> None:
    table = create(rows(spark, "true"), spec(TableType.COW), tmp_path)
    execute(spark, f"CREATE INDEX texts ON '{table.uri}' USING secondary_index(s)")
    forget_certificates()
    few = pruned(spark, table.uri, "s = 'row 7'")
    assert len(few.inputFiles()) == 1
    assert few.count() == read(spark, table.uri).where("s = 'row 7'").count() == 1


def test_an_index_that_hudi_does_not_follow_is_partial_until_it_is_refreshed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two secondary indexes Hudi follows log files in the first only; its own SQL makes both."""
    monkeypatch.setattr(index_plan, "has_others_with_logs", lambda *_: False)
    table = create(rows(spark, "true"), spec(TableType.MOR), tmp_path)
    for name, column in (("numbers", "x"), ("texts", "s")):
        execute(spark, f"CREATE INDEX {name} ON '{table.uri}' USING secondary_index({column})")
    table = with_options(table, writer_options(table.uri))
    upsert(table, rows(spark, "id in (3, 5, 7)", s="'new ' || id"))
    frame = read(spark, table.uri).cache()
    found = statuses(spark, table)["texts"]
    assert (found.state, "refresh it" in found.note) == (State.PARTIAL, True)
    answered, slices = [int(word) for word in found.note.split() if word.isdigit()][:2]
    assert 0 < answered < slices
    said = f"secondary_index_texts answers for {answered} of {slices} file slices"
    assert any(said in note for note in Pruner().prune(table.uri, request("s = 'x'")).notes)
    assert_no_row_lost(Pruner(), table.uri, frame, _VALUES)
    assert execute(spark, f"REFRESH INDEX texts ON '{table.uri}'") is not None
    assert statuses(spark, table)["texts"].state is State.ACTIVE
    assert execute(spark, f"REFRESH INDEX texts ON '{table.uri}'") is None
    assert_no_row_lost(Pruner(), table.uri, frame, _VALUES)
    after = Pruner().prune(table.uri, request("s = 'nobody'"))
    assert (after.files_kept, [note for note in after.notes if "answers for" in note]) == (0, [])
    assert RECORD_INDEX in OpenedTable.open(table.uri).properties.metadata_partitions


def test_an_index_that_changes_while_it_is_certified_is_not(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Entries of a later state would be counted again with the log blocks that added them."""
    monkeypatch.setattr(certifying, "LOCAL_BYTES", 0)
    table = create(rows(spark, "id < 70"), spec(TableType.COW), tmp_path)
    execute(spark, f"CREATE INDEX texts ON '{table.uri}' USING secondary_index(s)")
    opened = OpenedTable.open(table.uri)
    earlier = MetadataTable.open(opened)
    assert earlier is not None
    earlier.groups(RECORD_INDEX)
    earlier.groups("secondary_index_texts")
    upsert(with_options(table, writer_options(table.uri)), rows(spark, "id >= 70"))
    certify = (certifying.counted, partial(certifying.paired, index="secondary_index_texts"))
    for each in certify:
        with pytest.raises(HudiError, match="has changed"), translate_spark_errors():
            each(spark, opened, Store.HUDI, earlier)
    with monkeypatch.context() as patch:
        patch.setattr(certifying, "metadata_of", lambda *_: earlier)
        patch.setattr(stored, "record_certificate", lambda _: None)
        certifying.certify(spark, opened, Store.HUDI)
    assert "no certificates of its indexes are written" in caplog.text
