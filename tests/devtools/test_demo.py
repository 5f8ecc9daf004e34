"""What `make demo` shows while it runs."""

from __future__ import annotations

import io
import threading

import pytest
from rich.console import Console

from devtools.demo import Progress, seconds_left


class Screen(io.StringIO):
    """Says when the time that is left was written."""

    def __init__(self) -> None:
        super().__init__()
        self.has_come = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if " left: " in text:
            self.has_come.set()
        return written


def test_a_file_has_lines_while_a_step_takes_long() -> None:
    screen = Screen()
    progress = Progress(Console(file=screen, width=180), seconds=1_200.0, every=0.01)
    with progress.step("tables: writing [rows]", seconds=600.0):
        assert screen.has_come.wait(30)
    first, *_, last = screen.getvalue().splitlines()
    assert first == "     ...  about 20 min left: tables: writing [rows]"
    assert last.endswith(" s  tables: writing [rows]")


def test_a_terminal_has_a_sign_instead() -> None:
    screen = Screen()
    console = Console(file=screen, force_terminal=True, width=180)
    with Progress(console, seconds=1_200.0, every=0.01).step("starting", seconds=600.0):
        assert "progress" not in {thread.name for thread in threading.enumerate()}
    assert "starting" in screen.getvalue()


@pytest.mark.parametrize(
    ("passed", "pace", "left"),
    [
        (0.0, 1.0, 40.0),
        (4.0, 1.0, 36.0),
        (4.0, 2.0, 76.0),  # the steps before took twice as long
        (30.0, 1.0, 90.0),  # this one takes three times as long, and so may the others
    ],
)
def test_the_time_that_is_left_follows_the_pace(passed: float, pace: float, left: float) -> None:
    assert seconds_left(passed, 10.0, 30.0, pace) == left
