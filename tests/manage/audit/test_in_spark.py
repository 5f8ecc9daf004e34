"""Spark's tasks find in indexes of rows what one process finds."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from pyspark.sql import SparkSession

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.audit.findings import Fault, Finding
from pyhudi_expr.manage.audit.remedies import TableRepair
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.operations import carry_out
from pyhudi_expr.spark import indexes
from pyhudi_expr.spark.audit import row_checks
from tests.manage.audit import faults
from tests.manage.audit.living_rows import LOWERED
from tests.manage.audit.living_table import LivingTable
from tests.manage.audit.seeding import EXTENSION_VALUES, tampered

pytestmark = pytest.mark.spark

_SEVERAL = (
    "two_keys_have_each_others_places",
    "a_deleted_key_has_a_place",
    "a_value_is_tampered_with",
    "a_null_is_missing",
)


def _facts(findings: Iterable[Finding]) -> set[tuple[object, ...]]:
    return {
        (one.store, one.partition, one.fault, one.file, one.subject, one.readers)
        for one in findings
    }


def test_a_right_table_has_no_finding(without_fault: LivingTable, spark: SparkSession) -> None:
    found = audit(without_fault.open(), AuditOptions(), row_checks=row_checks(spark))
    assert found.findings == ()
    assert [note.split(":")[0] for note in found.unchecked] == ["expr_index_lowered_filter"]


def test_the_same_faults_are_found(table: LivingTable, spark: SparkSession) -> None:
    for name in _SEVERAL:
        faults.seed(name, table)
    faults.seed("the_extension_lacks_a_value", table)
    with tampered(table, EXTENSION_VALUES, Store.EXTENSION) as records:
        records.pop(next(iter(records)))
    one_process = audit(table.open(), AuditOptions()).findings
    in_tasks = audit(table.open(), AuditOptions(), row_checks=row_checks(spark)).findings
    assert _facts(in_tasks) == _facts(one_process)
    assert len(in_tasks) > len(_SEVERAL)


@pytest.mark.smoke
def test_a_functions_range_is_compared_with_sparks(table: LivingTable, spark: SparkSession) -> None:
    expected = faults.seed("a_function_has_results_outside_its_range", table)
    found = audit(table.open(), AuditOptions(), row_checks=row_checks(spark)).findings
    assert [(one.partition, one.fault) for one in found] == [(LOWERED, Fault.RESULT_OUTSIDE_RANGE)]
    assert expected.file in found[0].file


def test_a_repair_leaves_no_finding_and_all_data_files(
    table: LivingTable, spark: SparkSession
) -> None:
    """Faults in several indexes, and in the lists of files."""
    for name in (
        "a_minimum_is_too_high",
        "two_keys_have_each_others_places",
        "a_value_is_tampered_with",
        "a_filter_lacks_a_key",
        "a_file_is_not_listed",
    ):
        faults.seed(name, table)
    before = {path: path.read_bytes() for path in table.path.glob("*/*.parquet")}
    found = audit(table.open(), AuditOptions())
    options = BuildOptions(wait=5)
    said: list[str] = []
    repair = TableRepair(
        found,
        options,
        lambda work: indexes.carry_out(spark, work, options),
        lambda: audit(table.open(), AuditOptions()),
        said.append,
    )
    plan = repair.plan()
    assert plan.mended == found.findings
    after = carry_out(repair, plan)
    assert said == plan.steps
    assert after.findings == ()
    assert {"hudi column_stats", "hudi record_index", "hudi bloom_filters"} <= set(after.checked)
    assert {path: path.read_bytes() for path in table.path.glob("*/*.parquet")} == before
