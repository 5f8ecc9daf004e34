"""The page about the RFCs names tests that there are, and for each requirement at least one."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.docs.documents import ROOT

_LINES = [
    line
    for line in (ROOT / "docs" / "rfcs.md").read_text().splitlines()
    if re.search(r"\| (works|different|open|see)\b", line)
]


@cache
def source(path: str) -> str:
    return (ROOT / path).read_text()


@pytest.mark.parametrize("line", _LINES)
def test_each_requirement_names_tests_that_exist(line: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", line)
    assert named
    for path, name in named:
        assert f"\ndef {name}(" in source(path)


def test_no_requirement_is_left_out() -> None:
    assert len(_LINES) > 75
