"""What workflows run is fixed: actions of others by commit, what a release installs by hash."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
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
