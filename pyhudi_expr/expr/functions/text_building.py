"""Functions that build texts from a text's beginning: rpad, concat_ws, replace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import Kind
from pyhudi_expr.expr.functions.signature import TEXT, Rule, Signature, Site, arrow, opaque
from pyhudi_expr.expr.functions.strings import CLOSING, Beginning, texts_of

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
    return Signature(_Replaced(old, new), TEXT)


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
