"""Commands that go on until Ctrl-C, with a step at intervals and after commits of Hudi's writers.

A step that fails is reported once and tried again: a server may be restarting, or a writer have the
table's lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.following.commit_calls import CommitCalls, repeat

SECONDS = click.FloatRange(min=0, min_open=True)


def listened(callback: str | None) -> tuple[str, int] | None:
    """Return the host and the port of the option `--callback`. Raises click.UsageError."""
    if callback is None:
        return None
    host, _, port = callback.rpartition(":")
    if not host or not port.isdecimal():
        raise click.UsageError(f"--callback {callback} is not of the form HOST:PORT")
    return host.strip("[]"), int(port)


def follow(step: Callable[[], None], every: float, listened: tuple[str, int] | None) -> None:
    """Repeat a step until Ctrl-C.

    Args:
        step: What to do.
        every: Seconds between two steps.
        listened: Host and port for the commit callbacks of Hudi's writers; None: none.
    """
    reported = _Reported(step)
    try:
        if listened is None:
            repeat(reported.step, time.sleep, every)
            return
        with CommitCalls(*listened) as calls:
            echo(f"commit callbacks: http://{listened[0]}:{calls.port}", err=True)
            repeat(reported.step, calls.wait, every)
    except KeyboardInterrupt:
        echo("stopped", err=True)


class _Reported:
    """A step whose failures are printed, each once."""

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step
        self._last = ""

    def step(self) -> None:
        try:
            self._step()
            self._last = ""
        except (HudiError, OSError) as error:
            text = " ".join(str(error).split())
            if text != self._last:
                echo(f"not done, tried again: {text}", err=True)
            self._last = text
