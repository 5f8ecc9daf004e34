"""docker/secrets.sh makes certificates by which callers find the service, or says why not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from devtools.runtime import ROOT

PROGRAM = ROOT / "docker" / "secrets.sh"
_ALWAYS = {"DNS:pruning-1", "DNS:pruning-2", "DNS:localhost", "IP Address:127.0.0.1"}

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing")


def secrets(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def names(directory: Path) -> set[str]:
    """The names in the service's certificate."""
    command = ["openssl", "x509", "-noout", "-ext", "subjectAltName"]
    command += ["-in", str(directory / "service.crt")]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name.strip() for name in shown.splitlines()[1].split(",")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Secrets for a host and an address. Read-only."""
    directory = tmp_path_factory.mktemp("made") / "secrets"
    done = secrets(directory, "pruning.example.com", "10.0.0.7", "localhost")
    assert (done.returncode, done.stderr) == (0, "")
    return directory


def test_hosts_and_addresses_are_names_of_their_kinds(made: Path) -> None:
    assert names(made) == _ALWAYS | {"DNS:pruning.example.com", "IP Address:10.0.0.7"}


def test_the_authority_vouches_for_both_certificates(made: Path) -> None:
    command = ["openssl", "verify", "-CAfile", "ca.crt", "service.crt", "hive.crt"]
    assert subprocess.run(command, cwd=made, capture_output=True, check=False).returncode == 0


def test_what_is_there_stays(made: Path) -> None:
    before = {path.name: path.read_bytes() for path in made.iterdir()}
    for given in ([], ["pruning.example.com"], ["10.0.0.7", "pruning-1"]):
        assert secrets(made, *given).returncode == 0
    assert {path.name: path.read_bytes() for path in made.iterdir()} == before


@pytest.mark.parametrize("name", ["other.example.com", "10.0.0.8"])
def test_a_name_that_the_certificate_lacks_is_an_error(made: Path, name: str) -> None:
    done = secrets(made, "pruning.example.com", name)
    assert done.returncode == 1
    assert f"service.crt was there and is not for {name}" in done.stderr


def test_the_authority_that_is_there_signs_a_certificate_anew(made: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(made, tmp_path / "secrets")
    for file in ("service.crt", "service.key"):
        (copy / file).unlink()
    assert secrets(copy, "other.example.com").returncode == 0
    assert names(copy) == _ALWAYS | {"DNS:other.example.com"}
    assert (copy / "ca.crt").read_bytes() == (made / "ca.crt").read_bytes()


def test_a_sites_own_certificates_need_no_key_of_the_authority(made: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(made, tmp_path / "secrets")
    (copy / "ca.key").unlink()
    assert secrets(copy).returncode == 0
    (copy / "service.crt").unlink()
    done = secrets(copy)
    assert done.returncode == 1
    assert "no service.crt, and no ca.key" in done.stderr


def test_an_address_that_is_none_is_an_error(tmp_path: Path) -> None:
    done = secrets(tmp_path / "secrets", "300.1.1.1")
    assert done.returncode == 1
    assert "IP:300.1.1.1" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_without_a_directory_the_usage_is_shown(arguments: list[str]) -> None:
    done = secrets(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")
