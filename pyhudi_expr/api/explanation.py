"""Why files are read or skipped, as text in a shell and as a page in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyhudi_expr.api.explanation_lines import explanation_text
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.explanation import Explanation as ExplanationTree
from pyhudi_expr.index.explanation import remarks
from pyhudi_expr.tables.timeline.timeline import Instant

if TYPE_CHECKING:
    from pyhudi_expr.api.plan import Plan

_HEIGHT = 600  # pixels


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """What each part of a predicate excludes of a table, by which index, and why not more.

    `Table.explain` makes it. A shell shows the text, a notebook the page.

    Attributes:
        plan: The files to read.
        tree: The parts of the predicate, see `pyhudi_expr.index.explanation.Explanation`.
    """

    plan: Plan
    tree: ExplanationTree
    _instants: Sequence[Instant] = field(repr=False)

    def to_text(self) -> str:
        """Return the counts, and the parts of the predicate as a tree, a line for each."""
        used = ", ".join(
            f"{source.name} {1000 * source.seconds:.1f} ms" for source in self.plan.result.evidence
        )
        parts = explanation_text(self.plan.predicate, self.tree)
        result = self.plan.result
        below = remarks(result.files_kept, result.unasked, self.tree)
        text = f"{self.plan!r}\n  indexes  {used or 'none'}\n\n{parts}"
        return "\n".join((text, *below))

    def to_dict(self) -> dict[str, Any]:
        """Return the tree for JSON."""
        return self.tree.as_dict()

    def to_html(self, file: str | Path | None = None) -> str:
        """Return a page for a browser, with the files drawn; it loads nothing else.

        Args:
            file: Where to write it, too.

        Raises:
            HudiError: jinja2 is missing (the extra `cli` has it), or the file cannot be written.
        """
        from pyhudi_expr.api.pages.explanation import explain_page

        plan = self.plan
        page = explain_page(plan.uri, plan.predicate, plan.result, self.tree, self._instants)
        if file is not None:
            try:
                Path(file).write_text(page, encoding="utf-8")
            except OSError as error:
                raise HudiError(f"{file}: the page cannot be written: {error}") from error
        return page

    def __repr__(self) -> str:
        """Return the text."""
        return self.to_text()

    def _repr_html_(self) -> str:
        """Return the page in a frame, as its style is for a page of its own."""
        try:
            page = self.to_html()
        except HudiError:
            return f"<pre>{escape(self.to_text())}</pre>"
        frame = f'style="width: 100%; height: {_HEIGHT}px; border: 0"'
        return f'<iframe {frame} srcdoc="{escape(page)}"></iframe>'
