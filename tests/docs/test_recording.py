"""The recording of the first ten minutes shows what the commands print today."""

import re
from pathlib import Path

import pytest

from devtools.generators import recording
from pyhudi_expr.cli.main import main
from tests.docs.documents import ROOT

_NUMBER = re.compile(r"\d+\.\d+")
_ROOM = re.compile("[ ─━┳┻╇│┃]+")
_TEXT = re.compile(r"```text\n(.*?)```", re.DOTALL)


def without_measures(text: str) -> list[str]:
    """Lines without times and sizes, which differ from machine to machine."""
    return [_ROOM.sub(" ", _NUMBER.sub("0.0", line)) for line in text.splitlines()]


@pytest.fixture(scope="module")
def document() -> str:
    return recording.DOCUMENT.read_text()


def test_it_shows_what_the_commands_print(document: str) -> None:
    assert without_measures(recording.recorded(document)) == without_measures(document)


def test_another_output_is_noticed(document: str) -> None:
    changed = document.replace("day=2024-01-03/0205", "day=2024-01-03/0206")
    assert changed != document
    assert without_measures(recording.recorded(changed)) == without_measures(document)


def test_the_first_page_shows_what_the_demo_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not main(["demo", "trips"])
    printed = [line.strip() for line in without_measures(capsys.readouterr().out)]
    shown = _TEXT.search((ROOT / "docs" / "index.md").read_text())
    assert shown is not None
    lines = [line.strip() for line in without_measures(shown[1])]
    assert "rider = 'R-27182' 1 of 80 0.0 of 0.0 MB secondary_index_riders" in lines
    assert not set(lines) - set(printed)
