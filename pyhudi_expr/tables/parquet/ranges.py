"""Several ranges of a file in few reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyhudi_expr.tables.storage.entries import ManyRanges, RandomAccess

#: Reading so many bytes too many takes less than another request.
_GAP_BYTES = 64 * 1024
#: An offset and a length.
Range = tuple[int, int]


def read_ranges(file: RandomAccess, wanted: Iterable[Range]) -> Mapping[Range, bytes]:
    """Return the bytes of ranges; near ones are read together.

    A range that the file does not have whole is cut off or empty.

    Raises:
        OSError, ArrowException: They cannot be read.
    """
    ranges = sorted(set(wanted))
    joined: list[Range] = []
    for offset, length in ranges:
        if joined and offset <= sum(joined[-1]) + _GAP_BYTES:
            start = joined[-1][0]
            joined[-1] = start, max(sum(joined[-1]), offset + length) - start
        else:
            joined.append((offset, length))
    if not joined:
        return {}
    if isinstance(file, ManyRanges):
        parts = file.read_ranges(joined)
    else:
        parts = [file.read_at(length, offset) for offset, length in joined]
    found, at = {}, 0
    for offset, length in ranges:
        while offset >= sum(joined[at]):
            at += 1
        start = offset - joined[at][0]
        found[offset, length] = parts[at][start : start + length]
    return found
