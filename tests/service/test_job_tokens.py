"""Tokens of jobs: what their signature, their table and their end allow."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TMemoryBuffer, TTransportException

from pyhudi_expr.expr.nodes import ALWAYS
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated import PruningService
from pyhudi_expr.protocol.generated.ttypes import PruneRequest, PruneResponse, PruneStatus
from pyhudi_expr.service.access import TOKEN_PREFACE, JobToken, read, sign
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.network.connection import OTHER_TABLE
from pyhudi_expr.service.network.frames import is_about
from pyhudi_expr.service.settings import ServiceSettings
from tests.service.running_server import GatedHandler, RunningServer, running_server

SECRET = b"correct horse battery staple"
TABLE = "hdfs://cluster/warehouse/trips"


def later() -> int:
    return int(time.time()) + 60


def written(request: PruneRequest) -> bytes:
    """The frame of a request, as clients write it."""
    memory = TMemoryBuffer()
    PruningService.Client(TBinaryProtocol(memory, strictWrite=True)).send_prune(request)
    content: bytes = memory.getvalue()
    return content


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_bytes(SECRET + b"\n")
    return file


def test_a_token_says_what_was_signed() -> None:
    assert read(SECRET, sign(SECRET, TABLE, 1_800_000_000)) == JobToken(
        TABLE.encode(), 1_800_000_000
    )


def test_the_handler_signs_the_same() -> None:
    """The text is also in the handler's SignedTokenTest."""
    signed = sign(b"0123456789abcdef", "/warehouse/fürth", 1_800_000_000)
    assert signed == (
        b"job1.MTgwMDAwMDAwMAovd2FyZWhvdXNlL2bDvHJ0aA.e5XZ0B19glEryfJiver9svw6gqutY93McwPPsNBpNtQ"
    )


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"job1.",
        b"job1.x.y",
        b"job2" + sign(SECRET, TABLE, 1)[4:],
        sign(b"another secret of 16", TABLE, 1),
        sign(SECRET, TABLE, 1)[:-1],
        SECRET,
    ],
)
def test_another_text_is_no_token(given: bytes) -> None:
    assert read(SECRET, given) is None


def test_a_changed_table_or_end_is_no_token() -> None:
    prefix, payload, mac = sign(SECRET, TABLE, 1).split(b".")
    for changed in (b"2\n" + TABLE.encode(), b"1\n/another"):
        text = base64.urlsafe_b64encode(changed).rstrip(b"=")
        assert read(SECRET, b".".join((prefix, text, mac))) is None
    assert read(SECRET, b".".join((prefix, payload, mac))) is not None


def test_a_job_asks_about_its_table_and_no_other(token: Path) -> None:
    handler = GatedHandler()
    handler.gate.set()
    shown = sign(SECRET, TABLE, later()).decode()
    with (
        running_server(handler, token_file=str(token)) as server,
        PruningClient(port=server.port, token=shown) as job,
    ):
        assert job.info().protocolVersion == 1
        assert job.send(PruneRequest(1, "q", TABLE, [])).status == PruneStatus.OK
        other = job.send(PruneRequest(1, "q", TABLE + "2", []))
        assert (other.status, other.message) == (PruneStatus.NOT_PRUNED, OTHER_TABLE)
        described = job.metadata(TABLE + "2", "files")
        assert (described.status, described.message) == (PruneStatus.FAILED, OTHER_TABLE)


def test_a_token_ends_on_an_open_connection_as_well(token: Path) -> None:
    handler = GatedHandler()
    handler.gate.set()
    end = int(time.time()) + 3
    with (
        running_server(handler, token_file=str(token)) as server,
        PruningClient(port=server.port, token=sign(SECRET, TABLE, end).decode()) as job,
    ):
        assert job.info()
        while int(time.time()) <= end:
            time.sleep(0.1)
        with pytest.raises((TApplicationException, TTransportException), match="expired"):
            job.send(PruneRequest(1, "q", TABLE, []))


def answered(server: RunningServer, token: bytes, request: bytes) -> PruneResponse:
    """Show a token, send the bytes of a request, and return the answer."""
    with server.connect() as caller:
        for frame in (TOKEN_PREFACE + token, request):
            caller.sendall(len(frame).to_bytes(4, "big") + frame)
        received = caller.makefile("rb")
        reply = received.read(int.from_bytes(received.read(4), "big"))
    return PruningService.Client(TBinaryProtocol(TMemoryBuffer(reply))).recv_prune()


def test_a_request_cannot_name_a_second_table(token: Path, golden: Mapping[str, Path]) -> None:
    """What was admitted is the first one, and a decoder takes the last of repeated fields."""
    table, other = (
        str(golden[name]) for name in ("cow_v9_txns_simple_meta", "cow_v9_txns_nonpart_nometa")
    )
    frame = written(PruneRequest(1, "q", table, encode(ALWAYS), 1))
    second = b"\x0b\x00\x03" + len(other).to_bytes(4, "big") + other.encode()
    assert is_about(frame[:-2] + second + frame[-2:], table.encode())
    handler = PruningHandler(Pruner(), ServiceSettings())
    with running_server(handler, token_file=str(token)) as server:
        job = sign(SECRET, table, later())
        found = answered(server, job, frame[:-2] + second + frame[-2:])
        assert (found.status, found.message) == (
            PruneStatus.BAD_REQUEST,
            "the request names two tables",
        )
        assert answered(server, job, frame).status == PruneStatus.OK


def test_a_request_of_another_form_is_about_no_table() -> None:
    """A client may write the fields in another order; then nothing says which table it is about."""
    asked = written(PruneRequest(1, "q", TABLE, []))
    assert is_about(asked, TABLE.encode())
    assert not is_about(asked, b"/another")
    assert not is_about(asked[:40], TABLE.encode())
    assert not is_about(b"", TABLE.encode())


@pytest.mark.parametrize(
    ("secret", "seconds", "why"),
    [(SECRET, -60, "expired"), (b"another secret of 16", 60, "not this service's")],
)
def test_an_old_or_foreign_token_is_told_why(
    token: Path, secret: bytes, seconds: int, why: str
) -> None:
    given = sign(secret, TABLE, int(time.time()) + seconds).decode()
    with (
        running_server(GatedHandler(), token_file=str(token)) as server,
        PruningClient(port=server.port, token=given) as job,
        pytest.raises((TApplicationException, TTransportException), match=why),
    ):
        job.info()
