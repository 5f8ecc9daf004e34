"""Positions of slices, of their files, and of texts in a buffer and in their order.

Texts are sorted by their first bytes as numbers: that takes a fifth of the time of comparing them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    Int64Array,
    arrow_array,
    from_buffer,
    numpy_flags,
    numpy_numbers,
    runs,
)
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


_WORD = 8
_FEW = 4
"""One in so many texts at most may begin like another one."""


def sorted_texts(texts: AnyArray) -> tuple[AnyArray, Int64Array]:
    """Return the texts sorted as unsigned UTF-8 bytes, and for each its position among them.

    Args:
        texts: Strings without nulls.
    """
    return _sorted(texts, _order(texts))


def distinct_texts(texts: AnyArray) -> tuple[AnyArray, Int64Array]:
    """Return the distinct texts sorted as above, and for each text its position among them.

    Args:
        texts: Strings without nulls.
    """
    order = _order_if_few_tie(texts)
    if order is None:
        encoded = texts.dictionary_encode()
        values, rank = sorted_texts(encoded.dictionary)
        return values, rank[numpy_numbers(encoded.indices).astype(np.int64)]
    # Hashing a million distinct texts takes longer than sorting them.
    values, rank = _sorted(texts, order)
    others = numpy_flags(pc.not_equal(values[1:], values[:-1]))
    begins = np.append(True, others)[: len(values)]
    return values.filter(arrow_array(begins)), (np.cumsum(begins) - 1)[rank]


def _sorted(texts: AnyArray, order: Int64Array) -> tuple[AnyArray, Int64Array]:
    rank = np.empty(len(texts), np.int64)
    rank[order] = np.arange(len(texts))
    return texts.take(arrow_array(order)), rank


def _order(texts: AnyArray) -> Int64Array:
    order = _order_if_few_tie(texts)
    return numpy_numbers(pc.array_sort_indices(texts)) if order is None else order


def _order_if_few_tie(texts: AnyArray) -> Int64Array | None:
    """Return the texts' order; None if many begin alike, so that their first bytes say little."""
    words = _first_words(texts)
    order: Int64Array = np.argsort(words)
    ordered = words[order]
    is_like_next = ordered[1:] == ordered[:-1]
    ties = np.flatnonzero(np.append(False, is_like_next) | np.append(is_like_next, False))
    if len(ties) * _FEW > len(texts):
        return None
    if len(ties):
        tied = texts.take(arrow_array(order[ties]))
        # Texts that tie stay beside each other: what begins otherwise is before or after all.
        order[ties] = order[ties][numpy_numbers(pc.array_sort_indices(tied))]
    return order


def _first_words(texts: AnyArray) -> npt.NDArray[np.uint64]:
    """Return the first eight bytes of each text as a number, of shorter texts with zeros added."""
    ends, content = text_ends(texts).astype(np.int64), np.frombuffer(text_bytes(texts), np.uint8)
    if len(content) < _WORD:
        content = np.append(content, np.zeros(_WORD, np.uint8))
    last = len(content) - _WORD
    at_each_byte: npt.NDArray[np.uint64] = np.ndarray(
        (last + 1,), ">u8", content.data, strides=(1,)
    )
    starts = ends[:-1] - ends[0]
    begins, lengths = np.minimum(starts, last), np.diff(ends)
    words = at_each_byte[begins].astype(np.uint64)
    # Bytes before the text, of texts at the end, and after it, of short ones, are shifted out.
    other = np.flatnonzero((lengths < _WORD) | (begins < starts))
    before = (8 * (starts - begins)[other]).astype(np.uint64)
    after = (8 * np.maximum(_WORD - lengths[other], 0)).astype(np.uint64)
    # Shifting by all 64 bits is undefined.
    shifted = np.where(lengths[other], words[other] << before >> after << after, 0)
    words[other] = shifted
    return words
