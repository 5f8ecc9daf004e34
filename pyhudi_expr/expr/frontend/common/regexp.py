"""RLIKE: the necessary condition of an anchored regular expression's literal beginning.

Java's regular expressions match anywhere in a text. A text must begin with certain characters only
if the expression begins with ``^`` and has no alternatives.
"""

from __future__ import annotations

from pyhudi_expr.expr.frontend.common.builders import conjunction
from pyhudi_expr.expr.nodes import HudiExpression, StartsWith, Term, Unknown

_SIGNS = frozenset(".[](){}*+?|^$")
#: Signs after a character that say how often it is there; not all say that it is there at all.
_PERHAPS_NONE = frozenset("*?{")


def rlike(term: Term, pattern: str) -> HudiExpression:
    """Return ``term RLIKE pattern``, as far as a literal prefix decides it."""
    prefix = _prefix(pattern)
    necessary = [StartsWith(term, prefix)] if prefix else []
    return conjunction(
        (*necessary, Unknown(f"the rest of RLIKE {pattern[:100]!r} is not evaluated"))
    )


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
