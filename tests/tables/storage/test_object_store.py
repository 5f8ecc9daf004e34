"""Objects of a real S3 server: what is exclusive, what is there, and how many requests it takes."""

from __future__ import annotations

import http.client
import pickle
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from devtools.s3.proxy import RecordingProxy
from devtools.s3.server import S3Server
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage

pytestmark = [pytest.mark.s3, pytest.mark.usefixtures("s3_env")]

_THREADS, _ROUNDS = 16, 10
_NAMES = (
    "a b",
    "day=2024-01-01%2F00",
    "100%",
    "%25",
    "a+b&c=d?e#f",
    "[x]{y}(z)<w>",
    "back\\slash",
    "q'uo\"te",
    "tilde~caret^pipe|star*",
    "ünï-文字-🙂",
    ".hidden",
    "..dots..",
    "a:b@c$d,e;f!",
)


@pytest.fixture
def storage(s3_bucket: str) -> Storage:
    return Storage.open(f"s3a://{s3_bucket}/lake/table")


def _sent(proxy: RecordingProxy) -> Sequence[str]:
    return [request.kind for request in proxy.requests]


def test_one_of_many_threads_creates_an_object(storage: Storage) -> None:
    with ThreadPoolExecutor(_THREADS) as threads:
        for number in range(_ROUNDS):
            path = f"locks/{number}"
            mine = [f"thread {thread}".encode() for thread in range(_THREADS)]
            created = list(threads.map(partial(storage.create, path), mine))
            assert sum(created) == 1
            assert storage.read(path) == mine[created.index(True)]


def test_one_of_many_threads_replaces_a_version(storage: Storage) -> None:
    storage.write("f", b"first")
    with ThreadPoolExecutor(_THREADS) as threads:
        for number in range(_ROUNDS):
            known = storage.read_versioned("f")
            assert known is not None
            mine = [f"{number}: thread {thread}".encode() for thread in range(_THREADS)]
            replace = partial(storage.replace, "f", version=known.version)
            versions = list(threads.map(lambda content, call=replace: call(content), mine))
            (new,) = [version for version in versions if version is not None]
            now = storage.read_versioned("f")
            assert now is not None
            assert (now.content, now.version) == (mine[versions.index(new)], new)


def test_an_old_version_is_not_replaced(storage: Storage) -> None:
    assert storage.create("f", b"1")
    assert not storage.create("f", b"2")
    first = storage.read_versioned("f")
    assert first is not None
    second = storage.replace("f", b"2", first.version)
    assert second is not None
    assert storage.replace("f", b"3", first.version) is None
    assert storage.read("f") == b"2"
    assert storage.replace("f", b"3", second) is not None
    storage.delete("f")
    assert storage.replace("f", b"4", second) is None
    assert storage.read_if_present("f") is None


def test_a_lost_answer_to_a_creation_does_not_hide_the_truth(
    storage: Storage, s3_proxy: RecordingProxy
) -> None:
    s3_proxy.lose_answers(1)
    assert storage.create("f", b"mine")
    assert [request.status for request in s3_proxy.requests[:2]] == [200, 412]
    assert storage.read("f") == b"mine"
    s3_proxy.lose_answers(1)
    assert not storage.create("f", b"another's")
    assert storage.read("f") == b"mine"
    s3_proxy.lose_answers(100)
    assert storage.create("g", b"mine")
    with pytest.raises(HudiError, match="cannot be written"):
        storage.create("f", b"another's")


def test_a_lost_answer_to_a_replacement_does_not_hide_the_truth(
    storage: Storage, s3_proxy: RecordingProxy
) -> None:
    _prove_conditions(storage)
    storage.write("f", b"1")
    first = storage.read_versioned("f")
    assert first is not None
    for lost in (1, 100):
        known = storage.read_versioned("f")
        assert known is not None
        s3_proxy.lose_answers(lost)
        new = storage.replace("f", b"2 %d" % lost, known.version)
        s3_proxy.lose_answers(0)
        now = storage.read_versioned("f")
        assert now is not None
        assert (now.content, now.version) == (b"2 %d" % lost, new)
    s3_proxy.lose_answers(1)
    assert storage.replace("f", b"3", first.version) is None


