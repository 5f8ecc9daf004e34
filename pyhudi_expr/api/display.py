"""Texts and HTML of tables, plans and scans, as shells and notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def lines(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """Return a title, and a line for each fact with aligned values."""
    pairs = list(facts)
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join([title, *(f"  {name:{width}}  {value}" for name, value in pairs)])


def html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """Return the same as HTML that takes its colours from the notebook; everything is escaped."""
    style = 'style="text-align: left"'
    rows = "".join(
        f'<tr><th scope="row" {style}>{escape(name)}</th><td {style}>{escape(value)}</td></tr>'
        for name, value in facts
    )
    return f"<div><p><b>{escape(title)}</b></p><table>{rows}</table></div>"
