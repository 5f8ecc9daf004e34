"""Preparing a release: one place of the version, and a changelog made of fragments.

`make release-check` builds, signs and installs one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from devtools.runtime import ROOT

_POMS = ("handler-java/pom.xml", "handler-java/spark/pom.xml")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What a release changes, and the scripts that do it."""
    for name in ("devtools/release", "devtools/changes"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "handler-java" / "spark").mkdir(parents=True)
    for name in ("pyproject.toml", "CHANGELOG.md", *_POMS):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(checkout: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(checkout / "devtools/release" / script), *arguments]
    return subprocess.run(
        command,
        env={**os.environ, "PYTHON": sys.executable},
        cwd=checkout,
        capture_output=True,
        text=True,
    )


def test_the_package_has_the_version_of_the_handler(checkout: Path) -> None:
    assert run(checkout, "version.sh").stdout.strip() == version("pyhudi-expr")


def test_no_other_file_has_the_version() -> None:
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert "version: 0.0.0" in (ROOT / "docker/helm/Chart.yaml").read_text()


def test_a_release_makes_its_section_of_the_fragments(checkout: Path) -> None:

    fragment = checkout / "devtools/changes/+anew.added.md"
    fragment.write_text("A thing\nof two lines.\n")
    subprocess.run(["git", "init", "-q", "."], cwd=checkout, check=True)
    prepared = run(checkout, "prepare.sh", "7.8.9")
    assert prepared.returncode == 0, prepared.stderr
    assert not fragment.exists()
    assert (checkout / "devtools/changes/README.md").exists()
    assert run(checkout, "version.sh").stdout == "7.8.9\n"
    for pom in _POMS:
        assert "\n  <version>7.8.9</version>\n" in (checkout / pom).read_text()
    text = (checkout / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", text, re.MULTILINE)[0] == "7.8.9"
    notes = run(checkout, "notes.sh").stdout
    assert "- A thing\n  of two lines.\n" in notes
    assert "First version." not in notes


def test_what_was_written_before_the_first_release_becomes_its_section(checkout: Path) -> None:

    (checkout / "CHANGELOG.md").write_text(
        "# Changes\n\n<!-- towncrier -->\n\n## 7.8.9 (not released)\n\n- By hand.\n"
    )
    assert run(checkout, "prepare.sh", "7.8.9").returncode == 0
    assert "not released" not in (checkout / "CHANGELOG.md").read_text()
    assert "- By hand." in run(checkout, "notes.sh").stdout


@pytest.mark.parametrize("wrong", ["v1.0.0", "1.0", "1.0.0; rm"])
def test_a_version_of_another_form_is_refused(checkout: Path, wrong: str) -> None:
    assert run(checkout, "prepare.sh", wrong).returncode == 2
    assert run(checkout, "version.sh").stdout.strip() == version("pyhudi-expr")


def test_a_version_without_a_section_has_no_notes(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text("# Changes\n")
    assert run(checkout, "notes.sh").returncode == 1
