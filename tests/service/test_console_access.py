"""The console's access while the service runs: renewed by SIGHUP, and each refusal is noticed."""

from __future__ import annotations

import http.client
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.runtime import free_port
from tests.service.certificates import make, service_tls, tls
from tests.service.running_server import PATIENCE
from tests.service.service_process import Process

OLD, NEW = "the token until the reload", "the token after the reload"
REFUSED = (OSError, http.client.HTTPException)
COUNTED = "pyhudi_connections_refused_total"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Those of two authorities."""
    first, second = (make(tmp_path_factory.mktemp("secrets")) for _ in range(2))
    return first, second


@pytest.fixture(params=[1, 2], ids=["one process", "two workers"])
def service(
    request: pytest.FixtureRequest, secrets: tuple[Path, Path], tmp_path: Path
) -> Iterator[Process]:
    used = Path(shutil.copytree(secrets[0], tmp_path / "used"))
    (tmp_path / "token").write_text(OLD)
    started = Process(
        tmp_path,
        workers=request.param,
        **service_tls(used),
        token_file=str(tmp_path / "token"),
        console_address=f"127.0.0.1:{free_port()}",
        callback_address=f"127.0.0.1:{free_port()}",
        table_roots=[str(tmp_path)],
    )
    try:
        yield started
        assert started.stop() == 0
    finally:
        started.kill()


def status(
    service: Process,
    context: ssl.SSLContext | None,
    token: str | None,
    setting: str = "console_address",
) -> int | None:
    """The status of a page; None without TLS in common."""
    port = int(str(service.fixed[setting]).rpartition(":")[2])
    connection = (
        http.client.HTTPConnection("localhost", port, timeout=PATIENCE)
        if context is None
        else http.client.HTTPSConnection("localhost", port, timeout=PATIENCE, context=context)
    )
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        connection.request("POST" if setting == "callback_address" else "GET", "/", headers=headers)
        return connection.getresponse().status
    except REFUSED:
        return None
    finally:
        connection.close()


def test_a_reload_renews_certificate_authority_and_token(
    service: Process, secrets: tuple[Path, Path]
) -> None:
    before, after = map(tls, secrets)
    mixed = ssl.create_default_context(cafile=str(secrets[1] / "ca.crt"))
    mixed.load_cert_chain(secrets[0] / "hive.crt", secrets[0] / "hive.key")
    used = Path(str(service.fixed["token_file"])).parent
    assert status(service, before, OLD) == 200
    assert status(service, before, OLD, "callback_address") == 415  # it is no JSON

    for name in ("ca.crt", "service.crt", "service.key"):
        (used / "used" / name).unlink()
        shutil.copy(secrets[1] / name, used / "used" / name)
    (used / "token").write_text(NEW)
    line = service.reload()
    assert line["changed"] == ["tls_certificate", "tls_key", "tls_client_ca", "token_file"]
    assert line["tls"] == "on, callers show a certificate"
    assert (line["token"], line["roots"]) == ("required", service.fixed["table_roots"])
    assert NEW not in str(line)
    assert service.reload()["changed"] == []
    assert status(service, after, NEW) == 200
    assert status(service, after, OLD) == 401
    assert status(service, before, NEW) is None
    assert status(service, mixed, NEW) is None
    assert status(service, after, NEW, "callback_address") == 415
    assert status(service, after, OLD, "callback_address") == 401

    # What is invalid changes nothing, for no one.
    (used / "token").write_text("short")
    service.reload("settings not reloaded")
    assert status(service, after, NEW) == 200


def test_each_refusal_is_logged_and_counted(service: Process, secrets: tuple[Path, Path]) -> None:
    valid, stranger = tls(secrets[0]), tls(secrets[0], certificate=None)
    for context, token, reason in (
        (None, OLD, "the caller does not speak TLS, and this service has a tls_certificate"),
        (stranger, OLD, "the caller shows no certificate; this service wants one of its"),
        (valid, NEW, "the caller's token is not this service's"),
        (valid, None, "the service needs a token, and the caller shows none"),
    ):
        assert status(service, context, token) in (401, None)
        line = service.wait_for_log("connection closed", setting="console_address")
        assert reason in str(line["reason"])
        assert str(line["peer"]).startswith("127.0.0.1:")
        assert OLD not in str(line)
        assert NEW not in str(line)
    assert status(service, valid, NEW, "callback_address") == 401
    assert service.wait_for_log("connection closed", setting="callback_address")
    found = service.metrics()
    assert (found[f"{COUNTED}{{tls}}"], found[f"{COUNTED}{{token}}"]) == (2, 3)
