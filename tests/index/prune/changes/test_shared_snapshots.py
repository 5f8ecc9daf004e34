"""Snapshots that one process publishes for all: they are used, and never change an answer."""

from __future__ import annotations

import json
import logging
import shutil
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from bench.tables import synthetic
from pyhudi_expr.cli.main import cli
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.manage.operations import run
from pyhudi_expr.manage.publishing import BoundsReader, Published, SnapshotPublication
from pyhudi_expr.spark.jobs.batch_runner import LocalRunner, Runner, SparkRunner
from pyhudi_expr.spark.query.sharded_bounds import keep_bounds

FILES, PARTITIONS = 2_000, 8
ROWS = FILES * synthetic.ROWS_PER_FILE
COLUMNS = ("spread", "amount", "code")
PREDICATES = (
    f"spread < {ROWS // 3}",
    f"spread >= {ROWS // 3} OR spread IS NULL",
    f"spread < {ROWS // 3} AND (amount > {ROWS // 8} OR code >= 'item-{ROWS // 20:010d}')",
)


def answers(table: Path, own: Path | None = None, shared: Path | None = None) -> list[list[str]]:
    """The files kept for each predicate, by a new pruner with these directories."""
    options = PruneOptions(snapshot_dir=own, shared_snapshots=str(shared) if shared else None)
    pruner = Pruner(options)
    results = [pruner.prune(str(table), PruneRequest(parse_predicate(sql))) for sql in PREDICATES]
    assert [result.notes for result in results] == [(), (), ()]
    return [sorted(result.kept_paths()) for result in results]


def publish(
    table: Path,
    target: Path,
    columns: tuple[str, ...] = COLUMNS,
    reader: BoundsReader | None = None,
) -> Published:
    with TemporaryDirectory() as workplace:
        return run(SnapshotPublication(str(table), columns, str(target), Path(workplace), reader))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("synthetic") / "table"
    synthetic.write_table(target, files=FILES, partitions=PARTITIONS)
    return target


