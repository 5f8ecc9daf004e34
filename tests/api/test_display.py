"""What shells and notebooks show: texts, HTML, and bars while something takes long."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import pyhudi_expr as ph
from pyhudi_expr.api import display
from pyhudi_expr.api.display import html
from pyhudi_expr.api.progress_bar import NotebookBar, ProgressBar

COW = "cow_v9_txns_simple_meta"
_VOID = {"br", "meta", "link", "input", "img", "hr"}


class Checked(HTMLParser):
    """Fails if tags are not closed in order; collects the text and the frames' documents."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.frames: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "iframe":
            self.frames.append(dict(attrs)["srcdoc"] or "")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture
def shown(golden: Mapping[str, Path]) -> dict[str, Any]:
    table = ph.table(golden[COW])
    text = "region = 'us' AND amount > 50"
    scan = table.scan(text, ["txn_id"], limit=3)
    return {"table": table, "plan": table.prune(text), "scan": scan}


def test_tables_plans_and_scans_are_shown_as_aligned_lines(shown: dict[str, Any]) -> None:
    assert repr(shown["table"]).startswith("Table v9_txns_cow_simple_meta\n  location        /")
    assert "\n  type            COPY_ON_WRITE, table version 9\n" in repr(shown["table"])
    assert repr(shown["plan"]).startswith("Plan for region = 'us' AND amount > 50\n  table  ")
    assert "read 2 of 5" in repr(shown["plan"])
    assert "\n  limit    3 rows\n  columns  txn_id string" in repr(shown["scan"])


@pytest.mark.parametrize("name", ["table", "plan", "scan"])
def test_a_notebook_shows_the_same_as_html(shown: dict[str, Any], name: str) -> None:
    page = Checked(shown[name]._repr_html_())
    text = " ".join(page.text)
    for line in repr(shown[name]).splitlines()[1:]:
        assert line.strip().partition("  ")[2].strip() in text


def test_html_is_escaped() -> None:
    found = html("<script>", [("<b>", "</td><img src=x onerror=alert(1)>")])
    assert "<script>" not in found
    assert "<img" not in found
    assert Checked(found).text == ["<script>", "<b>", "</td><img src=x onerror=alert(1)>"]


def test_an_explanation_is_text_in_a_shell_and_a_page_in_a_notebook(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    found = ph.table(golden[COW]).explain("region = '<us>' OR amount > 50")
    assert repr(found) == str(found) == found.to_text()
    (frame,) = Checked(found._repr_html_()).frames
    assert frame == found.to_html()
    assert "&lt;us&gt;" in frame
    file = tmp_path / "why.html"
    assert found.to_html(file) == file.read_text()
    with pytest.raises(ph.HudiError, match="cannot be written"):
        found.to_html(tmp_path / "none" / "why.html")


_WITHOUT = """
import sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jinja2", "rich", "pandas", "polars"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
sys.ps1 = "> "
import pyhudi_expr as ph
table = ph.table(sys.argv[1])
print(table.explain("region = 'us'")._repr_html_()[:15])
print(table.scan("region = 'us'").count() > 0, "<table>" in table._repr_html_())
scan = table.scan()
for call in (table.explain("region = 'us'").to_html, scan.to_pandas, scan.to_polars):
    try:
        call()
    except ph.HudiError as error:
        print(error)
"""


def test_what_needs_no_extra_works_without(golden: Mapping[str, Path]) -> None:
    command = [sys.executable, "-c", _WITHOUT, str(golden[COW])]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    install = "is missing; install the extra: pip install 'pyhudi-expr["
    assert ran.stdout.splitlines() == [
        "<pre>Plan for r",
        "True True",
        f"jinja2 {install}cli]'",
        f"pandas {install}reading]'",
        f"polars {install}reading]'",
    ]


def test_a_program_sees_no_bar(golden: Mapping[str, Path]) -> None:
    assert display._bar("reading") is None
    program = "import sys, pyhudi_expr as ph; print(ph.table(sys.argv[1]).scan().count() > 0)"
    command = [sys.executable, "-c", program, str(golden[COW])]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("True\n", "")


def test_a_shell_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert isinstance(display._bar("reading"), ProgressBar)
    with display.progress_bar("reading", is_wanted=False) as bar:
        assert not isinstance(bar, ProgressBar)


class Screen(io.StringIO):
    """A terminal that says when a text was written to it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text, self.has_come = text, threading.Event()

    def write(self, text: str) -> int:
        if self._text in text:
            self.has_come.set()
        return super().write(text)


def test_a_bar_on_a_terminal_counts_and_goes_away() -> None:
    screen = Screen("reading rows, 3 of 80 files")
    console = Console(file=screen, force_terminal=True, width=100)
    with ProgressBar("reading rows", console) as bar:
        bar.advance(3, 80, "files")
        assert screen.has_come.wait(30)
    assert screen.getvalue().endswith("\x1b[2K")


class Notebook:
    """IPython's display in a notebook: keeps what is shown below a cell."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []
        self.has_come = threading.Event()

    def display(self, content: dict[str, str], **_: object) -> Notebook:
        self.update(content)
        return self

    def update(self, content: dict[str, str], **_: object) -> None:
        self.shown.append(content)
        self.has_come.set()


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """IPython is not installed here: its two functions stand in for it."""
    found = Notebook()
    package: Any = type(sys)("IPython")
    package.get_ipython = lambda: type("ZMQInteractiveShell", (), {})()
    package.display = type(sys)("IPython.display")
    package.display.display = found.display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", package.display)
    return found


def test_a_bar_in_a_notebook_counts_and_goes_away(notebook: Notebook) -> None:
    with display.progress_bar("reading rows", is_wanted=True) as bar:
        assert isinstance(bar, NotebookBar)
        assert notebook.has_come.wait(30)
        bar.advance(3, 80, "files")
        bar.advance(3, 80, "files")
    started, advanced, gone = notebook.shown
    assert started["text/plain"].startswith("reading rows ━")
    assert advanced["text/plain"].startswith("reading rows, 3 of 80 files ━")
    assert "reading rows, 3 of 80 files" in advanced["text/html"]
    assert gone["text/html"] == gone["text/plain"] == ""


def test_what_is_done_at_once_shows_no_bar(notebook: Notebook, golden: Mapping[str, Path]) -> None:
    with display.progress_bar("reading rows", is_wanted=True) as bar:
        bar.advance(1, 2, "files")
    assert notebook.shown == []
    assert ph.table(golden[COW]).scan().to_arrow().num_rows > 0
