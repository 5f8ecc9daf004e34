"""How far a command is, as a bar on the terminal."""

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
    """Within its block a bar that moves, and the time, once the block takes longer than a second.

    Nothing is shown where standard error is no terminal. The block prints nothing to a terminal: a
    command's answer comes after the bar.
    """

    def __init__(self, purpose: str, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bars = Progress(
            *columns, console=self._console, transient=True, redirect_stdout=False
        )
        self._purpose, self._bar = purpose, self._bars.add_task(purpose, total=None)
        self._late = threading.Timer(_PATIENCE, self._bars.start)

    def tell(self, done: int, total: int, what: str) -> None:
        """How much is done."""
        told = f"{self._purpose}, {done} of {total} {what}"
        self._bars.update(self._bar, description=told, completed=done, total=total)

    def __enter__(self) -> ProgressBar:
        """Itself."""
        if self._console.is_terminal:
            self._late.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Takes the bar away."""
        if self._console.is_terminal:
            self._late.cancel()
            self._late.join()
            self._bars.stop()


def progress_while(purpose: str, console: Console | None = None) -> ProgressBar:
    """For a block that does not say how far it is."""
    return ProgressBar(purpose, console)


def iter_with_progress(items: Iterable[_T], purpose: str) -> Iterator[_T]:
    """The items as they come, with a bar as of `progress_while` while one is waited for."""
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
    """Shows the tasks that are done, of all that the running jobs have, while the block runs.

    Nothing is shown where standard error is no terminal.
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
    """Stages that are done keep counting: the bar goes on, it does not begin again."""
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
