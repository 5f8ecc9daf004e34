"""The systemd unit: systemd accepts it, and it is locked down."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from devtools.runtime import ROOT
from pyhudi_expr.service.check import check
from pyhudi_expr.service.settings import load
from tests.service.certificates import make

DIRECTORY = ROOT / "docker" / "systemd"
UNIT = DIRECTORY / "pyhudi.service"


def analyze(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs systemd-analyze; skips the test where there is none."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is missing (Debian's package systemd)")
    words = [program, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True)


def verified(directory: Path, text: str) -> str:
    """What systemd says of a unit, whose program is one that is installed here."""
    unit = directory / UNIT.name
    unit.write_text(text.replace("/opt/pyhudi/bin/pyhudi", str(shutil.which("true"))))
    return analyze("verify", "--man=no", unit).stderr


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    assert verified(tmp_path, UNIT.read_text()) == ""
    assert "Unknown key" in verified(tmp_path, UNIT.read_text().replace("UMask=", "Umasks="))


def test_the_unit_is_locked_down() -> None:
    shown = analyze("security", "--offline=true", UNIT).stdout
    exposure = re.search(r"Overall exposure level for pyhudi.service: (\d+\.\d+)", shown)
    assert exposure is not None
    assert float(exposure[1]) <= 2.0


def test_the_unit_runs_what_it_checks() -> None:
    text = UNIT.read_text()
    (checked,) = re.findall(r"^ExecStartPre=(.*) --check$", text, re.MULTILINE)
    assert f"\nExecStart={checked}\n" in text


def test_the_unit_stops_later_than_the_service(tmp_path: Path) -> None:
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)
    assert int(seconds) > load().stop_seconds


def test_the_service_would_start_with_the_settings_beside_it(tmp_path: Path) -> None:
    secrets = make(tmp_path / "secrets")
    text = (DIRECTORY / "service.toml").read_text()
    for name in ("service.crt", "service.key", "ca.crt"):
        assert f'"/etc/pyhudi/{name}"' in text
    text = text.replace("/etc/pyhudi/token", f"{secrets}/pruning-token")
    file = tmp_path / "service.toml"
    file.write_text(text.replace("/etc/pyhudi", str(secrets)))
    report = check(load(file), {})
    assert "by TLS" in report.access["pruning"]
    assert report.access["metrics"].startswith("127.0.0.1:9100")
