"""Texts, sizes and HTML of tables, plans and scans, as shells and notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_table import HudiTable

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
