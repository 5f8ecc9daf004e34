"""What every lock gives to its holder, how it waits, and leases that are renewed in a thread."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeVar

from pyhudi_expr.errors import HudiError


class LockNotAcquired(HudiError):  # noqa: N818 - names the finding
    """Another writer holds the table's lock."""


class LockLost(HudiError):  # noqa: N818 - names the finding
    """The lock ended while it was held: another writer may have changed the table meanwhile."""


class UnknownLock(HudiError):  # noqa: N818 - names the finding
    """The table's writers take a lock that is not supported here."""


def unknown_lock(uri: str, provider: str, why: str) -> UnknownLock:
    """Return the error that refuses the lock of a provider.

    Args:
        uri: The table.
        provider: The class of the writers' lock.
        why: Why it is refused, to follow the class.
    """
    return UnknownLock(
        f"{uri}: its writers take the lock of {provider}, {why}; or stop the writers, then confirm "
        "that by FileSystemBasedLockProvider (hoodie.write.lock.provider; commands take it by "
        "--writer-option); or put the index into the store 'extension'"
    )


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


class RenewedLease(ABC):
    """A lease, from the attempt to take it until it is released.

    It is counted from before the request that began or renewed it, by two clocks: the monotonic
    one, which nobody sets, and that of the machine, which goes on while the machine sleeps. The one
    that leaves less time counts.
    """

    def __init__(self, validity: float, renewal: float):
        """Prepare the lease.

        Args:
            validity: How long it is valid without a renewal, in seconds.
            renewal: How often it is renewed, in seconds.
        """
        self._validity = validity
        self._renewal = renewal
        self._is_lost = False
        self._ends = self._ends_by_machine = 0.0
        self._writing = threading.Lock()
        self._stopping = threading.Event()
        self._renewer: threading.Thread | None = None

    @abstractmethod
    def lost(self) -> LockLost:
        """Return the error that says that the lock is lost."""

    @abstractmethod
    def _extend(self) -> bool:
        """Write the lease again, for its whole validity; return False if another writer has it.

        Raises:
            HudiError: The request fails.
        """

    @abstractmethod
    def _end(self) -> bool:
        """Write that the lock is free; return False if another writer has it.

        Raises:
            HudiError: The request fails.
        """

    def start_renewing(self, purpose: str) -> None:
        """Renew the lease until it is released or lost, in a thread that `purpose` names."""
        self._renewer = threading.Thread(
            target=self._renew_always, name=f"pyhudi lock: {purpose}", daemon=True
        )
        self._renewer.start()

    def check(self) -> None:
        """Check that the lock is still held, and for half of its validity from now on.

        Raises:
            LockLost: It is not.
        """
        with self._writing:
            if self._left() < self._validity / 2:
                self._renew()
            if self._is_lost or self._left() <= 0:
                raise self.lost()

    def release(self) -> bool:
        """End the lease; return whether nobody else held the lock until now.

        A lease that ended unnoticed, and that nobody took since, excluded the others all the same.

        Raises:
            HudiError: The request fails, while the lease was still valid; it ends by itself.
        """
        self._stopping.set()
        if self._renewer is not None:
            self._renewer.join()
        with self._writing:
            try:
                return not self._is_lost and self._end()
            except HudiError:
                if self._left() <= 0:
                    return False
                raise

    def _counted(self, write: Callable[[], bool]) -> bool:
        """Begin or extend the lease by a request; return whether that succeeded."""
        started, started_by_machine = time.monotonic(), time.time()
        if not write():
            return False
        self._ends = started + self._validity
        self._ends_by_machine = started_by_machine + self._validity
        return True

    def _renew_always(self) -> None:
        while not self._stopping.wait(self._renewal):
            with self._writing:
                self._renew()
                if self._is_lost:
                    return

    def _renew(self) -> None:
        """Extend the lease; a request that fails is sent again the next time, as in Hudi."""
        if self._is_lost:
            return
        try:
            self._is_lost = not self._counted(self._extend)
        except HudiError:
            return

    def _left(self) -> float:
        """Return for how many seconds the lease is surely valid."""
        return min(self._ends - time.monotonic(), self._ends_by_machine - time.time())
