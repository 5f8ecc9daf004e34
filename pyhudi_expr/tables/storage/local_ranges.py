"""Random access to a local file."""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

#: Windows has no such flag.
_DO_NOT_WAIT = getattr(os, "O_NONBLOCK", 0)


def opened(path: str, within: str | None = None) -> tuple[int, int]:
    """Open a regular file; return its descriptor, which the caller closes, and its size in bytes.

    To open a named pipe would wait for its writer, and a device has no end.

    Args:
        path: The file.
        within: See `check_within`.

    Raises:
        OSError: There is none, it is no regular file, or it is elsewhere.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | _DO_NOT_WAIT)
    try:
        check_within(descriptor, path, within)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no regular file")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, status.st_size


def check_within(descriptor: int, path: str, within: str | None) -> None:
    """Check that what was opened is below a directory.

    The open file is asked, and not its name, which may have become a link since.

    Args:
        descriptor: The open file or directory.
        path: The name by which it was opened.
        within: The directory, without links in its path; None: all are right.

    Raises:
        OSError: It is elsewhere.
    """
    if within is None:
        return
    try:
        place = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # There is no /proc but in Linux.
        place = os.path.realpath(path)
    check_place(place, path, within)


def check_place(place: str, path: str, within: str) -> None:
    """Check that a path without links is below a directory. Raises OSError."""
    if not f"{place}/".startswith(f"{within}/"):
        raise OSError(f"{path} leads out of the table by a link, or by '..': it is not read")


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
    def open(path: str, within: str | None = None) -> LocalRanges:
        """Open a file. Arguments and errors are those of `opened`."""
        ranges = LocalRanges(*opened(path, within))
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
