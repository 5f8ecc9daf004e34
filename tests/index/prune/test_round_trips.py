"""Requests of questions over S3, and how many wait for one another: budgets of the commands.

Numbers of requests are exact. Waves are limits: a busy machine may split one, for which the delay
is long.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.tables import synthetic
from devtools.s3.proxy import RecordingProxy
from devtools.s3.server import S3Server
from pyhudi_expr.cli.main import main
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage
from tests.index.prune.tables.test_golden import TRANSACTIONS
from tests.stored_files import StoredFiles
from tests.tables.mdt.extension.example_index import build

pytestmark = pytest.mark.s3

_DELAY = 0.3
_COLD_WAVES = 5
"""Of a question about a table that is not known yet, and of one after a commit."""

_GOLDEN = "cow_v9_txns_simple_meta"
_FILES = 2_000
_MANY_FILES = 40_000
"""Their names take more than 1 MiB: the file list is read in parts."""


@pytest.fixture(scope="module")
def tables(
    golden: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Path]:
    """The tables on disk. Read-only."""
    folder = tmp_path_factory.mktemp("tables")
    synthetic.write_table(folder / "synthetic", files=_FILES, partitions=20)
    synthetic.write_table(folder / "large", files=_MANY_FILES, partitions=20)
    shutil.copytree(folder / "synthetic", folder / "extended")
    build(str(folder / "extended"), [("sfo", str(key)) for key in range(100)])
    shutil.copytree(golden[_GOLDEN], folder / "golden")
    return {path.name: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def stored(s3_server: S3Server, tables: Mapping[str, Path]) -> Mapping[str, str]:
    """The URIs of their copies. Read-only."""
    bucket = s3_server.create_bucket("round-trips")
    for name, path in tables.items():
        upload(s3_server, path, f"s3://{bucket}/{name}")
    return {name: f"s3://{bucket}/{name}" for name in tables}


def upload(server: S3Server, path: Path, uri: str) -> None:
    storage = Storage.open(uri, server.storage_options())
    StoredFiles.of_directory(path).restore(storage)


@pytest.fixture(autouse=True)
def _on_s3(s3_env: object, stored: object) -> None:
    """The process finds the server, and has no cache of its own."""


@contextmanager
def budget(proxy: RecordingProxy, requests: int | None, waves: int | None) -> Iterator[None]:
    """Check the requests of the block: their number, which is a limit where waves are None."""
    proxy.delay = 0.0 if waves is None else _DELAY
    with proxy.recording() as recording:
        yield
    proxy.delay = 0.0
    shown = recording.summary()
    assert waves is None or recording.waves <= waves, shown
    sent = len(recording.requests)
    assert requests is None or sent == requests or (waves is None and sent < requests), shown
    # A listing gave the size of everything that is read.
    assert not [one for one in recording.requests if one.kind == "HEAD"], shown


def request(sql: str) -> PruneRequest:
    return PruneRequest(parse_predicate(sql))


def kept(table: str, sql: str) -> list[str]:
    return sorted(Pruner().prune(table, request(sql)).kept_paths())


_QUESTIONS = {
    "columns": ("column_stats", "golden", "amount > 100 AND currency = 'USD'", 62),
    "record key": ("record_index", "golden", "txn_id = 'TXN-011'", 94),
    "secondary index": ("secondary_index_merchant_idx", "golden", "merchant_name = 'Grab'", 112),
    "synthetic": ("column_stats", "synthetic", "spread < 50000", 30),
    "large": ("column_stats", "large", "spread < 50000", 33),
    "extension": ("column_stats", "extended", "id = 5", 36),
}


@pytest.mark.parametrize("case", _QUESTIONS)
def test_a_question_takes_few_waves(
    case: str, stored: Mapping[str, str], tables: Mapping[str, Path], s3_proxy: RecordingProxy
) -> None:
    index, name, sql, requests = _QUESTIONS[case]
    pruner = Pruner()
    with budget(s3_proxy, requests, _COLD_WAVES):
        cold = pruner.prune(stored[name], request(sql))
    with budget(s3_proxy, 4, 1):
        warm = pruner.prune(stored[name], request(sql))
    assert sorted(warm.kept_paths()) == sorted(cold.kept_paths()) == kept(str(tables[name]), sql)
    assert cold.files_kept < cold.files_total
    assert index in {source.name for source in cold.evidence}
    assert not cold.notes


@pytest.mark.parametrize("name", ["golden", "synthetic", "large"])
def test_a_disk_cache_takes_no_more_waves(
    name: str, stored: Mapping[str, str], s3_proxy: RecordingProxy, tmp_path: Path
) -> None:
    options = PruneOptions(snapshot_dir=tmp_path)
    sql = request("id < 5000" if name != "golden" else "amount > 100")
    with budget(s3_proxy, None, _COLD_WAVES):
        first = Pruner(options).prune(stored[name], sql)
    with budget(s3_proxy, None, _COLD_WAVES):
        second = Pruner(options).prune(stored[name], sql)
    assert first.kept_paths() == second.kept_paths()


def test_a_new_commit_is_seen_by_the_next_question(
    tables: Mapping[str, Path], s3_server: S3Server, s3_bucket: str, s3_proxy: RecordingProxy
) -> None:
    """The newest commit's files are there, but not yet the file that completes it."""
    uri, newest = f"s3://{s3_bucket}/table", HudiTable.open(str(tables["golden"])).timeline.writes
    upload(s3_server, tables["golden"], uri)
    storage = Storage.open(uri)
    last = f".hoodie/timeline/{newest[-1].file_name}"
    content = storage.read(last)
    storage.delete(last)
    pruner, question = Pruner(), request("amount > 0")
    before = pruner.prune(uri, question)
    assert before.instant == newest[-2].requested
    with budget(s3_proxy, 4, 1):
        assert pruner.prune(uri, question).instant == before.instant
    storage.write(last, content)
    with budget(s3_proxy, None, _COLD_WAVES):
        after = pruner.prune(uri, question)
    assert after.instant == newest[-1].requested
    assert sorted(after.kept_paths()) == kept(str(tables["golden"]), "amount > 0")
    assert sorted(after.kept_paths()) != sorted(before.kept_paths())


