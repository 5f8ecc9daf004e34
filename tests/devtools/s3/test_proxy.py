"""The proxy passes everything on, and records each request before its client has the answer."""

import http.client
import socket
import threading

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, NotModifiedError, PreconditionError

from devtools.s3.proxy import RecordingProxy
from tests.devtools.s3.stores import at_once, store

pytestmark = [pytest.mark.s3, pytest.mark.usefixtures("s3_env")]


def test_requests_are_recorded_as_they_were_sent(s3_proxy: RecordingProxy, s3_bucket: str):
    client = store(s3_bucket)
    with s3_proxy.recording() as recording:
        obstore.put(client, "t/a b", b"0123456789", mode="create")
        assert bytes(obstore.get_range(client, "t/a b", start=2, end=5)) == b"234"
        assert [one["path"] for one in obstore.list(client, "t").collect()] == ["t/a b"]
        assert obstore.head(client, "t/a b")["size"] == 10
        with pytest.raises(FileNotFoundError):
            obstore.get(client, "t/missing")
        obstore.delete(client, "t/a b")
    obstore.list(client).collect()
    seen = [(one.kind, one.status, one.range, one.conditional) for one in recording.requests]
    assert seen[:5] == [
        ("PUT", 200, None, "if-none-match: *"),
        ("GET", 206, "bytes=2-4", None),
        ("LIST", 200, None, None),
        ("HEAD", 200, None, None),
        ("GET", 404, None, None),
    ]
    assert [kind for kind, *_ in seen[5:]] == ["DELETE"]
    assert recording.requests[0].path == f"/{s3_bucket}/t/a%20b"
    assert recording.waves == 6, recording.summary()
    assert len(s3_proxy.requests) == 7


def test_answers_without_bodies(s3_proxy: RecordingProxy, s3_bucket: str):
    client = store(s3_bucket)
    tag = obstore.put(client, "a", b"0123456789")["e_tag"]
    with pytest.raises(NotModifiedError):
        obstore.get(client, "a", options={"if_none_match": tag})
    assert obstore.head(client, "a")["e_tag"] == tag
    obstore.put(client, "empty", b"")
    assert bytes(obstore.get(client, "empty").bytes()) == b""
    assert [one.status for one in s3_proxy.requests] == [200, 304, 200, 200, 200]


def test_large_bodies(s3_proxy: RecordingProxy, s3_bucket: str):
    client = store(s3_bucket)
    data = bytes(range(256)) * (12 << 12)
    obstore.put(client, "large", data, chunk_size=5 << 20)
    assert bytes(obstore.get(client, "large").bytes()) == data
    kinds = [one.kind for one in s3_proxy.requests]
    assert kinds == ["UPLOAD"] * 5 + ["GET"]


def test_a_connection_takes_many_requests(s3_server, s3_proxy: RecordingProxy, s3_bucket: str):
    path = f"/{s3_bucket}/a"
    connection = http.client.HTTPConnection("127.0.0.1", s3_proxy.port, timeout=20)
    connection.connect()
    own = connection.sock
    statuses = []
    for method, body in [("PUT", b"0123"), ("HEAD", None), ("GET", None), ("DELETE", None)] * 3:
        connection.request(method, path, body, s3_server.signed_headers(method, path))
        response = connection.getresponse()
        assert response.read() == (b"0123" if method == "GET" else b"")
        statuses.append(response.status)
        assert connection.sock is own
    connection.close()
    assert statuses == [200, 200, 200, 204] * 3


def test_a_client_may_wait_for_100_continue(s3_server, s3_proxy: RecordingProxy, s3_bucket: str):
    path = f"/{s3_bucket}/a"
    headers = {"Host": f"127.0.0.1:{s3_proxy.port}", "Content-Length": "4"}
    headers |= {"Expect": "100-continue", **s3_server.signed_headers("PUT", path)}
    lines = [f"PUT {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    with socket.create_connection(("127.0.0.1", s3_proxy.port), 20) as connection:
        answers = connection.makefile("rb")
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert answers.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert answers.readline() == b"\r\n"
        connection.sendall(b"0123")
        assert answers.readline().startswith(b"HTTP/1.1 200 ")
    assert bytes(obstore.get(store(s3_bucket), "a").bytes()) == b"0123"


def test_requests_in_chunks(s3_server, s3_proxy: RecordingProxy, s3_bucket: str):
    path = f"/{s3_bucket}/a"
    connection = http.client.HTTPConnection("127.0.0.1", s3_proxy.port, timeout=20)
    for _ in range(2):
        chunks = iter([b"01", b"23" * 4000])
        headers = s3_server.signed_headers("PUT", path)
        connection.request("PUT", path, chunks, headers, encode_chunked=True)
        response = connection.getresponse()
        response.read()
        assert response.status == 200
    connection.close()
    assert bytes(obstore.get(store(s3_bucket), "a").bytes()) == b"01" + b"23" * 4000


def test_waves_are_counted_while_requests_are_delayed(s3_proxy: RecordingProxy, s3_bucket: str):
    client = store(s3_bucket)
    obstore.put(client, "a", b"0123456789")
    s3_proxy.delay = 0.3
    with s3_proxy.recording() as recording:
        at_once(lambda i: obstore.get_range(client, "a", start=i, end=i + 1), 8)
        obstore.get(client, "a").bytes()
    assert len(recording.requests) == 9
    assert recording.waves == 2, recording.summary()
    assert all(one.end - one.start >= 0.3 for one in recording.requests)


def test_one_of_many_creators_wins(s3_proxy: RecordingProxy, s3_bucket: str):
    client = store(s3_bucket)

    def create(i: int) -> bool:
        try:
            obstore.put(client, f"lock{round}", str(i).encode(), mode="create")
        except AlreadyExistsError:
            return False
        return True

    for round in range(20):
        won = at_once(create, 16)
        assert won.count(True) == 1
        holder = bytes(obstore.get(client, f"lock{round}").bytes())
        assert int(holder) == won.index(True)


def test_one_of_many_replacers_wins(s3_proxy: RecordingProxy, s3_bucket: str):
    client = store(s3_bucket)
    tag = obstore.put(client, "lock", b"-")["e_tag"]

    def replace(i: int) -> str | None:
        content = f"{i} after {tag}".encode()  # Equal contents would have equal tags.
        try:
            return obstore.put(client, "lock", content, mode={"e_tag": tag})["e_tag"]
        except PreconditionError:
            return None

    for _ in range(5):
        won = [one for one in at_once(replace, 16) if one is not None]
        assert len(won) == 1
        tag = won[0]


def test_a_proxy_without_its_server_closes_connections():
    with RecordingProxy(1) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=20)
        connection.request("GET", "/")
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            connection.getresponse()
        connection.close()
        assert [one.status for one in proxy.requests] == [None]


def test_the_thread_of_a_proxy_ends_with_open_connections(s3_server, capfd):
    threads = threading.active_count()
    with RecordingProxy(s3_server.port) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=20)
        connection.request("GET", "/")
        assert connection.getresponse().read().startswith(b"<?xml")
        connection.sock.sendall(b"GET / HT")
    assert threading.active_count() == threads
    assert connection.sock.recv(1) == b""
    connection.close()
    assert capfd.readouterr() == ("", "")
