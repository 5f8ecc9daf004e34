"""Random access to a local file."""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

#: Windows has no such flag.
_DO_NOT_WAIT = getattr(os, "O_NONBLOCK", 0)


def opened(path: str) -> tuple[int, int]:
    """Open a regular file; return its descriptor, which the caller closes, and its size in bytes.

    To open a named pipe would wait for its writer, and a device has no end.

    Raises:
        OSError: There is none, or it is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | _DO_NOT_WAIT)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no regular file")
    return descriptor, status.st_size


@dataclass(frozen=True)
class LocalRanges:
    """A local file as ranges of bytes. Thread safe; it is closed with its last reference.

    Attributes:
        descriptor: The open file.
        length: Its length in bytes.
    """

    descriptor: int
    length: int

    @staticmethod
    def open(path: str) -> LocalRanges:
        """Open a file. Raises OSError."""
        ranges = LocalRanges(*opened(path))
        descriptor = ranges.descriptor
        weakref.finalize(ranges, os.close, descriptor)
        return ranges

    def size(self) -> int:
        """Return the length in bytes."""
        return self.length

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Read bytes at an offset; fewer at the file's end."""
        return os.pread(self.descriptor, nbytes, offset)

    def will_need(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Ask the system to read ranges (offset, length) from the disk, where it can be asked."""
        if hasattr(os, "posix_fadvise"):
            for offset, length in ranges:
                os.posix_fadvise(self.descriptor, offset, length, os.POSIX_FADV_WILLNEED)
