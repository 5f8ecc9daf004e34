"""Texts and HTML of tables, plans and scans, as shells and notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_STEP = 1000


def size_text(size: int) -> str:
    """Format a number of bytes: `512 bytes`, `30.2 MB`, `1.3 GB`."""
    amount, unit = float(size), 0
    while round(amount, 1) >= _STEP and unit + 1 < len(_UNITS):
        amount, unit = amount / _STEP, unit + 1
    return f"{size:,} {_UNITS[0]}" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


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
