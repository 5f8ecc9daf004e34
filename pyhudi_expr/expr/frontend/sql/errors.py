"""Errors of a predicate's text."""

from __future__ import annotations

from pyhudi_expr.errors import HudiError

_SHOWN = 30
"""Characters on either side of the place."""


class PredicateSyntaxError(HudiError, ValueError):
    """The text is not a predicate; the message has its position.

    Attributes:
        problem: What is wrong.
        line: The line, from 1.
        column: The character in it, from 1.
        text: The whole text.
    """

    def __init__(self, problem: str, line: int, column: int, text: str = "") -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.problem = problem
        self.line = line
        self.column = column
        self.text = text

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what it is made of, as an error of another process is."""
        return PredicateSyntaxError, (self.problem, self.line, self.column, self.text)

    def of(self, text: str) -> PredicateSyntaxError:
        """Return the error with the text that it is about."""
        return PredicateSyntaxError(self.problem, self.line, self.column, text)

    @property
    def marked(self) -> str:
        """The line of the text, and below it a caret at the place."""
        lines = self.text.splitlines()
        line = lines[self.line - 1] if self.line <= len(lines) else ""
        start = max(0, self.column - 1 - _SHOWN)
        before = "..." if start else ""
        after = "..." if len(line) > self.column + _SHOWN else ""
        shown = line[start : self.column + _SHOWN].replace("\t", " ")
        return f"{before}{shown}{after}\n{' ' * (len(before) + self.column - 1 - start)}^"
