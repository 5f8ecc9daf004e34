"""The user's file of settings, for programs and commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyhudi_expr.cli.main import main
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import process_options
from pyhudi_expr.user_settings import settings_file, settings_in_file, user_setting


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file, in a directory that exists; no variable is set."""
    for name in ("METASTORE", "HS2", "STORAGE_OPTIONS", "HDFS_VIA", "HADOOP_CONF_DIR"):
        monkeypatch.delenv(f"PYHUDI_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "pyhudi").mkdir()
    return tmp_path / "pyhudi" / "config.toml"


def test_the_file_is_below_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    assert settings_file() == Path("/home/ada/.config/pyhudi/config.toml")


def test_without_a_file_nothing_is_set(file: Path) -> None:
    assert settings_in_file() == {}
    assert user_setting("metastore") is None


def test_a_variable_wins_over_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('metastore = "thrift://a:1"\nhs2_timeout = 2.5\n')
    assert (user_setting("metastore"), user_setting("hs2_timeout")) == ("thrift://a:1", "2.5")
    monkeypatch.setenv("PYHUDI_METASTORE", "thrift://b:2")
    assert user_setting("metastore") == "thrift://b:2"


def test_a_changed_file_is_read_again(file: Path) -> None:
    for address in ("thrift://a:1", "thrift://b:20"):
        file.write_text(f"metastore = {address!r}\n")
        assert user_setting("metastore") == address
        assert settings_in_file() is settings_in_file()


def test_storage_options_are_those_of_every_table(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('[storage_options]\naws_region = "eu"\nfs.s3a.endpoint = "http://m"\n')
    assert process_options() == {"aws_region": "eu", "fs.s3a.endpoint": "http://m"}
    monkeypatch.setenv("PYHUDI_STORAGE_OPTIONS", '{"aws_region": "us"}')
    assert process_options() == {"aws_region": "us"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metstore = 'thrift://a'", "no setting 'metstore'; expected metastore, "),
        ("hs2_password = 'secret'", "no setting 'hs2_password'"),
        ("metastore = 9083", "metastore: expected a text, got int"),
        ("hs2_timeout = true", "hs2_timeout: expected a number of seconds, got bool"),
        ("storage_options = 'secret'", "storage_options: expected a table"),
        ("metastore = ", "the file is no TOML: Invalid value"),
    ],
)
def test_an_error_names_the_file_and_the_key(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(HudiError, match=said) as caught:
        settings_in_file()
    assert str(caught.value).startswith(f"{file}: ")
    assert "secret" not in str(caught.value)


def test_commands_ask_the_metastore_and_hiveserver2_of_the_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text('metastore = "thrift://127.0.0.1:1"\nhs2 = "127.0.0.1:2"\n')
    assert main(["prune", "sales.trips", "fare > 100"]) == 1
    assert "no Hive metastore can be reached: thrift://127.0.0.1:1" in capsys.readouterr().err
    assert main(["hive", "unregister", "sales.trips", "--yes"]) == 1
    assert "127.0.0.1:2" in capsys.readouterr().err
