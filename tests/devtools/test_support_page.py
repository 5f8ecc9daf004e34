"""The page of engines and features says what the recorded results say, and names real tests."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from devtools.runtime import ROOT
from devtools.support.engines import TABLES
from devtools.support.page import PAGE, merged, outcomes, page, read

_FEATURES = [feature for table in TABLES for feature in table.features]
_TYPES = "tests/hive/queries/test_types.py"


@cache
def functions(module: str) -> frozenset[str]:
    """The functions of a module of tests."""
    body = ast.parse((ROOT / module).read_text()).body
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef))


def test_the_page_is_made_of_the_recorded_results() -> None:
    assert PAGE.read_text() == page(read()), "run `make support-page`"


@pytest.mark.parametrize("feature", _FEATURES, ids=lambda feature: str(feature.name))
def test_the_tests_of_a_feature_exist(feature) -> None:
    for test in feature.tests:
        module, _, function = test.partition("::")
        assert not function or function in functions(module)


def test_the_recorded_tests_exist() -> None:
    for tests in read().values():
        for test in tests:
            module, _, function = test.partition("::")
            assert function in functions(module)


@pytest.fixture
def junit(tmp_path: Path) -> Path:
    """Results of three cases with Hive 4.2."""
    file = tmp_path / "hive-4.2-types.xml"
    case = '<testcase classname="tests.hive.queries.test_types" name='
    file.write_text(
        f'<testsuites><testsuite>{case}"test_a[x]"/>{case}"test_a[y]"><skipped/></testcase>'
        f'{case}"test_b"><failure/></testcase></testsuite></testsuites>'
    )
    return file


def test_failures_are_shown(junit: Path) -> None:
    found = outcomes([junit])
    a, b = {"passed": 1, "skipped": 1}, {"failed": 1}
    assert found == {"Hive 4.2": {f"{_TYPES}::test_a": a, f"{_TYPES}::test_b": b}}
    of_hive = page(found).split("## ")[1].splitlines()
    (row,) = [line for line in of_hive if line.startswith("| types |")]
    assert row.split(" | ")[1:5] == ["—", "—", "—", "**1 of 2 failed**"]


def test_the_newest_result_of_a_test_counts(junit: Path) -> None:
    older = {"Hive 4.2": {f"{_TYPES}::test_b": {"passed": 9}, f"{_TYPES}::test_c": {"passed": 2}}}
    now = merged(older, outcomes([junit]))["Hive 4.2"]
    assert (now[f"{_TYPES}::test_b"], now[f"{_TYPES}::test_c"]) == ({"failed": 1}, {"passed": 2})


def test_a_case_belongs_to_the_version_that_it_names(tmp_path: Path) -> None:
    file = tmp_path / "pyspark.xml"
    name = "test_arrow_types_are_those_of_spark_3_5"
    file.write_text(
        '<testsuites><testsuite><testcase classname="tests.packaging.test_spark_versions"'
        f' name="{name}[4.2]"/></testsuite></testsuites>'
    )
    assert outcomes([file]) == {
        "PySpark 4.2": {f"tests/packaging/test_spark_versions.py::{name}": {"passed": 1}}
    }
