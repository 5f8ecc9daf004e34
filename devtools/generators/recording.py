"""`python -m devtools.generators.recording`: record the commands of docs/first-minutes.md.

A block of the document begins with a command (`$ pyhudi ...`) or a line of Python (`>>> ...`). What
follows is replaced by what a terminal of 80 columns shows. All run in one directory, in order.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import tempfile
from code import InteractiveConsole
from collections.abc import Iterator

from devtools.runtime import ROOT

DOCUMENT = ROOT / "docs" / "first-minutes.md"
_BLOCK = re.compile(r"(?<=^```text\n)((?:\$ pyhudi|>>> ).*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_TERMINAL = {"COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}
_STYLE = re.compile(r"\x1b\[[\d;]*m")
_HOME = "/home/you"


class _Screen(io.StringIO):
    """What a terminal shows."""

    def isatty(self) -> bool:
        """Return True."""
        return True


class _WithoutBars(io.TextIOBase):
    """Standard error on a screen, without the progress bars that a terminal would get."""

    def __init__(self, screen: io.StringIO) -> None:
        self._screen = screen

    def write(self, text: str) -> int:
        """Write to the screen."""
        return self._screen.write(text)


def recorded(document: str) -> str:
    """Return the document with the output that its commands have now."""
    with tempfile.TemporaryDirectory() as directory, _at_home(home := os.path.realpath(directory)):
        session = InteractiveConsole({"__name__": "__main__"})
        return _BLOCK.sub(lambda block: _block(block[1], session, home), document)


@contextlib.contextmanager
def _at_home(home: str) -> Iterator[None]:
    """Run in a directory, with a terminal's variables and an empty cache."""
    before, directory = dict(os.environ), os.getcwd()
    os.environ.update(_TERMINAL, XDG_CACHE_HOME=os.path.join(home, ".cache"))
    os.chdir(home)
    try:
        yield
    finally:
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(before)


def _block(block: str, session: InteractiveConsole, home: str) -> str:
    screen = _Screen()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(_WithoutBars(screen)):
        if block.startswith("$ "):
            command = block.partition("\n")[0]
            screen.write(f"{command}\n")
            _run(shlex.split(command.removeprefix("$ pyhudi ")))
        else:
            _type(
                [line for line in block.splitlines() if line.startswith((">>> ", "... "))], session
            )
    shown = _STYLE.sub("", screen.getvalue()).replace(home, _HOME)
    return "".join(f"{line.rstrip()}\n" for line in shown.splitlines())


def _run(arguments: list[str]) -> None:
    from pyhudi_expr.cli.main import main

    main(arguments)


def _type(lines: list[str], session: InteractiveConsole) -> None:
    for line in lines:
        print(line)
        session.push(line[4:])


if __name__ == "__main__":
    argparse.ArgumentParser("devtools.generators.recording", description=__doc__).parse_args()
    DOCUMENT.write_text(recorded(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
