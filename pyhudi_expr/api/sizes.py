"""Sizes as people read them."""

from __future__ import annotations

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
