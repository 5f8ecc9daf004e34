"""Positions of slices, of their files, and of texts in a buffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, from_buffer, runs
from pyhudi_expr.computed_once import computed_once


@dataclass(frozen=True)
class SliceFiles:
    """The files of some slices of a listing, in its order.

    Attributes:
        files: Their positions among all files.
        file_is_log: For each whether it is a log file.
        starts: For each slice its first file among these.
    """

    files: Int64Array
    file_is_log: BoolArray
    starts: Int64Array

    @property
    def num_files(self) -> int:
        """Number of files."""
        return len(self.files)

    @property
    def num_slices(self) -> int:
        """Number of slices."""
        return len(self.starts)

    @computed_once
    def has_logs(self) -> bool:
        """Whether any file is a log file."""
        return bool(self.file_is_log.any())

    def any_file_of_slice(self, files: BoolArray) -> BoolArray:
        """Return for each slice whether one of its files is flagged."""
        if self.num_files == self.num_slices:
            return files
        return np.logical_or.reduceat(files, self.starts)


def ranges(bounds: Int64Array, chosen: Int64Array) -> Int64Array:
    """Return the numbers from bounds[c] up to bounds[c + 1] (exclusive) of each chosen c."""
    return runs(bounds[chosen], bounds[chosen + 1] - bounds[chosen])


def text_bytes(texts: AnyArray) -> memoryview:
    """Return the concatenated bytes of all texts."""
    data = texts.buffers()[2]
    if data is None or not len(texts):
        return memoryview(b"")
    ends = text_ends(texts)
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def text_ends(texts: AnyArray) -> npt.NDArray[np.int32]:
    """Return where each text begins in its buffer and, last, where the last one ends."""
    offsets = texts.buffers()[1]
    if offsets is None or not len(texts):
        return np.zeros(1, np.int32)
    found: npt.NDArray[np.int32] = from_buffer(offsets, np.int32)
    return found[texts.offset : texts.offset + len(texts) + 1]