@pytest.fixture(scope="module")
def published(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the table's listing and the bounds of three columns."""
    target = tmp_path_factory.mktemp("published")
    found = publish(table, target)
    assert (found.files, found.snapshots) == (FILES, len(contents(target)))
    assert found.bytes == sum(map(len, contents(target).values()))
    return target


@pytest.fixture
def shared(published: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(published, tmp_path / "shared")


def contents(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def test_a_service_maps_what_another_process_published(
    table: Path, published: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    assert answers(table, own, published) == answers(table)
    large = {name: content for name, content in contents(own).items() if len(content) > 30_000}
    assert len(large) == 1 + len(COLUMNS)
    assert large.items() <= contents(published).items()


def test_publishing_again_writes_nothing(table: Path, published: Path) -> None:
    before = contents(published)
    assert publish(table, published).snapshots == 0
    assert contents(published) == before


_DAMAGES = pytest.mark.parametrize("damage", ["flipped", "cut", "of another file"])


def damaged(shared: Path, damage: str) -> None:
    files = sorted(shared.iterdir())
    others = [file.read_bytes() for file in (*files[1:], files[0])]
    for file, other in zip(files, others, strict=True):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        kinds = {"flipped": bytes(content), "cut": bytes(content[:-70]), "of another file": other}
        file.write_bytes(kinds[damage])


@_DAMAGES
def test_a_damaged_snapshot_is_not_used(
    table: Path, shared: Path, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    damaged(shared, damage)
    assert answers(table, tmp_path / "own", shared) == answers(table)
    assert any("is not used and removed" in record.getMessage() for record in caplog.records)


@_DAMAGES
def test_publishing_again_mends_what_is_damaged(
    table: Path, published: Path, shared: Path, damage: str
) -> None:
    damaged(shared, damage)
    found = publish(table, shared)
    assert found.snapshots == len(contents(published))
    assert contents(shared) == contents(published)


def test_a_directory_that_cannot_be_read_costs_one_line_for_each_snapshot(
    table: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    assert answers(table, tmp_path / "own", tmp_path / "file" / "shared") == answers(table)
    assert all(record.levelno == logging.WARNING for record in caplog.records)


def test_a_later_state_of_the_table_is_made_from_it(
    table: Path, shared: Path, tmp_path: Path
) -> None:
    later, own = shutil.copytree(table, tmp_path / "table"), tmp_path / "own"
    publish(later, shared)
    synthetic.add_commit(later, files=FILES, number=1)
    assert answers(later, own, shared) == answers(later)
    large = {name: content for name, content in contents(own).items() if len(content) > 30_000}
    assert len(large) == 1 + len(COLUMNS)
    assert large.items() <= contents(shared).items()


def kept_by_tasks(table: Path, runner: Runner, bucket_bytes: int, target: Path) -> dict[str, bytes]:
    """What is published if tasks read the bounds."""
    publish(table, target, reader=partial(keep_bounds, runner, bucket_bytes=bucket_bytes))
    return contents(target)


@pytest.mark.parametrize("bucket_bytes", [1 << 30, 10_000])
def test_tasks_publish_the_same_bytes(
    table: Path, published: Path, tmp_path: Path, bucket_bytes: int
) -> None:
    found = kept_by_tasks(table, LocalRunner(), bucket_bytes, tmp_path / "tasks")
    assert found == contents(published)


@pytest.mark.smoke
@pytest.mark.spark
def test_sparks_tasks_publish_the_same_bytes(
    spark: SparkSession, table: Path, published: Path, tmp_path: Path
) -> None:
    found = kept_by_tasks(table, SparkRunner(spark), 50_000, tmp_path / "tasks")
    assert found == contents(published)


def test_an_unknown_column_is_refused(table: Path, tmp_path: Path) -> None:
    with pytest.raises(HudiError, match="there is no column sprad"):
        publish(table, tmp_path, ("sprad",))


def test_the_command_says_what_it_published(table: Path, tmp_path: Path) -> None:
    arguments = ["snapshot", str(table), "--columns", "spread, code", "--to", str(tmp_path)]
    found = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert found.exit_code == 0
    assert f"of {FILES:,} files at" in found.output
    assert answers(table, tmp_path / "own", tmp_path) == answers(table)


def command(table: Path, target: Path, *more: str) -> str:
    arguments = ["snapshot", str(table), "--columns", ",".join(COLUMNS), "--to", str(target), *more]
    found = CliRunner().invoke(cli, arguments)
    assert found.exit_code == 0, found.output
    return found.output


def test_a_dry_run_prints_what_is_published_and_writes_nothing(table: Path, tmp_path: Path) -> None:
    target = tmp_path / "published"
    planned = json.loads(command(table, target, "--dry-run", "--json"))
    assert not target.exists()
    assert (planned["operation"], planned["table"]) == ("snapshot", str(table))
    done = json.loads(command(table, target, "--json"))
    assert {one["what"]: one["bytes"] for one in planned["changes"]} == {
        str(target / name): len(content) for name, content in contents(target).items()
    }
    assert done["bytes"] == sum(one["bytes"] for one in planned["changes"])


def test_a_plan_names_what_is_lacking_and_what_is_damaged(table: Path, shared: Path) -> None:
    first, second, *_ = sorted(shared.iterdir())
    first.unlink()
    second.write_bytes(b"damaged")
    planned = json.loads(command(table, shared, "--dry-run", "--json"))
    actions = {one["what"]: one["action"] for one in planned["changes"]}
    assert actions == {str(first): "write", str(second): "replace"}


@pytest.mark.parametrize("way", ["in the table", "by a link"])
def test_a_directory_in_the_table_is_refused(table: Path, tmp_path: Path, way: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(table)
    before = sorted(table.rglob("*"))
    target = {"in the table": table, "by a link": link}[way] / "snapshots"
    with pytest.raises(HudiError, match="lies in the table; name another directory"):
        publish(table, target)
    assert sorted(table.rglob("*")) == before


def test_what_the_storage_loses_is_removed_and_said(table: Path, tmp_path: Path) -> None:
    """As if another program wrote there: the file is not what was published."""
    target = tmp_path / "published"
    with TemporaryDirectory() as workplace:
        operation = SnapshotPublication(str(table), COLUMNS, str(target), Path(workplace), None)
        plan = operation.plan()
        victim = target / plan.snapshots[0].file.name
        operation.act(plan)
        victim.write_bytes(b"something else")
        with pytest.raises(HudiError, match=f"{victim.name}: the file is not what was written"):
            operation.verify(plan, None)
        assert "the table is as before" in operation.restore(plan)
    assert sorted(contents(target)) == sorted(one.file.name for one in plan.snapshots[1:])
