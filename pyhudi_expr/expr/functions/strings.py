"""Functions of texts, bounded through the common prefix of all texts between two bounds.

Texts compare by their UTF-8 bytes, so all texts between two bounds share the bounds' common prefix,
and a function's result for the prefix begins all its results. Only the ASCII characters of the
prefix are used: the results for others depend on their neighbours, on the locale, and on whether
the engine counts characters or UTF-16 units. No UTF-8 text contains the byte 0xff, which closes an
interval of all texts with a prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, UInt8Array, arrow_buffer, from_buffer
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Ordinals,
    Values,
    mask_and,
    mask_or,
)
from pyhudi_expr.expr.functions.signature import (
    INT,
    NO_TEXT,
    TEXT,
    ByValue,
    Function,
    OnValues,
    Opaque,
    Rule,
    Signature,
    Site,
    arrow,
    by_value,
    like,
    on_first,
    on_first_value,
    opaque,
    ordinals,
    repeated,
)

CLOSING = b"\xff"
#: Number of bytes of a bound that are used; later ones narrow nothing.
_WIDTH = 64
_CONTINUATION, _FOUR_BYTES = 0x80, 0xF0


@dataclass(frozen=True)
class TextRows:
    """Texts as a matrix.

    Attributes:
        codes: N x W bytes, zero behind the end.
        lengths: N lengths, at most W.
    """

    codes: UInt8Array
    lengths: Ordinals

    @property
    def inside(self) -> BoolArray:
        """Return N x W flags: whether a byte belongs to the text."""
        flags: BoolArray = np.arange(self.codes.shape[1]) < self.lengths[:, None]
        return flags

    def cut(self, lengths: Ordinals) -> TextRows:
        """Truncate each text to so many bytes."""
        return TextRows(self.codes, np.minimum(self.lengths, lengths))

    def array(self, known: BoolArray, tail: bytes = b"") -> AnyArray:
        """Return Arrow texts with a tail, null where not `known`."""
        matrix = np.pad(self.codes, ((0, 0), (0, len(tail))))
        columns = np.arange(len(tail))
        matrix[np.arange(len(matrix))[:, None], self.lengths[:, None] + columns] = np.frombuffer(
            tail, dtype=np.uint8
        )
        lengths = self.lengths + len(tail)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        data = matrix[np.arange(matrix.shape[1]) < lengths[:, None]]
        mask = pa.array(known).buffers()[1]
        buffers = [mask, arrow_buffer(offsets), arrow_buffer(np.ascontiguousarray(data))]
        return pa.Array.from_buffers(pa.large_binary(), len(lengths), buffers)


def _rows(texts: AnyArray, width: int = _WIDTH) -> TextRows:
    """Return the first bytes of texts (large_binary); null is empty."""
    texts = pc.binary_slice(pc.fill_null(texts, b""), 0, width)
    _, offset_buffer, data_buffer = texts.buffers()
    offsets = from_buffer(offset_buffer, np.int64)[texts.offset :][: len(texts) + 1]
    data = from_buffer(data_buffer or b"", np.uint8)
    lengths = np.diff(offsets)
    widest = int(lengths.max(initial=0))
    places = offsets[:-1, None] + np.arange(widest)
    found = np.append(data, np.uint8(0))[np.minimum(places, len(data))]
    codes = np.where(np.arange(widest) < lengths[:, None], found, 0).astype(np.uint8)
    return TextRows(codes, lengths)


@dataclass(frozen=True)
class Texts:
    """The bounds of a text operand as rows of equal number."""

    lower: TextRows
    upper: TextRows
    known: BoolArray
    operand: Bounds
    is_single: bool

    @property
    def prefix(self) -> Ordinals:
        """Return the number of first bytes that all texts of the container share, all ASCII."""
        width = min(self.lower.codes.shape[1], self.upper.codes.shape[1])
        one, other = self.lower.codes[:, :width], self.upper.codes[:, :width]
        shared = (one == other) & (one < _CONTINUATION)
        shared &= self.lower.inside[:, :width] & self.upper.inside[:, :width]
        return np.where(self.known, np.cumprod(shared, axis=1, dtype=np.int64).sum(axis=1), 0)

    def result(self, lower: AnyArray, upper: AnyArray) -> Bounds:
        """Return bounds with these ends; nulls and values are those of the operand."""
        ends: tuple[Any, Any] = (lower[0], upper[0]) if self.is_single else (lower, upper)
        return Bounds(*ends, self.operand.may_be_value, self.operand.may_be_null)


def texts_of(operand: Bounds) -> Texts:
    """Return the bounds of a text operand."""
    lower, upper = arrow(operand.lower), arrow(operand.upper)
    single = len(lower) == len(upper) == 1 and isinstance(operand.lower, pa.Scalar)
    size = max(len(lower), len(upper))
    lower, upper = (repeated(ends, size) for ends in (lower, upper))
    known = np.asarray(pc.and_(lower.is_valid(), upper.is_valid()))
    return Texts(_rows(lower), _rows(upper), known, operand, single)


def _one_text(site: Site, count: int = 1) -> bool:
    return len(site.domains) == count and site.kind(0) is Kind.TEXT


def _case(site: Site) -> Signature | None:
    if not _one_text(site):
        return None
    return Signature(_Cased(site.name in ("upper", "ucase")), TEXT)


@dataclass(frozen=True)
class _Cased:
    """Upper or lower case of the common prefix. The letter I has other cases in Turkish."""

    up: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        texts = texts_of(operands[0])
        source = texts.lower
        turkish = np.isin(source.codes, np.frombuffer(b"iI", dtype=np.uint8)) & source.inside
        regular = np.cumprod(~turkish, axis=1, dtype=np.int64).sum(axis=1)
        first, last = (b"a", b"z") if self.up else (b"A", b"Z")
        letters = (source.codes >= first[0]) & (source.codes <= last[0])
        cased = TextRows(np.where(letters, source.codes ^ 0x20, source.codes), source.lengths)
        prefix = np.minimum(texts.prefix, regular)
        begin = cased.cut(prefix)
        # A single text without other letters is known as a whole.
        whole = texts.known & (prefix == texts.lower.lengths) & (prefix == texts.upper.lengths)
        whole &= prefix < _WIDTH
        known = np.ones(len(prefix), dtype=np.bool_)
        upper = pc.if_else(pa.array(whole), begin.array(known), begin.array(known, CLOSING))
        return texts.result(begin.array(known), upper)


def _substring(site: Site) -> Signature | None:
    """Return the signature of ``substr(s, 1, n)`` and ``left(s, n)``, which keep the order."""
    if site.kind(0) is not Kind.TEXT:
        return None
    begin, count = (
        (1, site.integer(1)) if site.name == "left" else (site.integer(1), site.integer(2))
    )
    is_whole = site.name != "left" and len(site.domains) == 2
    if begin is None or not (is_whole or count is not None):
        return opaque(TEXT, "a part of texts that is not constant")
    part = _Part(begin, count)
    if begin not in (0, 1) or is_whole or not 0 < (count or 0) <= _WIDTH // 4:
        return on_first_value(part, TEXT, "a part of a text that is not its beginning")
    return Signature(on_first(ByValue(part, Beginning(count or 0), TEXT)), TEXT)


@dataclass(frozen=True)
class _Part:
    """So many characters from the one at `begin` on, counted from 1, or from the end; None: all."""

    begin: int
    count: int | None

    def __call__(self, *values: AnyArray) -> AnyArray:
        (texts,) = values
        first = self.begin - (self.begin > 0)
        last = None if self.count is None else first + max(self.count, 0)
        if self.begin >= 0:
            return pc.utf8_slice_codeunits(texts, first, last)
        if last is not None and last >= 0:
            last = None
        part = pc.utf8_slice_codeunits(texts, first, last)
        # Engines differ for a beginning before the text.
        return pc.if_else(pc.greater_equal(pc.utf8_length(texts), -first), part, NO_TEXT)


@dataclass(frozen=True)
class Beginning:
    """The first `count` characters, or UTF-16 units.

    An engine that counts units may split a pair of them and write the half as '?'.
    """

    count: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        texts = texts_of(operands[0])
        lower, upper = texts.lower, texts.upper
        given = np.asarray(arrow(operands[0].upper).is_valid())
        units = _cut_at(lower, self.count - 1, by_units=True)
        padded, rows = np.pad(lower.codes, ((0, 0), (0, 1))), np.arange(len(units))
        has_more = units < lower.lengths
        # There is no pair where the upper bound, which begins alike, has a lesser character.
        highest = np.pad(upper.codes, ((0, 0), (0, 1)))
        places = np.minimum(units, highest.shape[1] - 1)
        no_pair = given & (texts.prefix >= units) & (highest[rows, places] < _FOUR_BYTES)
        cut = np.where(no_pair, padded[rows, units], np.minimum(padded[rows, units], ord("?")))
        padded[rows, units] = np.where(has_more, cut, 0)
        first = TextRows(padded, units + has_more)
        ends = _cut_at(upper, self.count, by_units=False)
        known = np.ones(len(units), dtype=np.bool_)
        # A bound that is not a text may end within a character: then more may follow.
        flags = np.broadcast_to(given, known.shape)
        last, open_end = upper.cut(ends).array(flags), upper.cut(ends).array(flags, CLOSING)
        last = pc.if_else(pa.array(ends == upper.lengths), last, open_end)
        return texts.result(first.array(known), last)


def _cut_at(rows: TextRows, count: int, *, by_units: bool) -> Ordinals:
    """Return the bytes in the first `count` characters (or UTF-16 units, if those are whole)."""
    begins = (rows.codes & 0xC0 != _CONTINUATION) & rows.inside
    pairs = begins & (rows.codes >= _FOUR_BYTES) & by_units
    weights = begins.astype(np.int64) + pairs
    within = (np.cumsum(weights, axis=1) <= count) & rows.inside
    return np.asarray(np.cumprod(within, axis=1, dtype=np.int64).sum(axis=1))


def _concatenation(site: Site) -> Signature | None:
    """Return the signature of literal texts, a column, and any texts after it."""
    if any(domain.kind is not Kind.TEXT for domain in site.domains):
        return None
    literals = list(site.literals)
    begin = next((n for n, literal in enumerate(literals) if literal is None), len(literals))
    texts = [literal.value for literal in literals[:begin] if literal is not None]
    prefix = "".join(texts).encode()
    return Signature(
        ByValue(_joined, _Joined(prefix, begin, begin < len(literals) - 1), TEXT), TEXT
    )


def _joined(*values: AnyArray) -> AnyArray:
    return pc.binary_join_element_wise(*values, pa.scalar("", pa.large_string()))


@dataclass(frozen=True)
class _Joined:
    """`prefix`, then the operand at `place`, then perhaps others; null where one of them is."""

    prefix: bytes
    place: int
    has_more: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        values = mask_and(*(operand.may_be_value for operand in operands))
        nulls = mask_or(*(operand.may_be_null for operand in operands))
        if self.place == len(operands):
            whole = pa.scalar(self.prefix, type=pa.large_binary())
            return Bounds(whole, whole, values, nulls)
        operand = operands[self.place]
        lower, upper = operand.lower, operand.upper
        if self.has_more:
            # More may follow a text that is itself a beginning of the upper bound.
            texts = texts_of(operand)
            known = np.ones(len(texts.known), dtype=np.bool_)
            upper = like(texts.lower.cut(texts.prefix).array(known, CLOSING), lower)
        return Bounds(self._after(lower), self._after(upper), values, nulls)

    def _after(self, ends: Values) -> Values:
        prefix = pa.scalar(self.prefix, type=pa.large_binary())
        empty = pa.scalar(b"", type=pa.large_binary())
        joined: Values = pc.binary_join_element_wise(prefix, ends, empty)
        return joined


_TRIMS = {"trim": pc.utf8_trim, "ltrim": pc.utf8_ltrim, "rtrim": pc.utf8_rtrim}


def _trim(site: Site) -> Signature | None:
    if not _one_text(site):
        return None
    trimmed = partial(_TRIMS[site.name], characters=" ")
    bounded = _Trimmed(site.name != "rtrim", site.name != "ltrim")
    return Signature(ByValue(trimmed, bounded, TEXT), TEXT)


@dataclass(frozen=True)
class _Trimmed:
    """Texts without the spaces around them, where no text of the container begins with one."""

    left: bool
    right: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        texts = texts_of(operand)
        lower = texts.lower
        starts = lower.codes[:, 0] if lower.codes.shape[1] else np.zeros(len(lower.lengths))
        begins = (starts > ord(" ")) | (not self.left)
        first = lower
        if self.right:
            first = lower.cut(_least_trimmed(lower))
        known = np.ones(len(begins), dtype=np.bool_)
        empty = TextRows(lower.codes, np.zeros_like(lower.lengths)).array(known)
        flags = pa.array(np.asarray(begins, dtype=np.bool_))
        least = pc.if_else(flags, first.array(known), empty)
        upper = repeated(arrow(operand.upper), len(begins))
        return texts.result(least, pc.if_else(flags, upper, pa.scalar(None, pa.large_binary())))


def _least_trimmed(lower: TextRows) -> Ordinals:
    """Return how many bytes of each bound the least text may keep without trailing spaces.

    A text above the bound begins with what it keeps of the bound, and has spaces from there on
    where the bound has spaces, too; then it ends or has a character below the space.
    """
    goes_on = np.cumprod((lower.codes >= ord(" ")) & lower.inside, axis=1, dtype=np.int64)
    solid = (lower.codes > ord(" ")) & (goes_on > 0)
    places = np.arange(1, lower.codes.shape[1] + 1)
    return np.asarray(np.where(solid, places, 0).max(axis=1, initial=0))


@dataclass(frozen=True)
class IntegersToStrings:
    """Integers in decimal digits: in order if all have one sign and one number of digits."""

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = (np.atleast_1d(end) for end in ordinals(operand))
        known = (lower != MIN_ORDINAL) & (upper != MAX_ORDINAL)
        low, high = (
            pa.array(end).cast(pa.string()).cast(pa.large_binary()) for end in (lower, upper)
        )
        alike = known & ((lower < 0) == (upper < 0))
        alike &= np.asarray(pc.equal(pc.binary_length(low), pc.binary_length(high)))
        nothing = pa.scalar(None, type=pa.large_binary())
        negative = pa.array(upper < 0)
        first = pc.if_else(pa.array(alike), pc.if_else(negative, high, low), nothing)
        last = pc.if_else(pa.array(alike), pc.if_else(negative, low, high), nothing)
        single = not np.ndim(operand.lower) and not np.ndim(operand.upper)
        ends = (first[0], last[0]) if single else (first, last)
        return Bounds(*ends, operand.may_be_value, operand.may_be_null)


def _length(*values: AnyArray) -> AnyArray:
    return pc.utf8_length(values[0]).cast(pa.int64())


def _of_one_text(evaluate: OnValues, domain: Domain) -> Rule:
    def rule(site: Site) -> Signature | None:
        """Return the signature of a call."""
        return by_value(evaluate, domain, f"{site.name}()") if _one_text(site) else None

    return rule


def _regexp_extract(site: Site) -> Signature | None:
    return opaque(TEXT, "regexp_extract() has no order") if site.kind(0) is Kind.TEXT else None


def _find(site: Site) -> Signature | None:
    """Return the signature of ``instr(s, 'x')``."""
    part = site.text(1)
    if not _one_text(site, 2):
        return None
    if not part or not part.isascii():
        return opaque(INT, "instr() of a text that is not constant")
    return on_first_value(_Found(part), INT, "instr()")


@dataclass(frozen=True)
class _Found:
    """The place of a text, counted from 1; 0 if it is not there."""

    part: str

    def __call__(self, *values: AnyArray) -> AnyArray:
        return pc.add(pc.find_substring(values[0], self.part).cast(pa.int64()), 1)


def _regexp_replace(site: Site) -> Signature | None:
    """Return the signature of ``regexp_replace(s, '-', '')``, whose pattern is a plain text."""
    old, new = site.text(1), site.text(2)
    if not _one_text(site, 3):
        return None
    if not old or new is None or not _PLAIN.fullmatch(old) or not _PLAIN.fullmatch(new):
        return opaque(TEXT, "regexp_replace() of a pattern that is not plain text")
    return on_first_value(Exchanged(old, new), TEXT, "regexp_replace()")


#: Letters and signs without a meaning in Java's patterns and replacements.
_PLAIN = re.compile(r"[A-Za-z0-9 _,:;/=-]*", re.ASCII)


@dataclass(frozen=True)
class Exchanged:
    """Texts with another text in the place of one."""

    old: str
    new: str

    def __call__(self, *values: AnyArray) -> AnyArray:
        """Return N texts."""
        return pc.replace_substring(values[0], self.old, self.new)


def _lpad(site: Site) -> Signature | None:
    """Return the signature of ``lpad(s, n, '0')``."""
    width, filling = site.integer(1), site.text(2)
    if not _one_text(site, 3):
        return None
    if not width or not 0 < width <= _WIDTH or not filling or len(filling) > 1:
        return opaque(TEXT, "lpad() by more than one constant character")
    if not filling.isascii():
        return opaque(TEXT, "lpad() by a character that is not ASCII")
    return on_first_value(_FilledLeft(width, filling), TEXT, "lpad()")


@dataclass(frozen=True)
class _FilledLeft:
    """Texts of `width` characters: longer ones are cut off, shorter ones filled at their left."""

    width: int
    filling: str

    def __call__(self, *values: AnyArray) -> AnyArray:
        padded = pc.utf8_lpad(values[0], self.width, self.filling)
        return pc.utf8_slice_codeunits(padded, 0, self.width)


def _split_item(site: Site) -> Signature | None:
    """Return the signature of ``split(s, '-')[n]``."""
    separator, place = site.text(1), site.integer(2)
    if not _one_text(site, 3):
        return None
    if not separator or place is None or place < 0 or not _PLAIN.fullmatch(separator):
        return opaque(TEXT, "split() by a pattern that is not plain text")
    return on_first_value(_Item(separator, place), TEXT, "split()")


@dataclass(frozen=True)
class _Item:
    """The part at a place, counted from 0, between separators; not known if there is none."""

    separator: str
    place: int

    def __call__(self, *values: AnyArray) -> AnyArray:
        parts = pc.split_pattern(values[0], self.separator)
        known = pc.greater(pc.fill_null(pc.list_value_length(parts), 0), self.place)
        padded = pc.if_else(known, parts, pa.scalar([""] * (self.place + 1), parts.type))
        return pc.if_else(known, pc.list_element(padded, self.place), NO_TEXT)


def matching(regex: str, reason: str) -> Function:
    """Return the function of whether a whole text matches, see `nodes.TextPattern`.

    Args:
        regex: The expression.
        reason: Why it is not known of containers with several texts.

    Raises:
        ValueError: The expression is too large.
    """
    pattern, flag = _Pattern(regex), Domain(Kind.BOOLEAN, bits=1)
    pattern(pa.array([""], pa.large_string()))
    return ByValue(pattern, Opaque(flag, reason), flag)


@dataclass(frozen=True)
class _Pattern:
    """1 for texts that match as a whole, 0 for others."""

    regex: str

    def __call__(self, *values: AnyArray) -> AnyArray:
        found = pc.match_substring_regex(values[0], rf"(?s)\A(?:{self.regex})\z")
        return found.cast(pa.int64())


RULES: dict[str, Rule] = {
    **dict.fromkeys(("upper", "ucase", "lower", "lcase"), _case),
    **dict.fromkeys(("substr", "substring", "left"), _substring),
    **dict.fromkeys(("concat", "||"), _concatenation),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), _trim),
    **dict.fromkeys(("length", "char_length", "character_length"), _of_one_text(_length, INT)),
    "reverse": _of_one_text(pc.utf8_reverse, TEXT),
    "instr": _find,
    "regexp_extract": _regexp_extract,
    "regexp_replace": _regexp_replace,
    "lpad": _lpad,
    "split item": _split_item,
}
