"""Show a person the progress of what takes long: in Python's shell, in IPython and in notebooks.

Programs see nothing of it. In a shell rich draws the bar, if it is installed; in a notebook the
browser does.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyhudi_expr.api.progress_bar import ProgressBar

_PATIENCE = 1.0  # seconds
_NOTEBOOK = "ZMQInteractiveShell"


class Bar(Protocol):
    """What is shown during a block."""

    def advance(self, done: int, total: int, what: str) -> None:
        """Update the progress."""


class _NoBar:
    def advance(self, done: int, total: int, what: str) -> None:
        pass


class NotebookBar:
    """A bar below a notebook's cell, shown once its block takes longer than a second."""

    def __init__(self, purpose: str) -> None:
        self._purpose, self._text, self._value = purpose, purpose, ""
        self._shown: Any = None
        self._lock = threading.Lock()
        self._late = threading.Timer(_PATIENCE, self._show)
        self._late.daemon = True

    def advance(self, done: int, total: int, what: str) -> None:
        """Update the progress."""
        text, value = f"{self._purpose}, {done} of {total} {what}", f' value="{done}" max="{total}"'
        with self._lock:
            is_new, self._text, self._value = text != self._text, text, value
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
            self._shown.update({"text/plain": "", "text/html": ""}, raw=True)

    def _show(self) -> None:
        from IPython.display import display

        with self._lock:
            self._shown = display(self._content(), raw=True, display_id=True)

    def _content(self) -> dict[str, str]:
        bar = f"<progress{self._value}></progress> {escape(self._text)}"
        return {"text/plain": self._text, "text/html": bar}


@contextmanager
def progress_bar(purpose: str, is_wanted: bool) -> Iterator[Bar]:
    """Show a bar during the block if there is a person who waits for it.

    Args:
        purpose: What is done, such as "reading rows".
        is_wanted: Whether the person wants bars.
    """
    bar = _bar(purpose) if is_wanted else None
    if bar is None:
        yield _NoBar()
        return
    with bar as shown:
        yield shown


def _bar(purpose: str) -> NotebookBar | ProgressBar | None:
    """Return the bar for the place that this process runs in; None if nobody would see it."""
    shell = _shell()
    if shell == _NOTEBOOK:
        return NotebookBar(purpose)
    if not (shell or hasattr(sys, "ps1")):
        return None
    try:
        from pyhudi_expr.api.progress_bar import ProgressBar
    except ModuleNotFoundError:  # rich comes with the extra `cli`
        return None
    return ProgressBar(purpose)


def _shell() -> str:
    """Return the name of IPython's shell; empty if this process is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return "" if shell is None else type(shell).__name__
