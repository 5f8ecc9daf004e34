"""`pyhudi serve --check`: the settings and where they come from, who has access, what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyhudi_expr.cli.main import main
from tests.service.certificates import make


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("secrets"))


@pytest.fixture
def checked(capsys: pytest.CaptureFixture[str]):
    """Runs the check with options: the exit code, and both outputs with single blanks."""

    def run(*options: str) -> tuple[int, str, str]:
        code = main(["serve", "--check", *options])
        out, err = capsys.readouterr()
        return code, "\n".join(" ".join(line.split()) for line in out.splitlines()), err

    return run


@pytest.fixture
def file(tmp_path: Path, secrets: Path) -> Path:
    """The settings of a service for the network."""
    path = tmp_path / "service.toml"
    path.write_text(
        f"""host = "0.0.0.0"
tls_certificate = "{secrets}/service.crt"
tls_key = "{secrets}/service.key"
tls_client_ca = "{secrets}/ca.crt"
token_file = "{secrets}/pruning-token"
metrics_address = "127.0.0.1:9100"
console_address = "0.0.0.0:9101"
table_roots = ["{tmp_path}"]
[storage_options]
"fs.s3a.secret.key" = "S3CR3T"
"""
    )
    return path


def test_each_setting_is_shown_with_its_origin_and_secrets_are_not(checked, file, monkeypatch):
    monkeypatch.setenv("PYHUDI_THREADS", "5")
    code, shown, problems = checked("--config", str(file), "--port", "7")
    assert code == 0
    assert not problems
    assert "\nport 7 [command line]\n" in shown
    assert "\nthreads 5 [PYHUDI_THREADS]\n" in shown
    assert f"\nhost 0.0.0.0 [{file}]\n" in shown
    assert "\nmax_waiting 128\n" in shown
    assert f"\nstorage_options fs.s3a.secret.key=... [{file}]\n" in shown
    assert "S3CR3T" not in shown


def test_what_is_open_to_whom_is_shown(checked, file, secrets, tmp_path):
    _, shown, _ = checked("--config", str(file))
    who = f"who shows a certificate of {secrets}/ca.crt and the token of {secrets}/pruning-token"
    assert f"\npruning 0.0.0.0:9099, from the network: {who}, by TLS\n" in shown
    assert f"\nconsole 0.0.0.0:9101, from the network: {who}, by TLS\n" in shown
    assert "\nmetrics 127.0.0.1:9100, from this machine: anyone, without TLS\n" in shown
    assert f"\ntables below {tmp_path}" in shown
    _, shown, _ = checked()
    assert "\npruning 127.0.0.1:9099, from this machine: anyone, without TLS\n" in shown
    assert "\nmetrics off\nconsole off\n" in shown


def test_what_is_probably_not_meant_is_a_warning(checked, secrets, monkeypatch):
    monkeypatch.setenv("PYHUDI_COLOUR", "red")
    monkeypatch.setenv("PYHUDI_WORKERS", "64")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setenv("PYHUDI_TOKEN_FILE", str(secrets / "pruning-token"))
    monkeypatch.setenv("PYHUDI_METRICS_ADDRESS", "0.0.0.0:9100")
    code, _, problems = checked("--host", "0.0.0.0", "--root", "/no/such/directory")
    assert code == 0
    for named in (
        "PYHUDI_COLOUR",
        "tls_certificate",
        "/no/such/directory",
        "metrics_address",
        "workers",
    ):
        assert f"warning: {named}" in problems or f"table_roots: {named}" in problems


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--host", "0.0.0.0"], "host: 0.0.0.0 can be reached from other machines"),
        (["--root", "warehouse"], "table_roots: 'warehouse'"),
        (["--config", "/no/such/file"], "/no/such/file"),
    ],
)
def test_what_would_stop_the_start_fails_the_check(checked, options, named):
    code, shown, problems = checked(*options)
    assert code == 1
    assert not shown
    assert problems.startswith("pyhudi: ")
    assert named in problems


def test_storage_options_of_the_user_are_a_warning(checked, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    of_user = tmp_path / "pyhudi" / "config.toml"
    of_user.parent.mkdir()
    of_user.write_text('[storage_options]\naws_region = "S3CR3T"\n')
    code, shown, problems = checked("--root", str(tmp_path))
    assert code == 0
    assert f"storage_options: {of_user} of this user has aws_region, too" in shown + problems
    assert "S3CR3T" not in shown + problems
    of_user.write_text("aws_region = 1\n")
    code, _, problems = checked("--root", str(tmp_path))
    assert code == 1
    assert f"{of_user}: there is no setting 'aws_region'" in problems


def test_roots_that_are_no_directories_are_a_warning(checked, tmp_path):
    file = tmp_path / "file"
    file.touch()
    roots = [tmp_path, f"file://{tmp_path}", "s3://lake/trips"]
    missing = [tmp_path / "a", f"file://{tmp_path}/b", file]
    options = [word for root in roots + missing for word in ("--root", str(root))]
    code, _, problems = checked(*options)
    assert code == 0
    assert problems == "".join(
        f"warning: table_roots: {root} does not exist, or is no directory\n" for root in missing
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"METRICS_ADDRESS": "127.0.0.1:9099"},
            "metrics_address: 127.0.0.1:9099 is what port has, too (127.0.0.1:9099)",
        ),
        ({"METRICS_ADDRESS": "localhost:9099"}, "is what port has, too"),
        (
            {"METRICS_ADDRESS": "0.0.0.0:9100", "CONSOLE_ADDRESS": "127.0.0.1:9100"},
            "console_address: 127.0.0.1:9100 is what metrics_address has, too (0.0.0.0:9100)",
        ),
        (
            {"CALLBACK_ADDRESS": "127.0.0.1:9101", "CONSOLE_ADDRESS": "[::]:9101"},
            "callback_address: 127.0.0.1:9101 is what console_address has, too ([::]:9101)",
        ),
        (
            {"CALLBACK_ADDRESS": "10.0.0.1:9101", "CONSOLE_ADDRESS": "10.0.0.1:9101"},
            "callback_address: 10.0.0.1:9101 is what console_address has, too",
        ),
    ],
)
def test_two_settings_with_one_address_stop_the_check_and_the_start(
    given, expected, secrets, monkeypatch, capsys
):
    monkeypatch.setenv("PYHUDI_TOKEN_FILE", str(secrets / "pruning-token"))
    monkeypatch.setenv("PYHUDI_TABLE_ROOTS", str(secrets))
    for name, address in given.items():
        monkeypatch.setenv(f"PYHUDI_{name}", address)
    for options in (["--check"], []):
        assert main(["serve", *options]) == 1
        out, err = capsys.readouterr()
        assert not out
        assert expected in err
        assert len(err.splitlines()) == 1


def test_a_free_port_and_other_hosts_are_not_the_same_address(checked, monkeypatch):
    monkeypatch.setenv("PYHUDI_METRICS_ADDRESS", "127.0.0.1:0")
    monkeypatch.setenv("PYHUDI_CONSOLE_ADDRESS", "127.0.0.2:9099")
    assert checked("--port", "9099")[0] == 0
    monkeypatch.setenv("PYHUDI_CONSOLE_ADDRESS", "127.0.0.1:0")
    assert checked("--port", "0")[0] == 0


@pytest.mark.parametrize("setting", ["metrics_address", "console_address"])
def test_an_address_without_a_port_fails_the_check(checked, setting, monkeypatch):
    monkeypatch.setenv(f"PYHUDI_{setting.upper()}", "localhost")
    code, _, problems = checked()
    assert code == 1
    assert f"{setting}: 'localhost' is not of the form host:port" in problems
