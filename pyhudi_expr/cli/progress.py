"""Show a command's progress as a bar on the terminal."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from pyspark import SparkContext

_T = TypeVar("_T")
_PAUSE = 0.2  # seconds
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


def progress_while(purpose: str, console: Console | None = None) -> ProgressBar:
    """Return a bar for a block that does not report its progress."""
    return ProgressBar(purpose, console)


def iter_with_progress(items: Iterable[_T], purpose: str) -> Iterator[_T]:
    """Return the items as they come, with a bar while waiting for one."""
    every = iter(items)
    while True:
        with progress_while(purpose):
            try:
                item = next(every)
            except StopIteration:
                return
        yield item


@contextmanager
def job_progress(
    context: SparkContext, purpose: str, console: Console | None = None
) -> Iterator[None]:
    """Show the finished tasks of the running Spark jobs during the block.

    Nothing is shown if standard error is not a terminal.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    ended = threading.Event()
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, redirect_stdout=False
    ) as bars:
        watcher = threading.Thread(
            target=_watch, args=(context, bars, purpose, ended), name="progress", daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def _watch(context: SparkContext, bars: Progress, purpose: str, ended: threading.Event) -> None:
    """Update the bar. Finished stages keep counting, so that the bar does not restart."""
    tracker, bar = context.statusTracker(), bars.add_task(purpose, total=None)
    tasks: dict[int, tuple[int, int]] = {}
    while not ended.wait(_PAUSE):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None:
                tasks[stage] = (info.numCompletedTasks, info.numTasks)
        for stage in tasks.keys() - set(tracker.getActiveStageIds()):
            tasks[stage] = (tasks[stage][1], tasks[stage][1])
        if tasks:
            done, total = map(sum, zip(*tasks.values(), strict=True))
            bars.update(bar, completed=done, total=total)
