"""A bar on the terminal or below a notebook's cell, drawn by rich."""

from __future__ import annotations

import io
import threading
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_PATIENCE = 1.0
"""Seconds that a person waits without a sign."""
_NOTEBOOK_COLUMNS = 100
_HTML = '<pre style="margin: 0; background: none">{code}</pre>'
_NOTHING = {"text/plain": "", "text/html": ""}


class ProgressBar:
    """A bar with the elapsed time, shown once its block takes longer than a second.

    Nothing is shown if standard error is not a terminal. The block must not print to a terminal: a
    command prints its result after the bar.
    """

    def __init__(self, purpose: str, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bars = _bars(self._console)
        self._purpose, self._bar = purpose, self._bars.add_task(purpose, total=None)
        self._late = threading.Timer(_PATIENCE, self._bars.start)

    def advance(self, done: int, total: int, what: str) -> None:
        """Update the progress."""
        self._bars.update(
            self._bar,
            description=_text(self._purpose, done, total, what),
            completed=done,
            total=total,
        )

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


class NotebookBar:
    """The same bar below a notebook's cell, drawn anew whenever it advances."""

    def __init__(self, purpose: str) -> None:
        self._bars = _bars(Console(file=io.StringIO()))
        self._purpose, self._bar = purpose, self._bars.add_task(purpose, total=None)
        self._done = (0, 0)
        self._shown: Any = None
        self._lock = threading.Lock()
        self._late = threading.Timer(_PATIENCE, self._show)
        self._late.daemon = True

    def advance(self, done: int, total: int, what: str) -> None:
        """Update the progress."""
        with self._lock:
            is_new, self._done = (done, total) != self._done, (done, total)
            self._bars.update(
                self._bar,
                description=_text(self._purpose, done, total, what),
                completed=done,
                total=total,
            )
            if self._shown is not None and is_new:
                self._shown.update(self._content(), raw=True)

    def __enter__(self) -> NotebookBar:
        """Return the bar."""
        self._late.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._late.cancel()
        self._late.join()
        if self._shown is not None:
            self._shown.update(_NOTHING, raw=True)

    def _show(self) -> None:
        from IPython.display import display

        with self._lock:
            self._shown = display(self._content(), raw=True, display_id=True)

    def _content(self) -> Mapping[str, str]:
        page = Console(
            file=io.StringIO(), record=True, width=_NOTEBOOK_COLUMNS, force_terminal=True
        )
        page.print(self._bars.get_renderable())
        text = page.export_text(clear=False)
        return {
            "text/plain": text.strip(),
            "text/html": page.export_html(inline_styles=True, code_format=_HTML),
        }


def _bars(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, redirect_stdout=False)


def _text(purpose: str, done: int, total: int, what: str) -> str:
    return f"{purpose}, {done} of {total} {what}"
