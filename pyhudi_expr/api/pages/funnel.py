"""A predicate as a funnel: for each of its parts, how many files reach it and how many are left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyhudi_expr.index.explanation import Explanation, IndexAnswer

_WORDS = {"AND": "all of these", "OR": "any of these"}


@dataclass(frozen=True)
class Funnel:
    """A part of the predicate.

    Attributes:
        text: The part; of AND and OR, in words, which of their operands are needed.
        reached: Number of files that the parts before it leave.
        left: Number of these that remain after it.
        total: Number of files of the table.
        alone: What it excludes by itself; empty if that is nothing.
        notes: Why it does not exclude more.
        answers: What the indexes say of it.
        connective: AND or OR; empty for a part without parts.
    """

    text: str
    reached: int
    left: int
    total: int
    alone: str
    notes: tuple[str, ...]
    answers: tuple[IndexAnswer, ...]
    connective: str
    children: tuple[Funnel, ...]

    @property
    def points(self) -> str:
        """The corners of its segment, in a square of 100: from what reaches it to what is left."""
        return trapezoid(self.reached, self.left, self.total)

    @property
    def straight(self) -> str:
        """The corners of a segment with what reaches it."""
        return trapezoid(self.reached, self.reached, self.total)

    @property
    def straight_left(self) -> str:
        """The corners of a segment with what is left."""
        return trapezoid(self.left, self.left, self.total)


def funnel(node: Explanation) -> Funnel:
    """Return the funnel of an explanation."""
    says = "NOT " if node.negated else ""
    return Funnel(
        text=_WORDS[node.connective] if node.connective else f"{says}{node.predicate}",
        reached=node.reached,
        left=node.left,
        total=node.files,
        alone=_alone(node),
        notes=tuple(_notes(node)),
        answers=() if node.children else _shown(node),
        connective=node.connective,
        children=tuple(map(funnel, node.children)),
    )


def trapezoid(above: int, below: int, total: int) -> str:
    """Return the corners of a centred segment of a funnel, in a square of 100."""
    upper, lower = (50 * count / max(total, 1) for count in (above, below))
    corners = ((50 - upper, 0), (50 + upper, 0), (50 + lower, 100), (50 - lower, 100))
    return " ".join(f"{x:.2f},{y}" for x, y in corners)


def _alone(node: Explanation) -> str:
    if not node.excluded:
        return ""
    text = f"By itself it rules out {node.excluded:,} of {node.files:,} files"
    text += f", {node.excluded_bytes / 1e6:,.1f} MB"
    return text if node.excluded_rows is None else f"{text}, {node.excluded_rows:,} rows"


def _notes(node: Explanation) -> Iterator[str]:
    if node.reason:
        yield node.reason


def _shown(node: Explanation) -> tuple[IndexAnswer, ...]:
    return tuple(answer for answer in node.answers if answer.files or answer.reason)
