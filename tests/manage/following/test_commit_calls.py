"""The port for commit callbacks of Hudi's writers, and the steps that it causes."""

from __future__ import annotations

import http.client
import time

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.following import HEAD_BYTES, CommitCalls, repeat

LONG = 60.0


def post(port: int, body: str = "{}", method: str = "POST") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    connection.request(method, "/", body)
    return connection.getresponse().status


def test_a_step_is_repeated_at_once_after_a_call() -> None:
    outcomes = iter((None, HudiError("the second step")))

    def step() -> None:
        if (error := next(outcomes)) is not None:
            raise error

    with CommitCalls("127.0.0.1", 0) as calls:
        assert post(calls.port) == 204
        started = time.monotonic()
        with pytest.raises(HudiError, match="the second step"):
            repeat(step, calls.wait, LONG)
        assert time.monotonic() - started < LONG / 2


def test_other_requests_are_no_calls() -> None:
    with CommitCalls("127.0.0.1", 0) as calls:
        assert post(calls.port, method="GET") == 501
        connection = http.client.HTTPConnection("127.0.0.1", calls.port, timeout=LONG)
        connection.putrequest("POST", "/")
        connection.putheader("Content-Length", str(1 << 30))
        connection.endheaders()
        assert connection.getresponse().status == 413
        started = time.monotonic()
        calls.wait(0.1)
        assert time.monotonic() - started >= 0.1


def test_a_port_that_is_taken_is_named() -> None:
    with (
        CommitCalls("127.0.0.1", 0) as calls,
        pytest.raises(HudiError, match=f"127.0.0.1:{calls.port} cannot be listened on"),
    ):
        CommitCalls("127.0.0.1", calls.port)


def test_the_message_of_a_large_commit_is_a_call() -> None:
    with CommitCalls("127.0.0.1", 0) as calls:
        assert post(calls.port, "x" * (20 * HEAD_BYTES + 1)) == 204
        started = time.monotonic()
        calls.wait(LONG)
        assert time.monotonic() - started < LONG / 2
