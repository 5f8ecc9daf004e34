"""`pyhudi index`: refusals before Spark is started, and subcommands that need no Spark."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from tests.cli.conftest import Run
from tests.failure_fixtures import AS_NOBODY, readable_by_others
from tests.tables.directory_contents import contents
from tests.tables.mdt.extension import example_index

_IMPORTS = """
import sys
import pyhudi_expr.cli.commands.index
from pyhudi_expr.cli.main import main
"""
_READS = """
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.tables.hudi_table import HudiTable
index_statuses(HudiTable.open(sys.argv[3]))
"""
_RUNS = """
sys.exit(main(sys.argv[1:]))
"""
_WITHOUT_SPARK = f"""
import sys
sys.modules["pyspark"] = None
{_IMPORTS}
{_RUNS}
"""
_ANNOUNCES = """
import sys
from pyhudi_expr.tables.mdt.changes.async_indexing import announce
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock

table = HudiTable.open(sys.argv[1])
announce(table, [NewPartition("bloom_filters", 4)], TableLock(table.storage))
"""


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    """With column_stats, a record index and two secondary indexes, all built by Hudi."""
    shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    return tmp_path / "table"


@pytest.fixture
def nested(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "nested")
    return tmp_path / "nested"


def without_spark(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command in a process without pyspark."""
    command = [sys.executable, "-c", _WITHOUT_SPARK, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "i", "--columns", "merchant_nam"], "no column 'merchant_nam': did you mean"),
        (
            ["create", "i", "--columns", "merchant_name,amount"],
            "Hudi has no secondary index over several columns",
        ),
        (["create", "i"], "over one column or several; name them"),
        (["create", "my index", "--columns", "merchant_name"], "not a valid index name"),
        (["create", "ranges", "--using", "column_stats"], "there is column_stats already"),
        (["create", "keys", "--using", "record_index"], "there is record_index already"),
        (["create", "merchant_idx", "--columns", "txn_id"], "as the index 'merchant_idx'; drop it"),
        (["create", "i", "--columns", "amount"], "no secondary index on a column of type decimal"),
        (["create", "i", "--columns", "merchant_name", "--shards", "0"], "shards must be"),
        (["create", "i", "--using", "expression", "--columns", "txn_ts"], "the option expr"),
        (["refresh", "nothing"], "there is no index 'nothing'"),
        (["verify", "nothing"], "there is no index 'nothing'"),
        (["verify", "nothing", "--certify", "--spark"], "there is no index 'nothing'"),
        (["drop", "nothing"], "there is no index 'nothing'"),
        (["drop", "merchant"], "there is no index 'merchant'; is it merchant_idx?"),
        (["drop", "record_index"], "merchant_idx, txn_date_idx cannot be without the record index"),
    ],
)
def test_an_unsupported_index_is_one_clear_error_and_changes_nothing(
    run: Run, table: Path, arguments: list[str], message: str
) -> None:
    before = contents(table)
    command, *rest = arguments
    code, out, err = run("index", command, table, *rest)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert contents(table) == before


@pytest.mark.parametrize("column", ["arrayField", "mapField", "structField"])
@pytest.mark.parametrize("store", ["hudi", "extension"])
def test_a_column_of_many_values_is_refused(
    run: Run, nested: Path, column: str, store: str
) -> None:
    before = contents(nested)
    for kind in ("secondary_index", "column_stats"):
        given = ("i", "--using", kind, "--columns", column, "--store", store)
        code, _, err = run("index", "create", nested, *given)
        assert code == 1
        assert "which no index can hold" in err
    assert contents(nested) == before


def test_a_directory_that_is_no_table_is_not_changed(run: Run, tmp_path: Path) -> None:
    for command in ("create", "refresh", "drop"):
        code, _, err = run("index", command, tmp_path, "i")
        assert code == 1
        assert "no Hudi table here" in err
    assert run("index", "list", tmp_path)[0] == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("store", ["hudi", "extension"])
def test_a_table_with_a_pending_restore_is_not_changed(run: Run, table: Path, store: str) -> None:
    (table / ".hoodie/timeline/29990101000000000.restore.requested").touch()
    before = contents(table)
    given = ("i", "--columns", "merchant_name", "--store", store)
    code, _, err = run("index", "create", table, *given)
    assert code == 1
    assert "a restore (29990101000000000) is pending" in err
    assert contents(table) == before


