"""Storage options of the service: their sources, and that nothing shows their values."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest

from devtools.runtime import free_port
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.settings import ServiceSettings, SettingsError, load
from tests.service.running_server import PATIENCE
from tests.service.service_process import Process
from tests.tables.storage.failing_servers import repeating_server

_VARIABLE = "PYHUDI_STORAGE_OPTIONS"
_SECRETS = ("S3CR3T-KEY-0f1e", "S3SS10N-T0K3N-77")


def test_each_option_is_of_the_first_source_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "service.toml"
    file.write_text(
        "[storage_options]\n"
        'region = "file"\n'
        "allow_http = true\n"
        'fs.s3a.access.key = "reader"\n'
        '"fs.s3a.endpoint" = "http://file"\n'
    )
    monkeypatch.setenv(_VARIABLE, '{"region": "environment", "fs.s3a.endpoint": "http://e"}')
    assert load(file).storage_options == {
        "region": "environment",
        "allow_http": "true",
        "fs.s3a.access.key": "reader",
        "fs.s3a.endpoint": "http://e",
    }
    monkeypatch.delenv(_VARIABLE)
    assert load(file).storage_options["region"] == "file"
    assert load().storage_options == {}


@pytest.mark.parametrize(
    "text", [f"{_SECRETS[0]}", f'["{_SECRETS[0]}"]', f'{{"a": ["{_SECRETS[0]}"]}}']
)
def test_malformed_options_are_an_error_without_their_text(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_VARIABLE, text)
    with pytest.raises(SettingsError, match="storage_options") as raised:
        load()
    assert _SECRETS[0] not in str(raised.value)


def test_a_variable_that_is_no_json_is_named_with_what_is_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(_VARIABLE, "abc")
    with pytest.raises(SettingsError, match=rf'^{_VARIABLE}: .*expected as JSON, such as {{"aws'):
        load()


def test_settings_do_not_show_the_options() -> None:
    settings = ServiceSettings(storage_options={"secret_access_key": _SECRETS[0]})
    assert _SECRETS[0] not in f"{settings!r} {settings}"


def test_a_failing_table_shows_no_secret(tmp_path: Path) -> None:
    """In the answer, the log, the metrics and the console."""
    console = free_port()
    with repeating_server() as endpoint:
        service = Process(
            tmp_path,
            console_address=f"127.0.0.1:{console}",
            log_level="debug",
            **{
                "storage_options.endpoint": endpoint,
                "storage_options.aws_access_key_id": "reader",
                "storage_options.secret_access_key": _SECRETS[0],
                "storage_options.session_token": _SECRETS[1],
            },
        )
        try:
            with PruningClient(port=service.port, timeout=PATIENCE) as client:
                answer = client.prune("s3://lake/trips", parse_predicate("fare > 100"))
            assert answer.status == PruneStatus.NOT_PRUNED
            assert "400 Bad Request" in answer.message
            shown = [answer.message, service.page("/metrics")[1]]
            for path in ("/", "/table?path=s3%3A%2F%2Flake%2Ftrips"):
                with urllib.request.urlopen(f"http://127.0.0.1:{console}{path}") as page:
                    shown.append(page.read().decode())
            assert "400 Bad Request" in shown[-1]
            service.reload()
        finally:
            service.kill()
    shown.append(service.text)
    for secret in _SECRETS:
        assert not [text for text in shown if secret in text]


@pytest.mark.s3
def test_the_service_reads_tables_with_its_options(
    s3_env: Mapping[str, str],
    s3_bucket: str,
    s3_server: object,
    golden: Mapping[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directory: Path = s3_server.directory  # type: ignore[attr-defined]
    shutil.copytree(golden["cow_v9_txns_simple_meta"], directory / "buckets" / s3_bucket / "t")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    options = {
        "aws_endpoint_url": s3_env["AWS_ENDPOINT_URL"],
        "fs.s3a.access.key": s3_env["AWS_ACCESS_KEY_ID"],
        "fs.s3a.secret.key": s3_env["AWS_SECRET_ACCESS_KEY"],
    }
    console = free_port()
    named = {f"storage_options.{json.dumps(key)}": value for key, value in options.items()}
    service = Process(tmp_path, console_address=f"127.0.0.1:{console}", **named)
    try:
        table = f"s3a://{s3_bucket}/t"
        with PruningClient(port=service.port, timeout=PATIENCE) as client:
            answer = client.prune(table, parse_predicate("region = 'us'"))
        assert answer.status == PruneStatus.OK
        assert answer.counts.filesDropped > 0
        page = f"http://127.0.0.1:{console}/table?path=s3a%3A%2F%2F{s3_bucket}%2Ft"
        with urllib.request.urlopen(page) as shown:
            assert "column_stats" in shown.read().decode()
    finally:
        service.kill()
