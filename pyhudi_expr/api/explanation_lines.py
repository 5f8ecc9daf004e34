"""The parts of a predicate with what each skips, in the words of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyhudi_expr.api.display import size_text
from pyhudi_expr.index.explanation import Explanation
from pyhudi_expr.tables.hudi_names import RECORD_KEY

_INDENT = "  "
_UNKNOWN = "UNKNOWN ("
_NEGATIONS = {"=": "<>", "IS NULL": "IS NOT NULL", "IN": "NOT IN", "LIKE": "NOT LIKE"}
_NEGATABLE = re.compile(r"([\w.]+) (=|IS NULL|IN|LIKE)(.*)", re.DOTALL)
_LETTERS = re.compile(r"([\w.]+) LIKE '\[")
_CASES = ("lower", "upper", "lcase", "ucase")
_HEADINGS = ("part of the condition", "files skipped", "size", "by")


@dataclass(frozen=True)
class ExplanationLine:
    """A part of the predicate, with its place in the tree.

    Attributes:
        text: The part.
        node: What it excludes.
        depth: The number of parts that it is in.
    """

    text: str
    node: Explanation
    depth: int

    @property
    def label(self) -> str:
        """The part, indented by its depth."""
        return _INDENT * self.depth + self.text

    @property
    def files(self) -> str:
        """How many files it skips, of how many."""
        return f"{self.node.excluded:,} of {self.node.files:,}"

    @property
    def size(self) -> str:
        """The size of these files; empty if there is none."""
        return size_text(self.node.excluded_bytes) if self.node.excluded else ""

    @property
    def by(self) -> str:
        """Which indexes exclude files, or why none does, or need to."""
        found = sorted(
            (answer for answer in self.node.answers if answer.files), key=lambda one: -one.files
        )
        if self.node.reason is not None or not self.node.excluded:
            return self.node.reason or ""
        if not found:
            return " and ".join(sorted(_indexes_of_parts(self.node))) + " together"
        return ", ".join(f"{answer.index} ({answer.files:,})" for answer in found)


def _indexes_of_parts(node: Explanation) -> set[str]:
    """Return the indexes that exclude files for a part of a node."""
    own = {answer.index for answer in node.answers if answer.files}
    return own.union(*map(_indexes_of_parts, node.children))


def explanation_lines(predicate: str, explanation: Explanation) -> Iterator[ExplanationLine]:
    """Return a line for each part, the whole first.

    What was derived for record keys is left out unless the user wrote it.

    Args:
        predicate: The whole, as the user wrote it.
        explanation: The tree.
    """
    yield ExplanationLine(" ".join(predicate.split()), explanation, 0)
    below = [*_below(explanation, 1, RECORD_KEY in predicate)]
    if len(below) > 1:
        yield from below


def explanation_text(predicate: str, explanation: Explanation) -> str:
    """Return the lines as a table of plain text."""
    lines = explanation_lines(predicate, explanation)
    rows = [_HEADINGS, *((line.label, line.files, line.size, line.by) for line in lines)]
    part, files, size = (max(len(row[column]) for row in rows) for column in range(3))
    return "\n".join(
        f"{row[0]:{part}}  {row[1]:>{files}}  {row[2]:>{size}}  {row[3]}".rstrip() for row in rows
    )


def _below(node: Explanation, depth: int, with_keys: bool) -> Iterator[ExplanationLine]:
    for part in _written(node, with_keys):
        own = _written(part, with_keys)
        if part.connective == "AND" and len(own) == 1 < len(part.children):
            yield ExplanationLine(_text(own[0], with_keys), part, depth)
            continue
        yield ExplanationLine(_text(part, with_keys), part, depth)
        yield from _below(part, depth + 1, with_keys)


def _written(node: Explanation, with_keys: bool) -> Sequence[Explanation]:
    """Return the parts of a node without those that were derived from the others."""
    return [
        part
        for part in node.children
        if (with_keys or not part.predicate.startswith(RECORD_KEY))
        and not _follows_from_case(part, node.children)
    ]


def _follows_from_case(part: Explanation, parts: Sequence[Explanation]) -> bool:
    """Return whether a part about a column's letters follows from one about its upper case."""
    found = _LETTERS.match(part.predicate)
    return found is not None and any(
        other.predicate.startswith(f"{function}({found[1]})")
        for other in parts
        for function in _CASES
    )


def _text(node: Explanation, with_keys: bool) -> str:
    if node.connective:
        parts = (
            f"({_text(part, with_keys)})" if part.connective else _text(part, with_keys)
            for part in _written(node, with_keys)
        )
        return f" {node.connective} ".join(parts)
    text = _without_reasons(node.predicate)
    return _negated(text) if node.negated else text


def _negated(condition: str) -> str:
    """Return `a <> 1` for `a = 1`, and so on, as people write it."""
    found = _NEGATABLE.fullmatch(condition)
    if found is None:
        return f"NOT {condition}"
    column, operator, rest = found.groups()
    return f"{column} {_NEGATIONS[operator]}{rest}"


def _without_reasons(text: str) -> str:
    """Replace parts that are not evaluated; their lines have the reasons."""
    start = text.find(_UNKNOWN)
    if start < 0:
        return text
    end, depth = start + len(_UNKNOWN), 1
    while depth and end < len(text):
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    return f"{text[:start]}(not evaluated){_without_reasons(text[end:])}"
