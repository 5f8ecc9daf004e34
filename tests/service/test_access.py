"""Authentication: clients need a certificate or a token if the service requires one."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TTransportException

from devtools.runtime import free_port
from pyhudi_expr.manage.hive import HiveAddress
from pyhudi_expr.manage.hive.doctor import _services_from_here
from pyhudi_expr.manage.hive.guards import Verdict
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.service.access import TOKEN_PREFACE, Access, is_loopback
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from tests.service.certificates import make, service_tls, tls
from tests.service.running_server import GatedHandler, closed_by_peer, frame, running_server

REFUSED = (TException, OSError, EOFError)


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("secrets"))


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("correct horse battery staple\n")
    return file


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.0.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("pruning.example.com", False),
        ("localhost.example.com", False),
        ("", False),
    ],
)
def test_only_loopback_needs_no_authentication(host: str, alone: bool, token: Path) -> None:
    assert is_loopback(host) is alone
    settings = ServiceSettings(host=host)
    if alone:
        assert not Access(settings).needs_token
    else:
        with pytest.raises(SettingsError, match="tls_client_ca"):
            Access(settings)
        assert Access(settings.model_copy(update={"token_file": str(token)})).needs_token


def test_a_network_service_must_require_client_certificates(secrets: Path) -> None:
    given = service_tls(secrets) | {"tls_client_ca": ""}
    with pytest.raises(SettingsError, match="other machines"):
        Access(ServiceSettings(host="0.0.0.0", **given))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        *((text, "needs a token of 16 or more characters") for text in ("", "short", " \n")),
        ("x" * 5000, "needs a token of 4083 or fewer characters"),
    ],
)
def test_an_invalid_token_prevents_the_start(tmp_path: Path, content: str, expected: str) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(SettingsError, match=f"^token_file: {file} {expected}$"):
        Access(ServiceSettings(token_file=str(file)))


def test_missing_or_invalid_files_prevent_the_start(tmp_path: Path, secrets: Path) -> None:
    with pytest.raises(SettingsError, match="nowhere"):
        Access(ServiceSettings(token_file=str(tmp_path / "nowhere")))
    with pytest.raises(SettingsError, match="tls_certificate"):
        Access(ServiceSettings(tls_client_ca=str(secrets / "ca.crt")))


def test_an_unusable_certificate_or_key_is_named(tmp_path: Path, secrets: Path) -> None:
    garbage, other = tmp_path / "garbage.pem", secrets / "hive.key"
    garbage.write_text("no PEM\n")
    started = tmp_path / "started.pem"
    started.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    nowhere = tmp_path / "nowhere"
    for setting, file, problem in (
        ("tls_certificate", garbage, r"holds no certificate: .*\[.*\]"),
        ("tls_certificate", started, "holds no certificate"),
        ("tls_certificate", nowhere, "cannot be read: No such file"),
        ("tls_key", garbage, "holds no private key"),
        ("tls_key", secrets / "ca.crt", "holds no private key"),
        ("tls_key", nowhere, "cannot be read: No such file"),
        ("tls_key", other, f"is not the key of tls_certificate, {secrets}/service.crt: "),
        ("tls_client_ca", garbage, "holds no certificate"),
        ("tls_client_ca", nowhere, "cannot be read: No such file"),
    ):
        given = service_tls(secrets) | {setting: str(file)}
        with pytest.raises(SettingsError, match=f"^{setting}: {file} {problem}"):
            Access(ServiceSettings(**given))


def test_a_certificate_without_its_key_is_told_to_set_it(secrets: Path, tmp_path: Path) -> None:
    given = service_tls(secrets) | {"tls_key": ""}
    with pytest.raises(SettingsError, match=r"tls_key: missing.* set tls_key"):
        Access(ServiceSettings(**given))
    both = tmp_path / "both.pem"
    both.write_bytes(
        (secrets / "service.crt").read_bytes() + (secrets / "service.key").read_bytes()
    )
    assert Access(ServiceSettings(**given | {"tls_certificate": str(both)})).tls


def test_only_clients_with_the_token_are_answered(token: Path) -> None:
    with running_server(GatedHandler(), token_file=str(token)) as server:
        valid_token = token.read_text().strip()
        with PruningClient(port=server.port, token=valid_token) as client:
            assert client.info()
            assert client.info()
        for wrong in (None, "", valid_token[:-1], valid_token + "r", valid_token.upper()):
            expected = "the caller's token is not" if wrong else "the caller shows none"
            with PruningClient(port=server.port, token=wrong) as client:
                for _ in range(2):
                    with pytest.raises(TApplicationException) as refused:
                        client.info()
                    assert f"127.0.0.1:{server.port}: " in str(refused.value)
                    assert expected in str(refused.value)
                    assert valid_token[:-1] not in str(refused.value)
        with PruningClient(port=server.port, token=valid_token) as client:
            assert client.info()


def test_without_the_token_only_the_reason_is_answered(token: Path) -> None:
    large = b"\x00\x10\x00\x00"
    with running_server(GatedHandler(), token_file=str(token)) as server:
        for sent in (large, frame(b"\x80\x01" * 50), frame(TOKEN_PREFACE), large + b"x" * 9999):
            with server.connect() as caller:
                caller.sendall(sent)
                size = int.from_bytes(caller.recv(4), "big")
                assert b"token" in caller.recv(size, socket.MSG_WAITALL)
                assert closed_by_peer(caller)


def test_a_refused_caller_that_stays_is_disconnected(token: Path) -> None:
    with (
        running_server(GatedHandler(), token_file=str(token)) as server,
        server.connect() as caller,
    ):
        caller.sendall(frame(TOKEN_PREFACE))
        server.wait_for_connections(0)


def test_a_client_says_what_is_wrong_with_tls(secrets: Path) -> None:
    with running_server(GatedHandler(), **service_tls(secrets)) as server:
        for context, expected in (
            (None, "closed the connection before it answered"),
            (tls(secrets, certificate=None), "certificate"),
            (ssl.create_default_context(), "CERTIFICATE_VERIFY_FAILED"),
        ):
            with PruningClient("localhost", server.port, tls=context) as client:
                with pytest.raises(TTransportException) as refused:
                    client.info()
                assert f"localhost:{server.port}" in str(refused.value)
                assert expected in str(refused.value)
    with (
        running_server(GatedHandler()) as server,
        PruningClient("localhost", server.port, tls=tls(secrets)) as client,
        pytest.raises(TTransportException, match=f"no TLS connection to localhost:{server.port}"),
    ):
        client.info()


def test_an_unrequired_token_is_ignored() -> None:
    with (
        running_server(GatedHandler()) as server,
        PruningClient(port=server.port, token="whatever") as client,
    ):
        assert client.info()


def test_only_clients_with_a_certificate_of_the_authority_are_answered(secrets: Path) -> None:
    with running_server(GatedHandler(), **service_tls(secrets)) as server:
        with PruningClient("localhost", server.port, tls=tls(secrets)) as client:
            assert client.info()
        for caller in (
            PruningClient("localhost", server.port),
            PruningClient("localhost", server.port, tls=tls(secrets, certificate=None)),
        ):
            with caller, pytest.raises(REFUSED):
                caller.info()


def test_a_caller_that_fails_in_tls_is_logged_and_counted(
    secrets: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    others = make(tmp_path_factory.mktemp("others"))
    of_another = ssl.create_default_context(cafile=str(secrets / "ca.crt"))
    of_another.load_cert_chain(others / "hive.crt", others / "hive.key")
    callers = [
        (None, "the caller does not speak TLS"),
        (tls(secrets, certificate=None), "the caller shows no certificate"),
        (of_another, "the caller's certificate is of no authority of tls_client_ca"),
        (tls(others), "unknown ca"),
    ]
    with running_server(GatedHandler(), **service_tls(secrets)) as server, capture_logs() as lines:
        for number, (context, reason) in enumerate(callers, 1):
            caller = PruningClient("localhost", server.port, tls=context)
            with caller, pytest.raises(REFUSED):
                caller.info()
            server.wait_for_refusals("tls", number)
            line = lines[-1]
            assert (line["event"], line["log_level"]) == ("connection closed", "warning")
            assert reason in line["reason"]
            assert line["peer"].startswith("127.0.0.1:")
        with PruningClient("localhost", server.port, tls=tls(secrets)) as client:
            assert client.info()
        assert len(lines) == len(callers)


def test_the_doctor_says_that_a_service_wants_tls_or_a_token(secrets: Path, token: Path) -> None:
    def remedy(port: int) -> str:
        diagnosis = {"services": [{"address": f"127.0.0.1:{port}"}]}
        (finding,) = _services_from_here(HiveAddress(), diagnosis)
        assert finding.verdict is Verdict.DOUBTFUL
        return finding.remedy

    with running_server(GatedHandler(), **service_tls(secrets)) as server:
        assert "wants TLS" in remedy(server.port)
    with running_server(GatedHandler(), token_file=str(token)) as server:
        assert "no token" in remedy(server.port)
    assert "a firewall may block" in remedy(free_port())


def test_a_caller_that_does_not_end_its_handshake_is_disconnected(secrets: Path) -> None:
    given = service_tls(secrets) | {"transfer_seconds": 0.2}
    with running_server(GatedHandler(), **given) as server, server.connect() as caller:
        assert closed_by_peer(caller)
        server.wait_for_refusals("slow", 1)


def test_a_caller_that_hangs_up_is_no_refusal(secrets: Path) -> None:
    with running_server(GatedHandler(), **service_tls(secrets)) as server, capture_logs() as lines:
        server.connect().close()
        with PruningClient("localhost", server.port, tls=tls(secrets)) as client:
            assert client.info()
        assert not lines


def test_a_server_stops_during_a_handshake(secrets: Path) -> None:
    with running_server(GatedHandler(), **service_tls(secrets)) as server:
        caller = server.connect()
        caller.sendall(b"\x16\x03\x01\x02\x00\x01")  # a ClientHello begins
        with PruningClient("localhost", server.port, tls=tls(secrets)) as later:
            assert later.info()
        server.stop()
        assert server.wait_until_stopped()
        assert closed_by_peer(caller)
        caller.close()


def test_a_reload_can_begin_to_want_certificates_of_callers(secrets: Path) -> None:
    wanted = service_tls(secrets)
    with running_server(GatedHandler(), **wanted | {"tls_client_ca": ""}) as server:
        stranger = tls(secrets, certificate=None)
        with PruningClient("localhost", server.port, tls=stranger) as client:
            assert client.info()
        server.reload(**wanted)
        with (
            PruningClient("localhost", server.port, tls=stranger) as client,
            pytest.raises(REFUSED),
        ):
            client.info()
        with PruningClient("localhost", server.port, tls=tls(secrets)) as client:
            assert client.info()


@pytest.mark.slow
def test_certificates_are_renewed_while_the_service_runs(
    secrets: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    others = make(tmp_path_factory.mktemp("others"))
    mixed = ssl.create_default_context(cafile=str(secrets / "ca.crt"))
    mixed.load_cert_chain(others / "hive.crt", others / "hive.key")
    with running_server(GatedHandler(), **service_tls(secrets)) as server:

        def answers(context: ssl.SSLContext) -> bool:
            with PruningClient("localhost", server.port, tls=context) as client:
                try:
                    return bool(client.info())
                except REFUSED:
                    return False

        contexts = [tls(secrets), tls(others), mixed]
        assert [answers(context) for context in contexts] == [True, False, False]
        server.reload(**service_tls(others))
        assert [answers(context) for context in contexts] == [False, True, False]
        with pytest.raises(SettingsError, match="restart"):
            server.reload()
        assert [answers(context) for context in contexts] == [False, True, False]
