"""LIKE and RLIKE: the literal beginning of a pattern, or its whole text.

``%`` stands for any text and ``_`` for one character. Engines differ in how these are escaped. In
Hive a backslash escapes row by row, but not in vectors: only the pattern before one is used
(`like`). In Spark a backslash escapes; in standard SQL the character after ESCAPE does, and nothing
without it (`standard_like`).

Java's regular expressions match anywhere in a text. A text must begin with certain characters only
if the expression begins with ``^`` and has no alternatives. Single texts are matched as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from pyhudi_expr.expr.frontend.common.constants import conjunction
from pyhudi_expr.expr.nodes import (
    Comparison,
    HudiExpression,
    Literal,
    Matches,
    Op,
    StartsWith,
    Term,
    TextPattern,
    Unknown,
)

_WILDCARDS = {"%": ".*", "_": "."}
_PLAIN = re.compile(r"[^%_\\]*")
_ONE_BY_ONE = re.compile(r"[\x00-\x24\x26-\x5b\x5d-\x7f]{0,64}")
_STANDARD_ONE_BY_ONE = re.compile(r"[\x00-\x24\x26-\x7f]{0,64}")


def like(term: Term, pattern: str) -> HudiExpression:
    """Return Hive's ``term LIKE pattern`` as far as a prefix or the whole text decides it."""
    plain = _match(_PLAIN, pattern)
    rest = pattern[len(plain) :]
    if not rest:
        return _is(term, plain)
    if not rest.strip("%"):
        return StartsWith(term, plain)
    # Hive's row by row and vectorised operators differ in backslashes.
    pieces = None if "\\" in pattern else pattern
    return _in_part(term, pattern, plain, _match(_ONE_BY_ONE, pattern), pieces)


def standard_like(term: Term, pattern: str, escape: str | None) -> HudiExpression:
    """Return ``term LIKE pattern ESCAPE escape``, as far as it can be decided likewise."""
    if escape is not None and (len(escape) != 1 or escape in "%_"):
        return Unknown(f"LIKE with the escape {escape[:10]!r}")
    text, at = _literal_begin(pattern, escape)
    rest = pattern[at:]
    if not rest:
        return _is(term, text)
    if not rest.strip("%"):
        return StartsWith(term, text)
    if escape is None or escape not in pattern:
        return _in_part(
            term, pattern, text, _match(_STANDARD_ONE_BY_ONE, pattern), _pieces(pattern, None)
        )
    if not _is_well_escaped(rest, escape):
        return Unknown(f"LIKE {pattern[:100]!r}, which escapes another character than a wildcard")
    return _in_part(term, pattern, text, "", _pieces(pattern, escape))


def _literal_begin(pattern: str, escape: str | None) -> tuple[str, int]:
    """Return the text before the first wildcard, and the position of that."""
    text, at = "", 0
    while at < len(pattern) and pattern[at] not in "%_":
        if pattern[at] == escape:
            at += 1
            if at == len(pattern) or pattern[at] not in ("%", "_", escape):
                return text, at - 1
        text += pattern[at]
        at += 1
    return text, at


def _is_well_escaped(rest: str, escape: str) -> bool:
    escaped = re.compile(f"(?:[^{re.escape(escape)}]|{re.escape(escape)}[%_{re.escape(escape)}])*")
    return escaped.fullmatch(rest) is not None


def _in_part(
    term: Term, pattern: str, prefix: str, begin: str, pieces: Sequence[str] | None
) -> HudiExpression:
    """Return the necessary condition of a pattern.

    Args:
        term: The text.
        pattern: The pattern as it is written.
        prefix: Its text before the first wildcard.
        begin: Its first ASCII characters.
        pieces: Its wildcards and letters, escaped ones with their escape; None if not known.
    """
    necessary: list[HudiExpression] = [StartsWith(term, prefix)] if prefix else []
    if "_" in begin:
        letters = tuple(None if letter == "_" else letter for letter in begin)
        necessary.append(Matches(term, letters, begin == pattern))
    written = f"LIKE {pattern[:100]!r}"
    whole = None if pieces is None else TextPattern(term, "".join(map(_regex, pieces)), written)
    rest = Unknown(f"the rest of {written} skips no file", whole)
    return conjunction((*necessary, rest))


