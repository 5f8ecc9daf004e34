"""`pyhudi audit`: output, exit codes, and repairs that need no Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pyhudi_expr.tables.hudi_names import METADATA_DIR, RECORD_INDEX
from tests.cli.conftest import Run
from tests.manage.audit import faults
from tests.manage.audit.living_rows import LOWERED, LOWERED_FILTER
from tests.manage.audit.living_table import LivingTable

SLOWER, WRONG = 3, 4


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> LivingTable:
    return faults.healthy(tmp_path_factory.mktemp("healthy") / "table")


@pytest.fixture
def table(healthy: LivingTable, tmp_path: Path) -> LivingTable:
    shutil.copytree(healthy.path, tmp_path / "table")
    return LivingTable(tmp_path / "table", healthy.random, groups=healthy.groups)


@pytest.fixture
def run(run: Run, capsys: pytest.CaptureFixture[str]) -> Run:
    """Commands that end the process with a code of their own return it."""

    def ran(*arguments: object) -> tuple[int, str, str]:
        try:
            return run(*arguments)
        except SystemExit as ended:
            captured = capsys.readouterr()
            return int(ended.code or 0), captured.out, captured.err

    return ran


def test_nothing_is_wrong(table: LivingTable, run: Run) -> None:
    code, out, _ = run("audit", table.path)
    assert code == 0
    assert out == (
        "nothing is wrong: 3 of 3 file slices, 9 metadata partitions, as of 20260101000004000\n"
    )


def test_a_finding_has_its_file_its_queries_and_its_remedy(table: LivingTable, run: Run) -> None:
    faults.seed("nan_made_the_range_zeros", table)
    code, out, _ = run("audit", table.path)
    assert code == WRONG
    lines = out.splitlines()
    assert lines[0].startswith("column_stats (hudi): range_without_nan in a/")
    assert lines[0].endswith(".parquet (score)")
    assert lines[1:4] == [
        "  expected -1.5 to nan, found 0.0 to 0.0",
        "  rows lost by readers of hudi: score = -1.5",
        f"  pyhudi audit {table.path} --repair drops column_stats and builds it again",
    ]
    assert lines[4].startswith("1 rows lost: 3 of 3 file slices")


def test_slower_queries_have_an_exit_code_of_their_own(table: LivingTable, run: Run) -> None:
    faults.seed("a_minimum_is_too_low", table)
    assert run("audit", table.path)[0] == SLOWER


def test_an_audit_that_fails_has_the_code_of_failures(tmp_path: Path, run: Run) -> None:
    code, out, err = run("audit", tmp_path / "nothing")
    assert (code, out) == (1, "")
    assert "no Hudi table here" in err


def test_json_has_all_of_a_finding(table: LivingTable, run: Run) -> None:
    expected = faults.seed("a_key_is_missing", table)
    code, out, _ = run("audit", table.path, "--json")
    report = json.loads(out)
    (one,) = report["findings"]
    assert code == WRONG
    assert (report["worst"], report["slices"], report["seed"]) == ("rows lost", 3, None)
    assert (one["partition"], one["fault"], one["readers"]) == (
        "record_index",
        "key_missing",
        ["hudi"],
    )
    assert expected.file in one["file"]


def test_a_sample_can_be_drawn_again(table: LivingTable, run: Run) -> None:
    _, out, _ = run("audit", table.path, "--sample", 2, "--json")
    seed = json.loads(out)["seed"]
    code, again, _ = run("audit", table.path, "--sample", 2, "--seed", seed)
    assert code == 0
    assert f"2 of 3 file slices, seed {seed}" in again


@pytest.mark.parametrize("options", [("--dry-run",), ("--seed", "1"), ("--sample", "0")])
def test_options_that_mean_nothing_are_refused(
    table: LivingTable, run: Run, options: tuple[str, ...]
) -> None:
    assert run("audit", table.path, *options)[0] == 2


def test_a_dry_run_changes_nothing(table: LivingTable, run: Run) -> None:
    faults.seed("two_keys_have_each_others_places", table)
    before = {path: path.read_bytes() for path in table.path.rglob("*") if path.is_file()}
    code, out, _ = run("audit", table.path, "--repair", "--dry-run")
    assert code == WRONG
    would = [line for line in out.splitlines() if line.startswith("would ")]
    assert [line.split(": removes ")[0] for line in would] == [
        "would drop the index by_name",
        "would drop the index by_number",
        "would drop the index record_index",
        "would build the index record_index (record_index)",
        "would build the index by_number (secondary_index)",
        "would build the index by_name (secondary_index)",
    ]
    stored = [file for file in before if file.parent == table.path / METADATA_DIR / RECORD_INDEX]
    size = sum(file.stat().st_size for file in stored)
    assert would[2].endswith(f"{METADATA_DIR}/record_index ({len(stored)} files, {size:,} bytes)")
    assert {path: path.read_bytes() for path in table.path.rglob("*") if path.is_file()} == before


def test_wrong_lists_of_files_are_made_again_without_spark(table: LivingTable, run: Run) -> None:
    for name in ("by_name", "by_number", "record_index", "column_stats", "bloom_filters"):
        assert run("index", "drop", table.path, name, "--yes")[0] == 0
    for name in (LOWERED, LOWERED_FILTER):
        assert run("index", "drop", table.path, name, "--yes")[0] == 0
    faults.seed("a_file_is_not_listed", table)
    assert run("audit", table.path)[0] == WRONG
    code, out, err = run("audit", table.path, "--repair", "--yes")
    assert (code, out.split(":")[0]) == (0, "nothing is wrong")
    assert "make Hudi's metadata table again" in err
    assert f"removes {METADATA_DIR}/files (" in err


def test_an_index_that_only_costs_time_and_cannot_be_built_again_is_kept(
    table: LivingTable, run: Run
) -> None:
    """Hudi's readers use it."""
    faults.seed("a_definition_is_missing", table)
    _, out, _ = run("audit", table.path, "--repair", "--dry-run")
    lines = out.splitlines()
    assert not any(line.startswith("would ") for line in lines)
    assert [line for line in lines if line.startswith("left: ")] == [
        "left: by_number only costs time, and cannot be built again (Hudi's writers build it): it "
        "stays as it is"
    ]


def test_a_metadata_table_that_is_gone_is_made_again_and_nothing_is_removed(
    table: LivingTable, run: Run
) -> None:
    faults.seed("the_metadata_table_is_gone", table)
    code, out, _ = run("audit", table.path, "--repair", "--dry-run")
    assert code == SLOWER
    steps = [line for line in out.splitlines() if line.startswith("would ")]
    (made,) = (line for line in steps if "Hudi's metadata table" in line)
    assert made.endswith("removes nothing")
    assert all(line.endswith("removes nothing") for line in steps if " drop " in line)


def test_a_damaged_data_file_is_left_to_a_person(table: LivingTable, run: Run) -> None:
    expected = faults.seed("a_data_file_is_truncated", table)
    _, out, _ = run("audit", table.path, "--repair", "--dry-run")
    (left,) = (line for line in out.splitlines() if line.startswith("left: "))
    assert expected.file in left
    assert "restore the file from a backup" in left
