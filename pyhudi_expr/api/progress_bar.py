"""A bar on the terminal, drawn by rich."""

from __future__ import annotations

import threading

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_PATIENCE = 1.0
"""Seconds that a person waits without a sign."""


class ProgressBar:
    """A bar with the elapsed time, shown once its block takes longer than a second.

    Nothing is shown if standard error is not a terminal. The block must not print to a terminal: a
    command prints its result after the bar.
    """

    def __init__(self, purpose: str, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bars = Progress(
            *columns, console=self._console, transient=True, redirect_stdout=False
        )
        self._purpose, self._bar = purpose, self._bars.add_task(purpose, total=None)
        self._late = threading.Timer(_PATIENCE, self._bars.start)

    def advance(self, done: int, total: int, what: str) -> None:
        """Update the progress."""
        text = f"{self._purpose}, {done} of {total} {what}"
        self._bars.update(self._bar, description=text, completed=done, total=total)

    def __enter__(self) -> ProgressBar:
        """Return the bar."""
        if self._console.is_terminal:
            self._late.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        if self._console.is_terminal:
            self._late.cancel()
            self._late.join()
            self._bars.stop()
