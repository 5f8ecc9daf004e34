"""Texts, sizes, HTML and progress, as Python's shell, IPython and notebooks show them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Protocol

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_table import HudiTable

if TYPE_CHECKING:
    from pyhudi_expr.api.progress_bar import NotebookBar, ProgressBar


_UNITS = ((10**12, "TB"), (10**9, "GB"))
_MEGABYTE = 10**6


def size_text(size: float) -> str:
    """Return bytes in MB, GB or TB (decimal), with at most two digits after the point."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{_number(size / unit)} {name}"
    return f"{_number(size / _MEGABYTE)} MB"


def share_text(part: float, total: float) -> str:
    """Return `0.23 of 6.2 MB`, with the units where they differ."""
    less, more = size_text(part), size_text(total)
    unit = more.partition(" ")[2]
    return f"{less.removesuffix(f' {unit}')} of {more}"


def _number(number: float) -> str:
    if number == 0:
        return "0"
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 1 else f"{max(number, 0.01):.2f}"


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


def table_facts(table: HudiTable) -> Iterator[tuple[str, str]]:
    """Return what a table is, as names and texts."""
    properties = table.properties
    yield "location", table.base_path
    yield "type", f"{properties.table_type.value}, table version {properties.version}"
    yield "instant", table.instant or "no commit"
    yield "commits", f"{len(table.timeline.writes)} in the active timeline"
    yield "record key", ", ".join(properties.record_key_fields) or "none"
    yield "partitioned by", ", ".join(properties.partition_fields) or "nothing"
    yield "metadata", ", ".join(sorted(properties.metadata_partitions)) or "no metadata table"


def table_columns(table: HudiTable) -> Iterator[tuple[str, str]]:
    """Return a table's columns as a name and a text, or why they are not known."""
    try:
        schema = table.schema()
    except HudiError as error:
        yield "columns", str(error)
        return
    yield "columns", ", ".join(f"{field.name} {field.type}" for field in schema)


_NOTEBOOK = "ZMQInteractiveShell"


class Bar(Protocol):
    """What is shown during a block."""

    def advance(self, done: int, total: int, what: str) -> None:
        """Update the progress."""


class _NoBar:
    def advance(self, done: int, total: int, what: str) -> None:
        pass


@contextmanager
def progress_bar(purpose: str, is_wanted: bool) -> Iterator[Bar]:
    """Show a bar during the block if there is a person who waits for it.

    Args:
        purpose: What is done, such as "reading rows".
        is_wanted: Whether the person wants bars.
    """
    bar = _bar(purpose) if is_wanted else None
    if bar is None:
        yield _NoBar()
        return
    with bar as shown:
        yield shown


def _bar(purpose: str) -> NotebookBar | ProgressBar | None:
    """Return the bar for the place that this process runs in; None if nobody would see it."""
    shell = _shell()
    if not (shell or hasattr(sys, "ps1")):
        return None
    try:
        from pyhudi_expr.api.progress_bar import NotebookBar, ProgressBar
    except ModuleNotFoundError:  # rich comes with the extra `cli`
        return None
    return NotebookBar(purpose) if shell == _NOTEBOOK else ProgressBar(purpose)


def _shell() -> str:
    """Return the name of IPython's shell; empty if this process is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return "" if shell is None else type(shell).__name__
