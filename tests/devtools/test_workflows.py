"""What workflows run is fixed: actions of others by commit, what a release installs by hash."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE = ROOT / "devtools" / "release"
_BY_COMMIT = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_named_by_commit_and_version(workflow: Path) -> None:
    used = re.findall(r"^\s*(?:- )?uses: (.+)$", workflow.read_text(), re.MULTILINE)
    assert used
    assert [one for one in used if not _BY_COMMIT.fullmatch(one)] == []


def test_a_release_restores_no_cache() -> None:
    """Any run of any branch may have filled a cache."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert re.findall(r"cache: (?!false).*|actions/cache.*", text) == []


def test_what_builds_a_release_is_locked_with_hashes() -> None:
    wanted = (RELEASE / "packages.in").read_text()
    locked = re.split(r"\n(?=\S)", (RELEASE / "packages.txt").read_text())
    packages = {one.split("==")[0]: one for one in locked if not one.startswith("#")}
    assert {*re.findall(r"^[\w-]+", wanted, re.MULTILINE)} <= {*packages}
    assert [name for name, one in packages.items() if "--hash=sha256:" not in one] == []


def test_a_release_installs_nothing_else_to_build() -> None:
    """Tools by hash; what wheels are built with comes from the same file."""
    installed = re.findall(r"pip install .*", (ROOT / ".github/workflows/release.yml").read_text())
    assert installed == ["pip install --require-hashes -r devtools/release/packages.txt"]
    assert "-m build --no-isolation" in (RELEASE / "build.sh").read_text()
