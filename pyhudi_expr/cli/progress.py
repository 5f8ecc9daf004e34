"""Show a command's progress as a bar on the terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark import SparkContext
    from rich.console import Console
    from rich.progress import Progress

    from pyhudi_expr.api.progress_bar import ProgressBar

_T = TypeVar("_T")
_PAUSE = 0.2  # seconds


def progress_while(
    purpose: str, console: Console | None = None
) -> ProgressBar | AbstractContextManager[None]:
    """Return a bar for a block that does not report its progress."""
    if console is None and not sys.stderr.isatty():
        return nullcontext()
    # Imported on use: what draws it takes a part of a short command's time.
    from pyhudi_expr.api.progress_bar import ProgressBar

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
    # Imported on use: most commands run no Spark jobs, and the import takes time.
    from rich.console import Console

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