@pytest.mark.parametrize(
    "command",
    [
        ["create", "i", "--columns", "merchant_name", "--store", "hudi"],
        ["create", "i", "--columns", "merchant_name", "--store", "extension"],
        ["drop", "merchant_idx"],
    ],
)
def test_a_read_only_table_is_not_changed(table: Path, command: list[str]) -> None:
    before = contents(table)
    with readable_by_others(table):
        given = [
            sys.executable,
            "-c",
            _IMPORTS + _READS + AS_NOBODY + _RUNS,
            "index",
            command[0],
            str(table),
            *command[1:],
        ]
        done = subprocess.run(given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "ermission denied" in done.stderr
    assert str(table) in done.stderr
    assert done.stderr.count("\n") == 1
    assert contents(table) == before


def test_a_held_lock_is_waited_for(run: Run, table: Path) -> None:
    storage = HudiTable.open(str(table)).storage
    waiting = ("--writer-option", "hoodie.write.lock.wait_time_ms=100")
    given = ("i", "--columns", "merchant_name", *waiting)
    with TableLock(storage).held("writes"):
        before = contents(table)
        code, _, err = run("index", "create", table, *given)
        assert code == 1
        assert "another writer has held .hoodie/lock for 0.1 s" in err
        assert contents(table) == before


def test_an_unavailable_lock_is_reported(run: Run, table: Path) -> None:
    (table / ".hoodie/.locks").mkdir()
    (table / ".hoodie/.locks/table_lock.json").write_text("{}")
    before = contents(table)
    given = ("create", table, "i", "--columns", "merchant_name")
    for arguments in (given, ("drop", table, "merchant_idx")):
        code, _, err = run("index", *arguments)
        assert code == 1
        assert "StorageBasedLockProvider" in err
        assert "extension" in err
    assert contents(table) == before


def test_an_unsupported_lock_provider_is_reported(run: Run, table: Path) -> None:
    before = contents(table)
    given = ("create", table, "i", "--columns", "merchant_name")
    for arguments in (given, ("drop", table, "merchant_idx")):
        named = "hoodie.write.lock.provider=org.example.ZookeeperBasedLockProvider"
        provider = ("--writer-option", named)
        code, _, err = run("index", *arguments, *provider)
        assert code == 1
        assert "its writers take the lock of org.example.ZookeeperBasedLockProvider" in err
    assert contents(table) == before


@pytest.mark.parametrize(
    ("former", "now"),
    [
        (("--lock-provider", "x.YLockProvider"), "hoodie.write.lock.provider=x.YLockProvider"),
        (("--lock-dir=locks",), "hoodie.write.lock.filesystem.path=locks"),
        (("--lock-wait", "0.2"), "hoodie.write.lock.wait_time_ms=200"),
    ],
)
def test_the_lock_options_of_the_last_version_are_settings_of_it(
    run: Run, table: Path, former: tuple[str, ...], now: str
) -> None:
    waiting = ("--writer-option", "hoodie.write.lock.wait_time_ms=100")
    given = ("index", "drop", table, "merchant_idx", *waiting)
    with TableLock(HudiTable.open(str(table)).storage, ("locks", ".hoodie")).held("writes"):
        code, out, err = run(*given, *former)
        assert run(*given, "--writer-option", now) == (code, out, err.partition("\n")[2])
    option = former[0].partition("=")[0]
    expected = f"hint: {option} goes with the next version: it is --writer-option {now}\n"
    assert (code, err.partition("\n")[0] + "\n") == (1, expected)


@pytest.mark.parametrize("option", ["hoodie.write.lock.provder=x", "provider", "a.b=c"])
def test_an_option_that_no_lock_has_is_refused(run: Run, table: Path, option: str) -> None:
    for command in (("index", "drop", table, "merchant_idx"), ("virtual-keys", "enable", table)):
        code, _, err = run(*command, "--writer-option", option)
        assert code == 2
        assert option.partition("=")[0] in err


def test_a_dry_run_prints_what_would_be_written(run: Run, table: Path) -> None:
    before = contents(table)
    given = ("index", "create", table, "i", "--columns", "merchant_name", "--dry-run")
    assert run(*given) == (
        0,
        "would write .hoodie/metadata/secondary_index_i\nwould set i to secondary_index\n",
        "",
    )
    code, text, _ = run(*given, "--json")
    assert (code, json.loads(text)["operation"]) == (0, "index create")
    refreshed = run("index", "refresh", table, "merchant_idx", "--dry-run")
    assert refreshed == (0, "would change nothing\n", "")
    assert contents(table) == before


def test_if_not_exists_accepts_an_existing_index(run: Run, table: Path) -> None:
    before = contents(table)
    given = ("ranges", "--using", "column_stats", "--if-not-exists")
    assert run("index", "create", table, *given) == (0, "the index ranges exists\n", "")
    assert run("index", "refresh", table, "merchant_idx")[:2] == (
        0,
        "the index merchant_idx is up to date\n",
    )
    assert run("index", "drop", table, "nothing", "--if-exists")[0] == 0
    assert contents(table) == before


@pytest.mark.slow
def test_listing_dropping_and_refreshing_current_indexes_need_no_spark(table: Path) -> None:
    listed = without_spark("index", "list", table, "--json")
    found = [(one["name"], one["state"]) for one in json.loads(listed.stdout)["indexes"]]
    names = ("column_stats", "merchant_idx", "record_index", "txn_date_idx")
    assert found == [(name, "active") for name in names]
    refreshed = without_spark("index", "refresh", table, "merchant_idx")
    assert (refreshed.returncode, refreshed.stdout) == (
        0,
        "the index merchant_idx is up to date\n",
    ), refreshed.stderr
    example_index.build(str(table), [("oslo", "TXN-017")])
    refreshed = without_spark("index", "refresh", table, "city")
    assert (refreshed.returncode, refreshed.stdout) == (0, "the index city is up to date\n"), (
        refreshed.stderr
    )
    dropped = without_spark("index", "drop", table, "merchant_idx")
    assert (dropped.returncode, dropped.stdout) == (0, "dropped merchant_idx\n"), dropped.stderr
    listed = without_spark("index", "list", table)
    assert "txn_date_idx" in listed.stdout
    assert "merchant_idx" not in listed.stdout
    assert len({len(line) for line in listed.stdout.splitlines()}) == 1


def test_the_list_shows_the_freshness_of_an_index_and_what_to_do(run: Run, table: Path) -> None:
    opened = HudiTable.open(str(table))
    shops = RegisteredIndex(
        "shops", "secondary_index", ("s",), {}, Store.HUDI, ("secondary_index_shops",), created=""
    )
    Registry().with_index(shops).write(opened.storage)
    out = run("index", "list", table)[1]
    rows = {cells[0]: cells[1:] for cells in map(cells_of, out.splitlines()) if len(cells) == 7}
    kept, dropped = rows["merchant_idx"], rows["shops"]
    assert kept == ["secondary_index", "merchant_name", "hudi", "active", opened.instant, ""]
    assert dropped[:5] == ["secondary_index", "s", "hudi", "dropped", "-"]
    assert dropped[5].startswith("deleted by the commit ")


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("│")[1:-1]]


