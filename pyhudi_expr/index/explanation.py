"""Why a file was kept or dropped: the predicate's tree with what each index could exclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyhudi_expr.expr.bound import BoundAnd, BoundExpression, BoundNot, BoundOr
from pyhudi_expr.expr.evaluate import as_array, may_be
from pyhudi_expr.expr.nodes import Unknown
from pyhudi_expr.expr.text import render
from pyhudi_expr.index.planner import NamedEvidence


@dataclass(frozen=True)
class Explanation:
    """One node of the predicate.

    predicate: its text; under a NOT it is asked whether it may be FALSE (`negated`).
    excluded: how many of the files it excludes, alone. by_index: the same, for each index alone.
    reason: why nothing can be excluded, where that is known.
    """

    predicate: str
    negated: bool
    files: int
    excluded: int
    by_index: dict[str, int]
    reason: str | None
    children: tuple[Explanation, ...]

    def text(self, indent: int = 0) -> str:
        """The tree, a line for each node."""
        says = "NOT " if self.negated else ""
        by = ", ".join(f"{name} {count}" for name, count in self.by_index.items() if count)
        line = f"{'  ' * indent}{says}{self.predicate}: excludes {self.excluded} of {self.files}"
        line += f" files ({by})" if by else " files"
        line += f" - {self.reason}" if self.reason else ""
        return "\n".join([line, *(child.text(indent + 1) for child in self.children)])

    def as_dict(self) -> dict[str, Any]:
        """The tree for JSON."""
        return {
            "predicate": self.predicate,
            "negated": self.negated,
            "files": self.files,
            "excluded": self.excluded,
            "by_index": self.by_index,
            "reason": self.reason,
            "children": [child.as_dict() for child in self.children],
        }


def explain(
    node: BoundExpression, evidence: Sequence[NamedEvidence], files: int, truth: bool = True
) -> Explanation:
    """Explains a bound predicate over `files` files; each node is evaluated on its own."""

    def excluded(sources: Sequence[NamedEvidence]) -> int:
        answer = as_array(may_be(node, truth, [source.evidence for source in sources]), files)
        return files - int(np.count_nonzero(answer))

    match node:
        case BoundNot(child=child):
            return explain(child, evidence, files, not truth)
        case BoundAnd(children=nodes) | BoundOr(children=nodes):
            children = tuple(explain(child, evidence, files, truth) for child in nodes)
        case _:
            children = ()
    total = excluded(evidence)
    return Explanation(
        predicate=render(node),
        negated=not truth,
        files=files,
        excluded=total,
        by_index={source.name: excluded([source]) for source in evidence},
        reason=_reason(node, total),
        children=children,
    )


def _reason(node: BoundExpression, excluded: int) -> str | None:
    if isinstance(node, Unknown):
        return node.reason
    if isinstance(node, BoundAnd | BoundOr) or excluded:
        return None
    return "no index proves it false for a file"
