"""How people name tables."""

from __future__ import annotations

from pathlib import Path


def location(table: str) -> str:
    """A URI or an absolute path; people also write paths from where they are."""
    return table if ":" in table.split("/")[0] else str(Path(table).absolute())
