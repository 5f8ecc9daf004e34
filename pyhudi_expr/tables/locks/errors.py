"""What can be wrong with a table's lock."""

from __future__ import annotations

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
        "that by FileSystemBasedLockProvider (hoodie.write.lock.provider, or --lock-provider); "
        "or put the index into the store 'extension'"
    )
