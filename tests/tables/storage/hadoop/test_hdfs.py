"""HDFS with two NameNodes, read and written by WebHDFS through `hdfs://`, during fail-overs.

The rows of a table there are those of its local copy, and Hadoop's own client reads what was
written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import pyhudi_expr as ph
from devtools.hdfs import HdfsPair, running_pair
from pyhudi_expr.cli.demo_table import write_demo_indexes
from pyhudi_expr.cli.main import main
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.tables.locks import LockNotAcquired, TableLock
from pyhudi_expr.tables.storage import using_storage_options
from tests.docs.documents import Runner, pieces
from tests.service.running_server import PATIENCE
from tests.service.service_process import Process

pytestmark = pytest.mark.slow

Golden = Mapping[str, Path]

_WRITERS = 8
_SMALL = "cow_v9_txns_simple_meta"
_ODD_NAMES = ("a b", "ts=2024-01-01 00%3A00%3A00", "ü+;&?#=%", "c'd\"e", "${x}[1]{2}~@!$^(),`|<>")
_PREDICATES = ("id = 77123", "rider = 'R-00042'", "fare > 99.5", "day = '2024-01-04'", "id < 0")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsPair]:
    with running_pair(tmp_path_factory.mktemp("hdfs")) as found:
        yield found


@pytest.fixture(scope="module")
def lake(pair: HdfsPair, trips: Path) -> str:
    """The table of `trips`, indexed in HDFS by this project while NameNodes change."""
    pair.upload(trips, "warehouse/trips")
    uri = pair.uri("warehouse/trips")
    with meanwhile(pair.switch), using_storage_options(pair.options):
        write_demo_indexes(uri)
    return uri


@pytest.fixture(scope="module")
def small(pair: HdfsPair, golden: Golden) -> str:
    """A table that Hudi has written and indexed, of five files."""
    pair.upload(golden[_SMALL], "warehouse/small")
    return pair.uri("warehouse/small")


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Runs an action of the file system beside the block."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(action)
        yield
        done.result()


def test_files_have_the_names_and_contents_that_hadoop_sees(pair: HdfsPair, tmp_path: Path) -> None:
    storage = pair.storage("named")
    big = bytes(range(256)) * 20_000
    for number, name in enumerate(_ODD_NAMES):
        storage.write(f"{name}/file {number}", big[number:])
        storage.write(f"{name}/empty", b"")
    pair.shell("-copyToLocal", "/named", str(tmp_path))
    for number, name in enumerate(_ODD_NAMES):
        assert (tmp_path / "named" / name / f"file {number}").read_bytes() == big[number:]
        assert storage.read(f"{name}/file {number}") == big[number:]
        assert storage.read(f"{name}/empty") == b""
        sizes = {entry.name: entry.size for entry in storage.list(name)}
        assert sizes == {f"file {number}": len(big) - number, "empty": 0}
    assert {entry.path for entry in storage.list()} == set(_ODD_NAMES)
    files = [entry.path for entry in storage.list(recursive=True) if entry.is_file]
    assert len(files) == 2 * len(_ODD_NAMES)
    with storage.open_input(files[0]) as opened:
        assert opened.read() == storage.read(files[0])


def test_what_is_missing_is_told_apart(pair: HdfsPair) -> None:
    storage = pair.storage("missing")
    storage.write("file", b"x")
    assert storage.stat("none") is None
    assert storage.stat("file/none") is None
    assert storage.read_if_present("none") is None
    assert storage.read_if_present("file/none") is None
    assert storage.list("none") == []
    with pytest.raises(HudiError, match=r"hdfs://lake/missing: file 'none' does not exist"):
        storage.read("none")
    storage.delete("none")
    storage.delete_dir("none")
    storage.delete_dir("")
    assert storage.list() == []


def test_a_replaced_file_is_the_old_or_the_new_one(pair: HdfsPair) -> None:
    """A reader never finds none, as it would if the old one were deleted first."""
    storage = pair.storage("replaced")
    contents = [bytes([number]) * 1000 for number in range(15)]
    storage.write("file", contents[0])
    ended = threading.Event()

    def read_on() -> int:
        reads = 0
        while not ended.is_set():
            assert storage.read("file") in contents
            reads += 1
        return reads

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_on)
        for content in contents[1:]:
            storage.write("file", content)
        ended.set()
        assert reading.result() > 3
    version = storage.read_versioned("file")
    assert version is not None
    assert storage.replace("file", b"other", "another version") is None
    assert storage.replace("file", b"other", version.version) is not None
    storage.write("target", b"")
    with pytest.raises(HudiError, match="'file' cannot be renamed"):
        storage.move("file", "target")
    storage.move("file", "below/target")
    assert storage.read("below/target") == b"other"
    assert [entry.name for entry in storage.list("below")] == ["target"]


def test_only_one_concurrent_creator_of_a_file_succeeds(pair: HdfsPair) -> None:
    storage = pair.storage("created")
    contents = [b"%d" % number for number in range(_WRITERS)]
    with ThreadPoolExecutor(_WRITERS) as pool:
        for number in range(3):
            done = list(pool.map(partial(storage.create, f"file{number}"), contents))
            assert done.count(True) == 1
            assert storage.read(f"file{number}") == contents[done.index(True)]
    assert len(storage.list()) == 3  # nothing else is left
    first, second = TableLock(storage), TableLock(storage, wait=0.2)
    with first.held("holds"), pytest.raises(LockNotAcquired), second.held("waits"):
        pass


def test_reads_and_writes_outlive_a_killed_name_node(pair: HdfsPair) -> None:
    """Each byte read is right, and each file written is there, whatever happens in between."""
    storage = pair.storage("outlived")
    content = bytes(range(256)) * 16_000
    storage.write("big", content)
    opened = storage.open_ranges("big")
    half = len(content) // 2
    assert opened.read_at(half, 0) == content[:half]

    def lose() -> None:
        pair.kill_active()
        pair.activate_other()

    with meanwhile(lose):
        for number in range(12):
            # Reads come first: to write, a DataNode waits for the fail-over itself.
            assert opened.read_at(1000, number * 100_000) == content[number * 100_000 :][:1000]
            storage.write(f"file{number}", content[number * 1000 :][:1000])
            assert storage.create(f"once{number}", b"x")
    assert opened.read_at(half, half) == content[half:]
    pair.start_lost()
    names = {f"file{number}" for number in range(12)} | {f"once{number}" for number in range(12)}
    assert {entry.name for entry in storage.list()} == {"big", *names}
    for number in range(12):
        assert storage.read(f"file{number}") == content[number * 1000 :][:1000]


def test_a_table_is_pruned_as_its_local_copy(pair: HdfsPair, small: str, golden: Golden) -> None:
    local = ph.table(golden[_SMALL])
    remote = ph.table(small, storage_options=pair.options)
    view = ph.table("viewfs://views/tables/small", storage_options=pair.options)
    with meanwhile(pair.switch):
        for predicate in ("amount > 100", "amount > 400", "amount < 0"):
            kept = local.prune(predicate).files_kept
            assert remote.prune(predicate).files_kept == view.prune(predicate).files_kept == kept
            assert kept < remote.prune(predicate).files_total
            assert rows(remote, predicate) == rows(local, predicate)
    assert rows(remote, "amount > 100")


def test_the_service_prunes_by_its_settings(pair: HdfsPair, small: str, tmp_path: Path) -> None:
    predicate = parse_predicate("amount > 100")
    expected = Pruner(storage_options=pair.options).prune(small, PruneRequest(predicate))
    settings = {"hdfs_via": "webhdfs", "hadoop_conf_dir": str(pair.conf)}
    service = Process(tmp_path, table_roots=[pair.uri("warehouse")], **settings)
    try:
        with meanwhile(pair.switch), PruningClient("127.0.0.1", service.port, PATIENCE) as client:
            answer = client.prune(small, predicate)
    finally:
        service.stop()
    assert answer.status == PruneStatus.OK
    counts = answer.counts
    assert 0 < counts.filesDropped < counts.filesConsidered
    assert counts.filesConsidered - counts.filesDropped == len(expected.kept_paths())


@pytest.mark.long
def test_indexes_that_were_written_during_a_fail_over(
    pair: HdfsPair, lake: str, trips: Path, tmp_path: Path
) -> None:
    """Hadoop's own client reads them, too: the local copy is its."""
    pair.shell("-copyToLocal", "/warehouse/trips", str(tmp_path))
    local = ph.table(tmp_path / "trips")
    remote = ph.table(lake, storage_options=pair.options)
    with meanwhile(pair.switch):
        for predicate in _PREDICATES:
            there = remote.prune(predicate)
            assert there.files_kept == local.prune(predicate).files_kept
            assert there.files_kept < there.files_total, predicate
            assert rows(remote, predicate) == rows(ph.table(trips), predicate)
    assert len(rows(remote, "id < 1000")) == 1000


@pytest.mark.long
def test_the_commands_of_the_document(
    pair: HdfsPair, lake: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exported, *commands = [one.words for one in pieces(Runner.HDFS)]
    for name, _, value in (word.partition("=") for word in exported[1:]):
        monkeypatch.setenv(name, str(pair.conf) if name == "HADOOP_CONF_DIR" else value)
    for _, *words in commands:
        assert main([*words, *(["--check"] if words[0] == "serve" else [])]) == 0
    out, err = capsys.readouterr()
    assert "reads 40 of 80 files" in err
    assert "hdfs_via" in out
    assert ".parquet" in out


def rows(table: ph.Table, predicate: str) -> list[dict[str, object]]:
    return sorted(table.scan(predicate).to_arrow().to_pylist(), key=repr)
