"""Show a person the progress of what takes long: in Python's shell, in IPython and in notebooks.

Programs see nothing of it. The bar is drawn by rich, if that is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyhudi_expr.api.progress_bar import NotebookBar, ProgressBar

_NOTEBOOK = "ZMQInteractiveShell"


class Bar(Protocol):
    """What is shown during a block."""

    def advance(self, done: int, total: int, what: str) -> None:
        """Update the progress."""


class _NoBar:
    def advance(self, done: int, total: int, what: str) -> None:
        pass


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
    if not (shell or hasattr(sys, "ps1")):
        return None
    try:
        from pyhudi_expr.api.progress_bar import NotebookBar, ProgressBar
    except ModuleNotFoundError:  # rich comes with the extra `cli`
        return None
    return NotebookBar(purpose) if shell == _NOTEBOOK else ProgressBar(purpose)


def _shell() -> str:
    """Return the name of IPython's shell; empty if this process is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return "" if shell is None else type(shell).__name__
