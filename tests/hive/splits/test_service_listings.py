"""The service's list of files makes the same splits as Hudi's own listing of the table."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from devtools.matrix import Matrices, Partitioning
from devtools.service import ServiceProcess
from devtools.tables import TableType
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from tests.conftest import GOLDEN_DATA
from tests.flink_rows import NAMES as FLINK
from tests.hive.splits.planned_splits import Planned, Question, planned
from tests.marks import long

pytestmark = [pytest.mark.hive, pytest.mark.slow]

GOLDEN = sorted(path.stem for path in GOLDEN_DATA.glob("*.zip"))
OPERATORS = ("=", "<", ">=")
COLUMNS = 2
TYPES = {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string"}

Asked = dict[str, list[tuple[Question, Planned, Planned]]]


def is_listed_by_service(table: Path) -> bool:
    """Whether it has a metadata table, and a timeline with completion times."""
    properties = HudiTable.open(str(table)).properties
    return "files" in properties.metadata_partitions and properties.timeline_layout > 1


def questions(table: Path) -> Iterator[Question]:
    """Comparisons of some columns with a value of a base file, if there is one, in both views."""
    opened = HudiTable.open(str(table))
    schema = opened.schema()
    fields = [f for f in schema if f.type in TYPES and not f.name.startswith("_hoodie")]
    bases = opened.listing(TableView.READ_OPTIMIZED)
    rows = (
        pq.read_table(table / bases.paths(~bases.file_is_log)[0], partitioning=None)
        if bases.num_files
        else schema.empty_table()
    )
    for field in fields[:COLUMNS]:
        greatest = pc.max(rows[field.name]).as_py()
        literal = "5" if greatest is None else str(greatest)
        for operator, view in itertools.product(OPERATORS, TableView):
            yield Question(table, view, True, field.name, TYPES[field.type], operator, literal)


def asked(service: ServiceProcess, tables: Mapping[str, Path], scratch: Path) -> Asked:
    """Each question's scans: with the service's list, and with Hudi's listing."""
    every = [(name, question) for name, table in tables.items() for question in questions(table)]
    with_service = [question for _, question in every]
    with_hudi = [replace(question, service_lists=False) for question in with_service]
    answers = planned(service.address, [*with_service, *with_hudi], scratch)
    found: Asked = {name: [] for name in tables}
    half = len(every)
    for (name, question), ours, hudis in zip(every, answers[:half], answers[half:], strict=True):
        found[name].append((question, ours, hudis))
    return found


def assert_equal(found: list[tuple[Question, Planned, Planned]], *, by_service: bool) -> None:
    """The splits of each question are equal, and the files are counted alike."""
    assert found
    for question, ours, hudis in found:
        assert ours.outcome == hudis.outcome == "PRUNED", question
        assert hudis.listing == "BY_HUDI"
        assert ours.listing == ("BY_SERVICE" if by_service else "BY_HUDI"), question
        assert ours.splits == hudis.splits, question
        assert ours.files_considered == hudis.files_considered, question
        assert ours.files_kept == hudis.files_kept, question
    assert any(ours.splits for _, ours, _ in found)


def assert_pruned(found: list[tuple[Question, Planned, Planned]]) -> None:
    assert any(ours.files_kept < ours.files_considered for _, ours, _ in found)


@pytest.fixture(scope="module")
def of_tables(
    golden: Mapping[str, Path],
    flink: Mapping[str, Path],
    pruning_service: ServiceProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Asked:
    """Of golden tables and of those that Flink wrote, by one JVM."""
    tables = {name: golden[name] for name in GOLDEN} | {name: flink[name] for name in FLINK}
    return asked(pruning_service, tables, tmp_path_factory.mktemp("splits"))


@pytest.mark.smoke("mor_v6_simplekeygen")
@pytest.mark.parametrize("name", GOLDEN)
def test_splits_of_golden_tables(name: str, golden: Mapping[str, Path], of_tables: Asked) -> None:
    """Some of them have pending compactions, log files, and groups that others replaced."""
    by_service = is_listed_by_service(golden[name])
    assert_equal(of_tables[name], by_service=by_service)
    if by_service:
        assert_pruned(of_tables[name])


@pytest.mark.smoke("mor_indexed")
@pytest.mark.parametrize("name", FLINK)
def test_splits_of_tables_that_flink_wrote(
    name: str, flink: Mapping[str, Path], of_tables: Asked
) -> None:
    """They have version 6, in which Hudi's listing depends on times that archives do not keep."""
    assert_equal(of_tables[name], by_service=is_listed_by_service(flink[name]))


def test_golden_tables_have_slices_with_log_files(of_tables: Asked) -> None:
    logs = {
        name
        for name, found in of_tables.items()
        for _, ours, _ in found
        if ours.listing == "BY_SERVICE" and any(".log." in split for split in ours.splits)
    }
    assert "mor_v8_metadata_pending_compaction" in logs


def test_a_pending_write_is_not_listed(
    golden: Mapping[str, Path], pruning_service: ServiceProcess, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    shutil.copytree(golden["mor_v9_txns_simple_meta"], table)
    instant = "99990101000000000"
    for state in ("requested", "inflight"):
        (table / f".hoodie/timeline/{instant}.deltacommit.{state}").touch()
    base = next(table.glob("region=us/*.parquet"))
    file_id = base.name.partition("_")[0]
    (base.parent / f".{file_id}_{instant}.log.1_0-0-0").write_bytes(bytes(100))
    found = asked(pruning_service, {"pending": table}, tmp_path)["pending"]
    assert_equal(found, by_service=True)
    assert_pruned(found)
    assert not any(instant in split for _, ours, _ in found for split in ours.splits)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("type_", "version", "partitioning"),
    [
        (TableType.MOR, 9, Partitioning.SPECIAL),
        (TableType.COW, 9, Partitioning.NONE),
        long(TableType.MOR, 8, Partitioning.LEVELS),
        long(TableType.MOR, 6, Partitioning.HIVE),
    ],
)
def test_splits_of_tables_with_statistics(
    matrices: Matrices,
    pruning_service: ServiceProcess,
    tmp_path: Path,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
) -> None:
    table = matrices.get(type_, version, partitioning).table
    found = asked(pruning_service, {table.name: table.path}, tmp_path)[table.name]
    assert_equal(found, by_service=version > 6)
    assert_pruned(found)
