"""Terminals of tests. Set them in the test itself: capsys would reset what a fixture has set."""

from __future__ import annotations

import io
import sys

import pytest


class Terminal(io.StringIO):
    """What is shown on, or typed into, a terminal."""

    def isatty(self) -> bool:
        return True


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, typed: str) -> Terminal:
    """Let a person type this; returns what standard error shows."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def to_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return standard output as a terminal of 100 columns."""
    for name, value in (("COLUMNS", "100"), ("TERM", "xterm"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    return screen