def test_a_lost_answer_to_a_plain_write(storage: Storage, s3_proxy: RecordingProxy) -> None:
    s3_proxy.lose_answers(1)
    storage.write("f", b"1")
    assert storage.read("f") == b"1"


@pytest.mark.parametrize("name", _NAMES)
def test_names_are_taken_as_they_are(name: str, s3_bucket: str, s3_server: S3Server) -> None:
    root = Storage.open(f"s3://{s3_bucket}/names")
    content = name.encode()
    root.write(f"{name}/{name}", content)
    assert [(one.name, one.path, one.is_file) for one in root.list()] == [(name, name, False)]
    (file,) = root.list(name)
    assert (file.name, file.path, file.size) == (name, f"{name}/{name}", len(content))
    assert [one.path for one in root.list(recursive=True) if one.is_file] == [f"{name}/{name}"]
    storage = Storage.open(f"s3://{s3_bucket}/names/{name}")
    assert storage.read(name) == content
    assert not storage.create(name, b"")
    with storage.open_input(name) as source:
        assert source.read() == content
    with storage.filesystem.open_input_file(storage.full(name)) as source:
        assert source.read() == content
    found = storage.stat(name)
    assert found is not None
    assert (found.name, found.path) == (name, name)
    storage.move(name, f"{name}.2")
    storage.delete_dir("")
    assert root.list() == []


def _prove_conditions(storage: Storage) -> None:
    """Make those writes that try out the store, see `test_condition_proofs`."""
    storage.create("proof", b"")
    known = storage.read_versioned("proof")
    assert known is not None
    storage.replace("proof", b"", known.version)
    storage.delete("proof")


def test_each_call_is_one_request(storage: Storage, s3_proxy: RecordingProxy) -> None:
    _prove_conditions(storage)
    calls = [
        (["PUT"], lambda: storage.write("d/e/f", b"0123456789")),
        (["PUT"], lambda: storage.create("d/e/g", b"")),
        (["GET"], lambda: storage.read("d/e/f")),
        (["GET"], lambda: storage.read_versioned("d/e/f")),
        (["GET"], lambda: storage.read_if_present("d/e/missing")),
        (["LIST"], lambda: storage.list("d")),
        (["LIST"], lambda: storage.list("", recursive=True)),
        (["HEAD"], lambda: storage.stat("d/e/f")),
        ([], lambda: storage.open_input("d/e/f", 10)),
        (["GET"], lambda: storage.open_input("d/e/f", 10).read()),
        (["DELETE"], lambda: storage.delete("d/e/g")),
    ]
    for expected, call in calls:
        s3_proxy.requests.clear()
        call()
        assert _sent(s3_proxy) == expected
    known = storage.read_versioned("d/e/f")
    assert known is not None
    s3_proxy.requests.clear()
    storage.replace("d/e/f", b"", known.version)
    assert _sent(s3_proxy) == ["PUT"]
    # No markers of directories: what was written, and nothing else.
    bucket = Storage.open(storage.uri.removesuffix("/lake/table"))
    assert [one.path for one in bucket.list(recursive=True)] == ["lake/table/d/e/f"]


def test_a_large_file_is_read_by_ranges_and_written_in_parts(
    storage: Storage, s3_proxy: RecordingProxy
) -> None:
    content = random.Random(1).randbytes(12 << 20)
    with storage.writing("large") as stream:
        for start in range(0, len(content), 1 << 20):
            stream.write(content[start : start + (1 << 20)])
    assert set(_sent(s3_proxy)) == {"UPLOAD"}
    s3_proxy.requests.clear()
    with storage.open_input("large", len(content)) as source:
        source.seek(5 << 20)
        assert source.read(100) == content[5 << 20 : (5 << 20) + 100]
        source.seek(-8, 2)
        assert source.read() == content[-8:]
    assert _sent(s3_proxy) == ["GET", "GET"]
    assert storage.read("large") == content


