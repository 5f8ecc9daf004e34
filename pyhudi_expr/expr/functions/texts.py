"""Functions that build texts from a text's beginning, and patterns at a text's beginning.

It serves LIKE with `_`, RLIKE, and comparisons of upper(s) and lower(s); `expr.evaluate` prunes by
LIKE 'begin%'. A pattern is a sequence of byte classes, each a set of codes from 0 to 255. Bytes
above 127 belong to characters beyond ASCII, whose conversion of case is not modelled: any text may
follow one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray
from pyhudi_expr.expr.domains import Bounds, Kind, Ordinals
from pyhudi_expr.expr.functions.signature import (
    TEXT,
    ByValue,
    Rule,
    Signature,
    Site,
    arrow,
    on_first,
    opaque,
)
from pyhudi_expr.expr.functions.strings import CLOSING, Beginning, Exchanged, TextRows, texts_of

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


#: Number of characters of a text that `Beginning` uses.
_MOST_CHARACTERS = 16
_EMPTY, _ANY_MORE = (pa.scalar(one, pa.large_binary()) for one in (b"", CLOSING))


def _texts(site: Site) -> bool:
    return all(domain.kind is Kind.TEXT for domain in site.domains)


def _text(site: Site, place: int) -> str | None:
    """Return the constant at a place, if it is a text."""
    literal = site.literals[place]
    return literal.value if literal is not None and isinstance(literal.value, str) else None


def _rpad(site: Site) -> Signature | None:
    """Return the signature of ``rpad(s, n, 'x')``, which begins with n characters of s."""
    if len(site.domains) != 3 or site.kind(0) is not Kind.TEXT:
        return None
    count, filling = site.integer(1), _text(site, 2)
    if not count or count < 0 or not filling:
        return opaque(TEXT, "padding by a text that is not constant")
    return Signature(_Padded(Beginning(min(count, _MOST_CHARACTERS))), TEXT)


@dataclass(frozen=True)
class _Padded:
    """The first characters, then others; a text that ends early is padded before them."""

    beginning: Beginning

    def __call__(self, *operands: Bounds) -> Bounds:
        cut = self.beginning(operands[0])
        texts = texts_of(operands[0])
        shared = texts.lower.cut(texts.prefix).array(np.ones(len(texts.known), np.bool_), CLOSING)
        return texts.result(arrow(cut.lower), shared)


def _concat_ws(site: Site) -> Signature | None:
    """Return the signature of ``concat_ws(',', 'a', s, ...)``, which skips NULLs."""
    separator = _text(site, 0)
    if separator is None or len(site.domains) < 2 or not _texts(site):
        return opaque(TEXT, "a separator that is not constant") if _texts(site) else None
    constants: list[str] = []
    for place in range(1, len(site.domains)):
        constant = _text(site, place)
        if constant is None:
            break
        constants.append(constant)
    else:
        return None
    return Signature(_JoinedBy(separator, tuple(constants), len(constants) + 1), TEXT)


@dataclass(frozen=True)
class _JoinedBy:
    """Constants, then the operand at `place` unless it is NULL, then perhaps others."""

    separator: str
    constants: tuple[str, ...]
    place: int

    def __call__(self, *operands: Bounds) -> Bounds:
        operand = operands[self.place]
        texts = texts_of(operand)
        always = np.broadcast_to(~np.asarray(operand.may_be_null), texts.known.shape)
        every = np.ones(len(texts.known), dtype=np.bool_)
        begin = self.separator.join(self.constants).encode()
        joint = (self.separator if self.constants else "").encode()
        shared = texts.lower.cut(texts.prefix * always)
        # What begins like the constants may go on with the operand, or with another one.
        least = pc.if_else(pa.array(always), texts.lower.array(every), _EMPTY)
        least = _after(begin, pc.if_else(pa.array(always), _after(joint, least), _EMPTY))
        greatest = shared.array(every, CLOSING)
        greatest = _after(begin, pc.if_else(pa.array(always), _after(joint, greatest), _ANY_MORE))
        found = texts.result(least, greatest)
        return Bounds(found.lower, found.upper, np.bool_(True), np.bool_(False))


def _after(prefix: bytes, texts: AnyArray) -> AnyArray:
    return pc.binary_join_element_wise(pa.scalar(prefix, pa.large_binary()), texts, _EMPTY)


def _replace(site: Site) -> Signature | None:
    """Return the signature of ``replace(s, 'a', 'b')`` with constants."""
    if len(site.domains) != 3 or not _texts(site):
        return None
    old, new = _text(site, 1), _text(site, 2)
    if not old or new is None or not old.isascii():
        return opaque(TEXT, "a replacement by a text that is not constant, or not ASCII")
    return Signature(on_first(ByValue(Exchanged(old, new), _Replaced(old, new), TEXT)), TEXT)


@dataclass(frozen=True)
class _Replaced:
    """The shared beginning with replacements."""

    old: str
    new: str

    def __call__(self, *operands: Bounds) -> Bounds:
        texts = texts_of(operands[0])
        every = np.ones(len(texts.known), dtype=np.bool_)
        shared = texts.lower.cut(texts.prefix).array(every).cast(pa.large_string())
        whole = pc.replace_substring(shared, self.old, self.new)
        replaced = whole
        for count in range(1, len(self.old)):
            # The searched text may begin at the end of the shared beginning.
            ends_in_match = pc.ends_with(shared, self.old[:count])
            replaced = pc.if_else(
                ends_in_match, pc.utf8_slice_codeunits(whole, 0, -count), replaced
            )
        begin = replaced.cast(pa.large_binary())
        return texts.result(begin, _closed(begin))


def _closed(begin: AnyArray) -> AnyArray:
    """Return what lies above all texts with this beginning."""
    return pc.binary_join_element_wise(begin, _ANY_MORE, _EMPTY)


RULES: dict[str, Rule] = {"rpad": _rpad, "concat_ws": _concat_ws, "replace": _replace}
