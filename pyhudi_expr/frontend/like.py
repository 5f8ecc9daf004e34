r"""LIKE, as Hive reads patterns.

``%`` stands for any text and ``_`` for one character; a backslash takes that meaning away from
the ``%`` or ``_`` right after it, and is an ordinary character elsewhere (Hive's ``UDFLike``).
Other engines and Hive's own vectorised reader differ about the remaining uses of a backslash, so
only what all of them agree on is judged.
"""

from __future__ import annotations

import re

import pyarrow as pa

from pyhudi_expr.expr.nodes import (
    Comparison,
    HudiExpression,
    Literal,
    Matches,
    Op,
    StartsWith,
    Term,
    Unknown,
)
from pyhudi_expr.frontend.trees import conjunction

_PLAIN = re.compile(r"[^%_\\]*")
_ESCAPED = re.compile(r"(?:[^%_\\]|\\[%_])*")
_ONE_BY_ONE = re.compile(r"[\x00-\x24\x26-\x5b\x5d-\x7f]{0,64}")
_ESCAPE = re.compile(r"\\([%_])")


def like(term: Term, pattern: str) -> HudiExpression:
    """``term LIKE pattern`` as far as a literal prefix or the whole text decides it."""
    plain = _match(_PLAIN, pattern)
    literal = _match(_ESCAPED, pattern)
    rest = pattern[len(literal) :]
    if not rest:
        return _is(term, _unescaped(literal))
    if rest == "%" or (literal == plain and not rest.strip("%")):
        return StartsWith(term, _unescaped(literal))
    unknown = Unknown(f"LIKE {pattern!r} as a whole")
    necessary: list[HudiExpression] = [StartsWith(term, plain)] if plain else []
    begin = _match(_ONE_BY_ONE, pattern)
    if "_" in begin:
        letters = tuple(None if letter == "_" else letter for letter in begin)
        necessary.append(Matches(term, letters, begin == pattern))
    return conjunction((*necessary, unknown))


def pattern_of(prefix: str) -> str | None:
    """The pattern whose `like` is ``StartsWith(term, prefix)``; None where there is none."""
    return None if "\\" in prefix else re.sub("[%_]", r"\\\g<0>", prefix) + "%"


def _is(term: Term, text: str) -> HudiExpression:
    # The prefix keeps this to strings: a date or a timestamp that equals the text as a value may
    # still differ from it as text, which NOT LIKE would take for a proof.
    equal = Comparison(Op.EQ, term, Literal(text, pa.string()))
    return conjunction((equal, StartsWith(term, text)))


def _match(expression: re.Pattern[str], pattern: str) -> str:
    found = expression.match(pattern)
    return found[0] if found else ""


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(r"\1", text)
