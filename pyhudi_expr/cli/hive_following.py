"""`pyhudi hive register --follow` and `adopt --follow`: go on until Ctrl-C; needs the extra `hive`.

A step that fails is reported once and tried again: HiveServer2 may be restarting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import click

from pyhudi_expr.cli import hive_output
from pyhudi_expr.hive.address import HiveAddress
from pyhudi_expr.hive.following import CommitCalls, repeat
from pyhudi_expr.table.errors import HudiError


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
            click.echo(f"commit callbacks: http://{listened[0]}:{calls.port}", err=True)
            repeat(reported.step, calls.wait, every)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)


class Follower:
    """Keeps Hive's table as the Hudi table is."""

    def __init__(
        self,
        address: HiveAddress,
        planned: hive_output.PlannedRegistration,
        name: str | None,
        seen: str | None,
        properties: Mapping[str, str],
    ) -> None:
        """See `hive_output.plan_registration`; `planned` has just been registered."""
        self._address = address
        self._last = planned
        self._name = name
        self._seen = seen
        self._properties = properties

    def step(self) -> None:
        """Ask Hive only if the Hudi table's columns have changed. Raises HudiError."""
        planned = hive_output.plan_registration(
            self._address, self._last.table, self._name, self._seen, self._properties
        )
        if planned.target != self._last.target:
            hive_output.register(self._address, planned, False, False, False)
        self._last = planned


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
                click.echo(f"not done, tried again: {text}", err=True)
            self._last = text
