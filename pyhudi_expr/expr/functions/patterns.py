"""Evaluate whether a text between two bounds may match a pattern at its beginning.

It serves LIKE with `_`, RLIKE, and comparisons of upper(s) and lower(s); `expr.evaluate` prunes by
LIKE 'begin%'. A pattern is a sequence of byte classes, each a set of codes from 0 to 255. Bytes
above 127 belong to characters beyond ASCII, whose conversion of case is not modelled: any text may
follow one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import Ordinals
from pyhudi_expr.expr.functions.strings import TextRows, texts_of

ByteClass: TypeAlias = frozenset[int]

NOT_ASCII: ByteClass = frozenset(range(0x80, 0x100))
ANY: ByteClass = frozenset(range(0x100))
#: Number of bytes of a bound that are compared.
LONGEST = 64


def cased(text: str, *, up: bool) -> tuple[ByteClass, ...]:
    """Return a pattern for the texts whose upper (or lower) case begins like this one.

    It ends before the first letter that is not ASCII. In no locale does an ASCII letter become an
    ASCII character other than its own two cases. What other characters become is left open.
    """
    classes = []
    for letter in text[:LONGEST]:
        if not letter.isascii():
            break
        same = letter.upper() if up else letter.lower()
        sources = {letter.upper(), letter.lower()} if same == letter else set[str]()
        classes.append(NOT_ASCII | frozenset(map(ord, sources)))
    return tuple(classes)


def may_match(bounds: Bounds, begin: tuple[ByteClass, ...], whole: bool) -> BoolArray:
    """Return whether a text between the bounds may begin with (be, if `whole`) these bytes.

    A text is followed byte by byte as long as it may still equal the beginning of a bound: of
    `both`, of the `lower` one only, of the `upper` one only, or `free` between them.
    """
    texts = texts_of(bounds)
    size = len(texts.known)
    both_ends, nothing = np.ones(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    lower_end, upper_end, free = nothing, nothing, ~texts.known
    for place, allowed in enumerate(begin):
        low, high = _codes(texts.lower, place), _codes(texts.upper, place)
        ascii_ones = [code for code in allowed if code not in NOT_ASCII]
        is_low, is_high = _among(low, ascii_ones), _among(high, ascii_ones)
        wide_low, wide_high = _among(low, allowed) & ~is_low, _among(high, allowed) & ~is_high
        above, below = _above(low, allowed), _below(high, allowed)
        level = low == high
        free = (
            free
            | (both_ends & (_between(low, high, allowed) | wide_low | wide_high))
            | (lower_end & (above | wide_low))
            | (upper_end & (below | wide_high))
        )
        lower_end, upper_end, both_ends = (
            is_low & (lower_end | (both_ends & (low < high))),
            is_high & (upper_end | (both_ends & (low < high))),
            both_ends & level & is_low,
        )
    ended = texts.lower.lengths <= len(begin) if whole else ~nothing
    found: BoolArray = free | upper_end | ((both_ends | lower_end) & ended)
    return found


def _among(codes: Ordinals, allowed: Iterable[int]) -> BoolArray:
    flags: BoolArray = np.isin(codes, np.fromiter(allowed, dtype=np.int64))
    return flags


def _above(codes: Ordinals, allowed: ByteClass) -> BoolArray:
    """Return whether a byte of the class is greater."""
    flags: BoolArray = codes < max(allowed, default=-1)
    return flags


def _below(codes: Ordinals, allowed: ByteClass) -> BoolArray:
    """Return whether a byte of the class is less."""
    flags: BoolArray = codes > min(allowed, default=0x100)
    return flags


def _between(low: Ordinals, high: Ordinals, allowed: ByteClass) -> BoolArray:
    """Return whether a byte of the class is between, neither end included."""
    ordered = np.sort(np.fromiter(allowed, dtype=np.int64))
    first = np.searchsorted(ordered, low, side="right")
    flags: BoolArray = first < np.searchsorted(ordered, high, side="left")
    return flags


def _codes(rows: TextRows, place: int) -> Ordinals:
    """Return the byte of each text at a place, -1 behind its end."""
    if place >= rows.codes.shape[1]:
        return np.full(len(rows.lengths), -1, dtype=np.int64)
    return np.where(place < rows.lengths, rows.codes[:, place].astype(np.int64), -1)