_COMMANDS: Mapping[tuple[str, ...], tuple[int, int | None]] = {
    ("prune", "synthetic", "spread < 50000"): (30, _COLD_WAVES),
    ("explain", "synthetic", "spread < 50000"): (31, _COLD_WAVES),
    ("inspect", "synthetic"): (31, _COLD_WAVES),
    ("prune", "golden", "txn_id = 'TXN-011'"): (94, _COLD_WAVES),
    ("explain", "golden", "merchant_name = 'Grab'"): (112, _COLD_WAVES),
    ("inspect", "golden"): (131, _COLD_WAVES + 1),
}


@pytest.mark.parametrize("words", _COMMANDS, ids=lambda words: "-".join(words[:2]))
def test_commands_keep_their_budgets(
    words: tuple[str, ...],
    stored: Mapping[str, str],
    s3_proxy: RecordingProxy,
    capsys: pytest.CaptureFixture[str],
) -> None:
    requests, waves = _COMMANDS[words]
    command, table, *rest = words
    with budget(s3_proxy, requests, waves):
        assert main([command, stored[table], *rest]) == 0
    assert capsys.readouterr().out


_PREDICATES = (
    *TRANSACTIONS,
    *("txn_id = 'TXN-007'", "txn_id IN ('TXN-001', 'TXN-020')", "txn_id > 'TXN-010'"),
    *("merchant_name = 'Amazon'", "txn_date = DATE '2024-01-20'", "merchant_name IS NULL"),
    *("region IN ('us', 'apac') OR amount < 0", "NOT (amount <= 1000)", "account_id = 'ACC-001'"),
)


def test_the_same_files_are_kept_as_on_disk(
    stored: Mapping[str, str], tables: Mapping[str, Path]
) -> None:
    on_disk, on_s3, dropped = Pruner(), Pruner(), 0
    assert len(_PREDICATES) >= 20
    for sql in _PREDICATES:
        expected = on_disk.prune(str(tables["golden"]), request(sql))
        found = on_s3.prune(stored["golden"], request(sql))
        assert found.kept_paths() == expected.kept_paths(), sql
        assert found.notes == expected.notes, sql
        dropped += found.files_total - found.files_kept
    assert dropped
