"""What every lock gives to its holder, and how every lock waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from pyhudi_expr.tables.locks.errors import LockNotAcquired

_T = TypeVar("_T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0  # seconds


class Lease(Protocol):
    """A lock that is held."""

    def check(self) -> None:
        """Check that the lock is still held; call it before each step that others will see.

        A lock can end early: its file is deleted, a lease cannot be renewed in time, a session with
        a service ends. `held` reports that, too, but only after the block.

        Raises:
            LockLost: It is not, or that cannot be found out.
            HudiError: The lock's storage cannot be read.
        """


def wait_for(
    attempt: Callable[[], _T | None],
    wait: float,
    explain: Callable[[], str],
    is_worth_more: Callable[[], bool] = lambda: False,
) -> _T:
    """Call `attempt` until it returns a value, with growing pauses.

    Args:
        attempt: Returns None if it failed.
        wait: For how many seconds.
        explain: Returns the message of the error: who holds the lock, and what to do.
        is_worth_more: Returns whether another attempt is made although the time is over.

    Raises:
        LockNotAcquired: The time is over.
    """
    give_up, pause = time.monotonic() + wait, _FIRST_PAUSE
    while (taken := attempt()) is None:
        if time.monotonic() + pause > give_up and not is_worth_more():
            raise LockNotAcquired(explain())
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return taken
