"""Faults of the proxy: overload, cut bodies, and deaths at any request."""

import signal
import subprocess
import sys
from itertools import takewhile

import obstore
import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

from devtools.s3.proxy import RecordingProxy
from devtools.s3.recording import Fault, Request
from devtools.s3.server import S3Server
from tests.devtools.s3.stores import at_once, store

pytestmark = [pytest.mark.s3, pytest.mark.usefixtures("s3_env")]

_MANY_PUTS = """
import sys, obstore
from obstore.store import S3Store
store = S3Store(sys.argv[1])
for i in range(10):
    obstore.put(store, f"a{i}", b"0123")
"""


def names(client: S3Store) -> list[str]:
    """The names of the objects that are there."""
    return sorted(one["path"] for one in obstore.list(client).collect())


def put(client: S3Store, i: int, data: bytes = b"0123") -> bool:
    """Puts an object. Returns whether it could."""
    try:
        obstore.put(client, f"a{i}", data)
    except BaseError:
        return False
    return True


def put_many(client: S3Store, count: int) -> int:
    """Puts one object after another. Returns how many were put before one failed."""
    return sum(takewhile(bool, (put(client, i) for i in range(count))))


def test_a_client_that_asks_again_sees_no_fault(s3_proxy: RecordingProxy, s3_bucket: str):
    client = store(s3_bucket, retries=20)
    data = bytes(1 << 18)

    def work(i: int) -> None:
        obstore.put(client, f"a{i}", data)
        assert bytes(obstore.get_range(client, f"a{i}", start=i, end=i + 1000)) == data[:1000]

    def faults(requests: list[Request]) -> list[tuple[str, str, Fault]]:
        found = [(one.method, one.path, one.fault) for one in requests if one.fault]
        return sorted(found, key=str)

    runs = []
    for _ in range(2):
        with s3_proxy.faults(0.2, seed=7), s3_proxy.recording() as recording:
            at_once(work, 16)
        runs.append(faults(recording.requests))
    assert {fault for *_, fault in runs[0]} == {Fault.SLOW_DOWN, Fault.CUT}
    assert runs[0] == runs[1]
    with s3_proxy.faults(0.2, seed=8), s3_proxy.recording() as recording:
        at_once(work, 16)
    assert faults(recording.requests) != runs[0]
    obstore.list(store(s3_bucket)).collect()
    assert s3_proxy.requests[-1].fault is None


def test_a_client_that_asks_once_is_told(s3_proxy: RecordingProxy, s3_bucket: str):
    client = store(s3_bucket)
    obstore.put(client, "a", bytes(1000))
    with (
        s3_proxy.faults(0.5, seed=1),
        pytest.raises(BaseError, match=r"(?s)503 .*<Code>SlowDown</Code>"),
    ):
        at_once(lambda i: obstore.put(client, f"a{i}", b"0123"), 20)
    # With this rate each GET request fails, one way or the other.
    with s3_proxy.faults(0.5, seed=1):
        for _ in range(8):
            with pytest.raises(BaseError):
                obstore.get(client, "a").bytes()
    assert {one.fault for one in s3_proxy.requests[-8:]} == {Fault.SLOW_DOWN, Fault.CUT}


def test_a_rate_is_a_share(s3_proxy: RecordingProxy):
    wrong = pytest.raises(ValueError, match=r"expected a rate from 0 to 0\.5, got 0\.6")
    with wrong, s3_proxy.faults(0.6, seed=1):
        pass


@pytest.mark.parametrize("n", [1, 3, 5, 6])
def test_a_death_ends_all_requests(s3_proxy: RecordingProxy, s3_bucket: str, n: int):
    called = []
    client = store(s3_bucket)
    with s3_proxy.die_at(n, lambda: called.append(n)) as death:
        assert put_many(client, 5) == min(n - 1, 5)
        assert death.happened == (n <= 5)
        if death.happened:
            with pytest.raises(BaseError):
                obstore.list(client).collect()
        else:
            obstore.list(client).collect()
    assert len(called) == death.happened
    assert names(client) == [f"a{i}" for i in range(n - 1)]


def test_requests_before_a_death_are_complete(
    s3_server: S3Server, s3_proxy: RecordingProxy, s3_bucket: str
):
    client = store(s3_bucket)
    # The proxy refuses everybody then: the server itself is asked.
    direct = S3Store(s3_bucket, endpoint=s3_server.endpoint)
    seen: list[list[str]] = []
    with s3_proxy.die_at(5, lambda: seen.append(names(direct))):
        could = at_once(lambda i: put(client, i, bytes(1 << 20)), 12)
    assert could.count(True) == 4
    assert seen == [sorted(f"a{i}" for i, done in enumerate(could) if done)]
    assert names(direct) == seen[0]


def test_a_process_is_killed_at_a_request(s3_proxy: RecordingProxy, s3_bucket: str):
    with s3_proxy.die_at(4, lambda: process.kill()) as death:
        process = subprocess.Popen([sys.executable, "-c", _MANY_PUTS, s3_bucket])
        assert process.wait(60) == -signal.SIGKILL
    assert death.happened
    assert names(store(s3_bucket)) == ["a0", "a1", "a2"]


def test_an_error_of_the_callback_is_raised(s3_proxy: RecordingProxy, s3_bucket: str):
    with pytest.raises(ZeroDivisionError), s3_proxy.die_at(1, lambda: 1 // 0):
        put_many(store(s3_bucket), 1)
    assert put_many(store(s3_bucket), 1) == 1