def test_markers_of_other_programs_are_no_files(
    storage: Storage, s3_bucket: str, s3_server: S3Server
) -> None:
    """hadoop-aws and consoles write `p/`, older programs `p_$folder$`."""
    storage.write("p/q/f", b"x")
    storage.write("empty", b"")
    for marker in ("", "p/", "p/q/", "p_$folder$"):
        _put(s3_server, f"/{s3_bucket}/lake/table/{marker}")
    entries = {(one.path, one.is_file) for one in storage.list()}
    assert entries == {("p", False), ("empty", True)}
    assert [(one.path, one.is_file) for one in storage.list("p")] == [("p/q", False)]
    assert [one.path for one in storage.list("p/q")] == ["p/q/f"]
    assert [one.path for one in storage.list("p", recursive=True)] == ["p/q/f"]
    assert {one.path for one in storage.list(recursive=True)} == {"empty", "p/q/f"}
    found = storage.stat("p")
    assert found is not None
    assert not found.is_file


def _put(server: S3Server, path: str) -> None:
    """Write an empty object, also one whose name ends with a slash."""
    path = path.replace("$", "%24")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("PUT", path, b"", server.signed_headers("PUT", path))
    assert connection.getresponse().status == 200
    connection.close()


def _fail_after(storage: Storage, size: int) -> None:
    with storage.writing("f") as stream:
        stream.write(bytes(size))
        raise ValueError("changed my mind")


def test_a_writer_that_fails_leaves_nothing(storage: Storage, s3_proxy: RecordingProxy) -> None:
    for size in (10, 20 << 20):
        with pytest.raises(ValueError, match="changed my mind"):
            _fail_after(storage, size)
    assert s3_proxy.requests == []
    assert storage.list() == []


def test_without_conditional_writes_nothing_is_exclusive(s3_bucket: str) -> None:
    """As in OSS: it is refused, and plain reads and writes work."""
    storage = Storage.open(f"s3://{s3_bucket}/t", {"conditional_put": "disabled"})
    assert not storage.has_conditional_writes
    storage.write("f", b"1")
    known = storage.read_versioned("f")
    assert known is not None
    with pytest.raises(HudiError, match=r"'g' cannot be written: .* no conditional writes"):
        storage.create("g", b"")
    with pytest.raises(HudiError, match=r"'f' cannot be written: .* no conditional writes"):
        storage.replace("f", b"2", known.version)
    assert [one.path for one in storage.list()] == ["f"]
    assert Storage.open(f"s3://{s3_bucket}/t").has_conditional_writes


def test_deleting_what_is_not_there(storage: Storage) -> None:
    storage.delete("missing")
    storage.delete_dir("missing")
    assert storage.stat("missing") is None
    assert storage.list("missing") == []
    with pytest.raises(HudiError, match=r"s3a://.*: file 'missing' does not exist"):
        storage.read("missing")


def test_all_objects_below_a_directory_are_deleted(storage: Storage) -> None:
    storage.at_once(lambda number: storage.write(f"d/{number % 3}/{number}", b""), range(60))
    storage.write("d2", b"stays")
    storage.delete_dir("d")
    assert [one.path for one in storage.list(recursive=True)] == ["d2"]


def test_faults_change_no_result(storage: Storage, s3_proxy: RecordingProxy) -> None:
    contents = {f"f{number}": bytes([number % 256]) * (1 + 37 * number) for number in range(100)}
    with s3_proxy.faults(0.05, seed=7), ThreadPoolExecutor(8) as threads:
        created = threads.map(lambda item: storage.create(*item), contents.items())
        assert list(created) == [True] * len(contents)
        assert list(threads.map(storage.read, contents)) == list(contents.values())
        sizes = [len(content) for content in contents.values()]
        opened = threads.map(lambda *item: storage.open_input(*item).read(), contents, sizes)
        assert list(opened) == list(contents.values())
        again = threads.map(lambda path: storage.create(path, b"other"), contents)
        assert list(again) == [False] * len(contents)
        assert {one.path for one in storage.list()} == set(contents)
    faults = [request.fault for request in s3_proxy.requests if request.fault]
    assert len(faults) > 15


def test_pickled_storages_work(storage: Storage) -> None:
    storage.write("f", b"x")
    copy = pickle.loads(pickle.dumps(storage))  # noqa: S301  our own
    assert copy == storage
    assert copy.read("f") == b"x"
    filesystem = pickle.loads(pickle.dumps(storage.filesystem))  # noqa: S301  our own
    with filesystem.open_input_file(storage.full("f")) as source:
        assert source.read() == b"x"
