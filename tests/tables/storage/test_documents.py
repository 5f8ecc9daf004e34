"""The programs and commands of docs/object-stores.md, on a table in a bucket."""

from __future__ import annotations

import re
import shlex
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from obstore import exceptions

from devtools.s3.server import S3Server
from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.cli.main import main
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.storage.object_clients import AZURE, GCS, S3, StoreAddress, client
from pyhudi_expr.tables.storage.process_options import OPTIONS_VARIABLE
from tests.docs.documents import ROOT, Piece, Runner, pieces

_PIECES = pieces(Runner.OBJECT_STORES)
_PROGRAMS = [one for one in _PIECES if one.kind == "python"]
_COMMANDS = [one for one in _PIECES if one.kind == "shell" and one.words[0] != "export"]
_KINDS = {"aws": S3, "google": GCS, "azure": AZURE}
_OPTION = re.compile(r"`((aws|google|azure)_\w+)")


@pytest.fixture(scope="module")
def bucket(s3_server: S3Server) -> str:
    """A bucket with the demo's table."""
    name = s3_server.create_bucket("documents")
    write_demo_table(s3_server.directory / "buckets" / name / f"trips-{uuid.uuid4().hex}")
    return name


class Reader:
    """A reader of the document, who has a server, and a table in it."""

    def __init__(self, server: Mapping[str, str], table: str, home: Path) -> None:
        self.home = home
        self._texts = {
            "lake/trips": table,
            "http://minio:9000": server["AWS_ENDPOINT_URL"],
            "reader": server["AWS_ACCESS_KEY_ID"],
            "12345678": server["AWS_SECRET_ACCESS_KEY"],
        }

    def own(self, text: str) -> str:
        """The text with the names of this reader's server and table."""
        for shown, actual in self._texts.items():
            text = text.replace(shown, actual)
        return text


@pytest.fixture
def reader(
    s3_env: Mapping[str, str],
    s3_server: S3Server,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Reader:
    """What only the document may give is left out of the environment."""
    for name in s3_env:
        monkeypatch.delenv(name)
    monkeypatch.setenv(OPTIONS_VARIABLE, "")
    monkeypatch.setenv("HOME", str(tmp_path))
    (directory,) = (s3_server.directory / "buckets" / bucket).iterdir()
    return Reader(s3_env, f"{bucket}/{directory.name}", tmp_path)


def _write_profile(reader: Reader) -> None:
    (reader.home / ".aws").mkdir()
    credentials = "aws_access_key_id = reader\naws_secret_access_key = 12345678\n"
    (reader.home / ".aws" / "credentials").write_text(reader.own(f"[analytics]\n{credentials}"))
    config = "[profile analytics]\nendpoint_url = http://minio:9000\n"
    (reader.home / ".aws" / "config").write_text(reader.own(config))


@pytest.mark.s3
@pytest.mark.parametrize("piece", _COMMANDS, ids=str)
def test_commands_run(
    piece: Piece,
    reader: Reader,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _write_profile(reader)
    for other in _PIECES:
        if other.number == piece.number and other.kind == "shell" and other.words[0] == "export":
            for word in shlex.split(reader.own(other.text))[1:]:
                name, _, value = word.partition("=")
                monkeypatch.setenv(name, value)
    assert main(shlex.split(reader.own(piece.text))[1:]) == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.s3
@pytest.mark.parametrize("piece", _PROGRAMS, ids=str)
def test_programs_run(piece: Piece, reader: Reader) -> None:
    names: dict[str, object] = {"__name__": "document"}
    exec(compile(reader.own(piece.text), "document", "exec"), names)  # noqa: S102  the document's own
    assert names["rows"].num_rows > 0  # type: ignore[attr-defined]
    assert names["plan"].files_kept > 0  # type: ignore[attr-defined]


def test_the_documented_options_are_known() -> None:
    text = (ROOT / "docs" / "object-stores.md").read_text()
    found = set(_OPTION.findall(text)) - {("aws_conditional_put", "aws")}
    assert len(found) > 15
    for name, cloud in found:
        setting = name.removeprefix("azure_storage_").removeprefix(f"{cloud}_")
        address = StoreAddress(_KINDS[cloud], ((setting, "true"),))
        # Another error is about the value, or one that lacks.
        with suppress(exceptions.GenericError, OSError, ValueError):
            client(address)


def test_the_documented_uris_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSS_ENDPOINT", "https://oss-cn-hangzhou.aliyuncs.com")
    monkeypatch.setenv("OSS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("OSS_ACCESS_KEY_SECRET", "s")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "shop")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    text = (ROOT / "docs" / "object-stores.md").read_text()
    uris = set(re.findall(r"(?:s3a?|gs|abfss|az|oss)://[\w@.]+/[\w/]+", text))
    assert len(uris) >= 8
    for uri in uris:
        assert Storage.open(uri).is_remote
    with pytest.raises(HudiError, match="cannot be used"):
        Storage.open("adl://account.azuredatalakestore.net/t")
