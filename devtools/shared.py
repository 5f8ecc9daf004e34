"""What test processes that run at the same time write once, and share."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_once(parent: Path, name: str) -> Iterator[bool]:
    """Yield whether nobody has written a thing yet: then the block has to write it.

    Other processes wait meanwhile. If the block fails, the next one tries again.

    Args:
        parent: A directory that the processes share.
        name: The name of the thing there.
    """
    written = parent / f"{name}.written"
    with (parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not written.exists()
        written.touch()
