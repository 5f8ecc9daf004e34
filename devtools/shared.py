"""What test processes that run at the same time write once, and share."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Run the block while no other process runs one with the same lock file."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def written_once(parent: Path, name: str) -> Iterator[bool]:
    """Yield whether nobody has written a thing yet: then the block has to write it.

    Other processes wait meanwhile. If the block fails, the next one tries again.

    Args:
        parent: A directory that the processes share.
        name: The name of the thing there.
    """
    written = parent / f"{name}.written"
    with one_at_a_time(parent / f"{name}.lock"):
        yield not written.exists()
        written.touch()
