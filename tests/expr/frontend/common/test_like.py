"""LIKE patterns, compared with Hive's own translation to regular expressions."""

import re

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.expr.frontend.common.text_patterns import like, standard_like
from pyhudi_expr.expr.nodes import (
    And,
    Column,
    Comparison,
    Literal,
    Matches,
    Op,
    StartsWith,
    Unknown,
)

S = Column(("s",))


def test_a_pattern_without_wildcards_is_the_whole_text():
    equal = Comparison(Op.EQ, S, Literal("abc", pa.string()))
    assert like(S, "abc") == And((equal, StartsWith(S, "abc")))


def test_a_trailing_percent_is_a_prefix():
    assert like(S, "abc%") == StartsWith(S, "abc")
    assert like(S, "abc%%") == StartsWith(S, "abc")
    assert like(S, "%") == StartsWith(S, "")


def test_hive_patterns_are_used_up_to_a_backslash():
    # Hive's vectorised code takes a backslash as a character, its row code as an escape.
    for pattern in (r"a\%b\_%", r"a\b%", r"a\\%", "a\\", r"a\_b%%", r"a\_b_%"):
        found = like(S, pattern)
        assert isinstance(found, And), pattern
        assert found.children[0] == StartsWith(S, "a"), pattern
        assert isinstance(found.children[1], Unknown), pattern


def test_an_escaped_character_is_literal():
    assert standard_like(S, r"a\%b\_%", "\\") == StartsWith(S, "a%b_")
    assert standard_like(S, "ab_d%", "\\") == standard_like(S, "ab_d%", None)


def test_other_patterns_begin_with_characters_one_by_one():
    assert like(S, "ab_d%").children[0] == StartsWith(S, "ab")
    assert like(S, "ab_d%").children[1] == Matches(S, ("a", "b", None, "d"), whole=False)
    assert like(S, "_b").children[0] == Matches(S, (None, "b"), whole=True)
    assert like(S, "_é_").children[0] == Matches(S, (None,), whole=False)
    assert isinstance(like(S, "_b").children[-1], Unknown)
    assert isinstance(like(S, "%b"), Unknown)


def hive_regex(pattern: str) -> re.Pattern[str]:
    """Hive's translation of a pattern (UDFLike.likePatternToRegExp)."""
    out, i = "", 0
    while i < len(pattern):
        if pattern[i] == "\\" and pattern[i + 1 : i + 2] in ("%", "_"):
            i += 1
            out += re.escape(pattern[i])
        else:
            out += {"_": ".", "%": ".*?"}.get(pattern[i], re.escape(pattern[i]))
        i += 1
    return re.compile(out, re.DOTALL)


def value_of(node, text):
    """True, False or None for unknown."""
    match node:
        case Matches(begin=begin, whole=whole):
            pairs = zip(begin, text, strict=False)
            found = all(pattern_letter in (None, letter) for pattern_letter, letter in pairs)
            fits = len(text) == len(begin) if whole else len(text) >= len(begin)
            return None if found and fits else False
        case And(children=children):
            values = [value_of(child, text) for child in children]
            return False if False in values else None if None in values else True
        case Comparison(right=literal):
            return text == literal.value
        case StartsWith(prefix=prefix):
            return text.startswith(prefix)
    return None


TEXTS = st.text(alphabet="ab%_\\", max_size=6)


@given(TEXTS, TEXTS)
def test_results_never_contradict_hive(pattern, text):
    matches = hive_regex(pattern).fullmatch(text) is not None
    assert value_of(like(S, pattern), text) in (matches, None)