def _pieces(pattern: str, escape: str | None) -> list[str]:
    """Return the wildcards and letters of a well escaped pattern, escaped ones in two letters."""
    escaped = "" if escape is None else f"{re.escape(escape)}.|"
    return re.findall(f"{escaped}.", pattern, re.DOTALL)


def _regex(piece: str) -> str:
    return _WILDCARDS.get(piece) or re.escape(piece[-1])


def _is(term: Term, text: str) -> HudiExpression:
    # The prefix restricts this to strings: a date or a timestamp that equals the text as a value
    # may still differ from it as text, which NOT LIKE would take for a proof.
    equal = Comparison(Op.EQ, term, Literal(text, pa.string()))
    return conjunction((equal, StartsWith(term, text)))


def _match(expression: re.Pattern[str], pattern: str) -> str:
    found = expression.match(pattern)
    return found[0] if found else ""


_SIGNS = frozenset(".[](){}*+?|^$")
#: Signs after a character that say how often it is there; not all say that it is there at all.
_PERHAPS_NONE = frozenset("*?{")


def rlike(term: Term, pattern: str) -> HudiExpression:
    """Return ``term RLIKE pattern``: a literal prefix decides it of bounds."""
    prefix = _prefix(pattern)
    necessary = [StartsWith(term, prefix)] if prefix else []
    shared = _shared_syntax(pattern)
    written = f"RLIKE {pattern[:100]!r}"
    whole = None if shared is None else TextPattern(term, f".*(?:{shared}).*", written)
    rest = Unknown(f"the rest of {written} is not evaluated", whole)
    return conjunction((*necessary, rest))


def has_part(term: Term, before: str, part: str, after: str) -> HudiExpression:
    """Return whether a text has a part, with a wildcard of LIKE, or nothing, on its sides."""
    regex = "".join((_WILDCARDS.get(before, ""), re.escape(part), _WILDCARDS.get(after, "")))
    written = f"LIKE {before + part[:100] + after!r}"
    return Unknown(f"{written} skips no file", TextPattern(term, regex, written))


_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
#: What Java's regular expressions have, and RE2 as well: what a sign after it may repeat, and other
#: pieces. What is not here has no rule: references, flags, possessive signs, classes in classes.
_REPEATED = (
    r"[A-Za-z0-9 _,:;/=@#%&!~'\"<>-]",
    r"\\[.\[\](){}*+?|^$\\/-]",
    r"\\[dwDW]",
    r"\[\^?(?:[A-Za-z0-9](?:-[A-Za-z0-9])?|[ _,:;/=@#%!.])+\]",
    r"\.",
    r"\)",
)
_REPETITION = r"[*+?]\??|\{\d{1,2}(?:,(?:\d{1,2})?)?\}\??"
_OTHER = r"\((?:\?:)?|[|^$]"
_PIECE = re.compile(
    rf"(?:(?P<one>{'|'.join(_REPEATED)})(?:{_REPETITION})?|(?:{_OTHER}))(?![*+?{{])", re.ASCII
)
#: What matches the first half of a line end, before whose second half no ``$`` is.
_HALVES = (r"\W", r"\D", "[^")
#: How RE2 says what stands for something else there, where a dot is any character.
_IN_RE2 = {
    ".": f"[^{_LINE_ENDS}]",
    "^": r"\A",
    "$": rf"(?:\r\n|[{_LINE_ENDS}])?\z",
}


def _shared_syntax(pattern: str) -> str | None:
    """Return an expression of Java's as RE2 has it; None where the two may differ."""
    found, at = list[str](), 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            return None
        one = piece["one"] or piece[0]
        found += _IN_RE2.get(one, one), piece[0][len(one) :]
        at = piece.end()
    if "$" in pattern and any(half in pattern for half in _HALVES):
        return None
    try:
        re.compile(pattern)  # are the groups closed, and the ranges in order?
    except re.error:
        return None
    return "".join(found)


def _prefix(pattern: str) -> str:
    if not pattern.startswith("^") or "|" in pattern:
        return ""
    letters, rest = [], pattern[1:]
    while rest:
        escaped = rest[0] == "\\"
        letter, rest = rest[escaped : escaped + 1], rest[escaped + 1 :]
        if letter.isalnum() if escaped else letter in _SIGNS:
            break  # an escaped letter or digit is a class, a reference, a quotation ...
        if rest[:1] in _PERHAPS_NONE and rest:
            break
        letters.append(letter)
    return "".join(letters)
