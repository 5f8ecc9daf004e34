"""Several workers with TLS, a token, the console and commit callbacks."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from thrift.Thrift import TException

from devtools.runtime import free_port
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from tests.service.certificates import make, service_tls, tls
from tests.service.running_server import PATIENCE
from tests.service.service_process import Process

IN_US = parse_predicate("region = 'us'")
TOKEN = "correct horse battery staple"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("secrets"))


@pytest.fixture(scope="module")
def table(golden: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table without indexes of the extension, below a root of its own."""
    source = golden["cow_v9_txns_simple_meta"]
    return Path(shutil.copytree(source, tmp_path_factory.mktemp("root") / "table"))


@pytest.fixture(scope="module")
def service(
    secrets: Path, table: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    directory = tmp_path_factory.mktemp("service")
    token = directory / "token"
    token.write_text(TOKEN)
    started = Process(
        directory,
        workers=2,
        **service_tls(secrets),
        token_file=str(token),
        console_address=f"127.0.0.1:{free_port()}",
        callback_address=f"127.0.0.1:{free_port()}",
        table_roots=[str(table.parent)],
    )
    try:
        yield started
        assert started.stop() == 0
    finally:
        started.kill()


def connected(service: Process, secrets: Path, certificate: str | None = "hive") -> PruningClient:
    context = tls(secrets, certificate=certificate)
    return PruningClient("localhost", service.port, PATIENCE, tls=context, token=TOKEN)


def page(service: Process, secrets: Path, setting: str, path: str, body: object = None) -> str:
    """A page over TLS, with the token; of a refusal its status."""
    address = str(service.fixed[setting]).replace("127.0.0.1", "localhost")
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"https://{address}{path}", data, headers)
    try:
        with urllib.request.urlopen(request, context=tls(secrets)) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return str(error.code)


def test_every_worker_wants_certificate_and_token(
    service: Process, secrets: Path, table: Path
) -> None:
    clients = [connected(service, secrets) for _ in range(4)]
    assert {client.prune(str(table), IN_US).status for client in clients} == {PruneStatus.OK}
    for client in clients:
        client.close()
    for _ in range(4):
        with (
            connected(service, secrets, certificate=None) as stranger,
            pytest.raises((TException, OSError)),
        ):
            stranger.info()
    assert service.metrics()["pyhudi_connections_refused_total{tls}"] == 4
    # Failed handshakes are no connections any more: the balance stays even.
    clients = [connected(service, secrets) for _ in range(6)]
    for client in clients:
        client.info()
    found = service.metrics()
    assert found["pyhudi_connections{1}"] == found["pyhudi_connections{2}"] == 3
    for client in clients:
        client.close()


def test_the_console_shows_the_requests_of_all_workers(
    service: Process, secrets: Path, table: Path
) -> None:
    numbers = set()
    clients = [connected(service, secrets) for _ in range(4)]
    for client in clients:
        numbers.add(client.prune(str(table), IN_US).requestId)
    for client in clients:
        client.close()
    shown = page(service, secrets, "console_address", "/")
    assert all(number in shown for number in numbers)
    assert str(table) in page(service, secrets, "console_address", f"/table?path={table}")


def test_callbacks_are_taken_and_refused(service: Process, secrets: Path, table: Path) -> None:
    def answered(base_path: Path) -> str:
        message = {"commitTime": "1", "tableName": "t", "basePath": str(base_path)}
        return page(service, secrets, "callback_address", "/", message)

    assert "will be refreshed" in answered(table)
    assert answered(table.parents[1] / "elsewhere") == "403"


def test_a_console_and_tls_stay_after_a_reload(service: Process, secrets: Path) -> None:
    service.write(max_nodes=1000)
    service.reload()
    assert "<!doctype html>" in page(service, secrets, "console_address", "/")
    service.write(tls_certificate="", tls_key="", tls_client_ca="")
    assert "TLS begins" in str(service.reload("settings not reloaded")["reason"])
    service.write()
    service.reload()
    with connected(service, secrets) as client:
        assert client.info()


@pytest.mark.parametrize("setting", ["port", "console_address"])
def test_an_address_that_is_taken_stops_the_start(setting: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        given = {"port": port} if setting == "port" else {setting: f"127.0.0.1:{port}"}
        file = tmp_path / "service.toml"
        text = {"port": 0, "workers": 2, **given}
        file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in text.items()))
        command = [sys.executable, "-m", "pyhudi_expr.cli", "serve", "--config", str(file)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr
    assert "Traceback" not in ended.stderr
