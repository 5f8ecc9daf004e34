"""Hudi 1.2.1: the same rows of merged slices as with Hudi 1.2.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.hive_versions import HIVE_4
from devtools.hiveserver import HiveServer
from devtools.runtime import WORK
from devtools.service import ServiceProcess
from tests.hive.query_results import FETCH, MR, Hive

pytestmark = [pytest.mark.hive, pytest.mark.long]

# What has other names since Hudi 1.2.0; the bundle of that version supplies the rest.
HUDI_1_2_1 = sorted((WORK / "links" / "hudi").glob("*.jar"))
_READER = "org.apache.hudi.common.table.read.HoodieFileGroupReader"
MERGED = ("mor_v9_txns_simple_meta", "mor_v6_simplekeygen_nonhivestyle")


@pytest.fixture(scope="module")
def later(
    pruning_service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hive]:
    assert HUDI_1_2_1, "run `make links`"
    jars = (*HUDI_1_2_1, *HIVE_4.aux_jars())
    with (
        HiveServer(tmp_path_factory.mktemp("hive"), zone="America/New_York", jars=jars) as server,
        Hive(server, pruning_service, tmp_path_factory.mktemp("scans")) as running,
    ):
        yield running


@pytest.mark.parametrize("name", MERGED)
def test_merged_slices_have_the_same_rows(
    hive: Hive, later: Hive, golden: Mapping[str, Path], name: str
) -> None:
    for each in (hive, later):
        each.run(create_with_handler(f"merged_{name}", golden[name]))
    query = f"SELECT * FROM merged_{name}"
    for engine in (FETCH, MR):
        rows = hive.query(query, engine).rows
        assert rows
        assert later.query_both_ways(query, engine).rows == rows


def test_the_server_has_hudi_1_2_1(later: Hive) -> None:
    builder = f"{_READER}$HoodieFileGroupReaderBuilder"
    (row,) = later.query(f"SELECT reflect('java.lang.Class', 'forName', '{builder}')").rows
    assert row == (f"class {builder}",)