@pytest.mark.slow
def test_building_without_spark_names_the_package_to_install(table: Path) -> None:
    before = contents(table)
    done = without_spark("index", "create", table, "i", "--columns", "merchant_name")
    assert done.returncode == 1
    assert "pyspark is missing; install the extra: pip install 'pyhudi-expr[spark]'" in done.stderr
    assert done.stderr.endswith("the index i is not there\n")
    assert contents(table) == before


@pytest.mark.slow
def test_an_index_half_registered_by_a_killed_build_is_built_again(table: Path) -> None:
    """In the extension; indexes that Hudi's writers deleted stay registered."""
    opened = HudiTable.open(str(table))
    name, columns = "i", ("merchant_name",)
    missing_partitions = ("secondary_index_i",)
    index = RegisteredIndex(
        name, "secondary_index", columns, {}, Store.EXTENSION, missing_partitions, ""
    )
    Registry().with_index(index).write(opened.storage)
    given = ("index", "create", table, name, "--columns", "merchant_name")
    assert "pyspark is missing" in without_spark(*given, "--store", "extension").stderr


@pytest.mark.slow
def test_a_killed_build_is_completed_first(table: Path) -> None:
    before = contents(table)
    subprocess.run([sys.executable, "-c", _ANNOUNCES, str(table)], check=True)
    assert contents(table) != before
    given = ("index", "create", table, "i", "--columns", "merchant_name")
    assert "pyspark is missing" in without_spark(*given).stderr
    assert contents(table) == before


def test_following_needs_no_spark_while_the_indexes_are_up_to_date(nested: Path) -> None:
    example_index.build(str(nested), [("city 1", "key 1")])
    done = without_spark("index", "follow", nested, "--once")
    assert (done.returncode, done.stdout) == (0, "the extension's indexes are up to date\n")
    done = without_spark("index", "follow", nested, "--once", "--json")
    assert json.loads(done.stdout) == {"built": []}


def with_an_index_that_lags(path: Path) -> None:
    """Its newest commit was made after the index was built."""
    example_index.build(str(path), [("city 1", "key 1")])
    table = HudiTable.open(str(path))
    (index,) = index_statuses(table)
    registered = RegisteredIndex(
        index.name, index.kind, index.columns, {}, index.store, index.partitions, ""
    )
    Registry.read(table.storage).with_index(registered).write(table.storage)
    last = table.timeline.last_write
    assert last is not None
    timeline = path / table.properties.timeline_dir
    for file in timeline.glob(f"{last.requested}*"):
        later = file.name.replace(f"{last.requested}_2025", f"{last.requested}_2999")
        shutil.copy(file, timeline / later.replace(last.requested, "29990101000000000"))


def test_the_dry_run_of_following_prints_the_plan_of_each_refresh(nested: Path) -> None:
    with_an_index_that_lags(nested)
    before = contents(nested)
    done = without_spark("index", "follow", nested, "--dry-run")
    assert (done.returncode, done.stdout) == (
        0,
        "would refresh city, which is lagging\nwould replace .hoodie/pyhudi/metadata\n",
    )
    found = json.loads(without_spark("index", "follow", nested, "--dry-run", "--json").stdout)
    assert [(one["index"], one["operation"]) for one in found["plans"]] == [
        ("city", "index refresh")
    ]
    assert contents(nested) == before


def test_following_is_refused_where_there_is_nothing_to_follow(run: Run, table: Path) -> None:
    for options in (["--once"], ["--every", "1"]):
        code, _, err = run("index", "follow", table, *options)
        assert code == 1
        assert "the table has no index in the extension" in err
    for wrong in (["--once", "--callback", "127.0.0.1:0"], ["--json"], ["--callback", "9101"]):
        assert run("index", "follow", table, *wrong)[0] == 2
