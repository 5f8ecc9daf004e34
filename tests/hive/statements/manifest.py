"""What a directory holds, as the witness that a statement has changed nothing in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path


def manifest(directory: Path) -> Mapping[str, str]:
    """A digest of each file below a directory, by its relative path."""
    return {
        str(file.relative_to(directory)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(directory.rglob("*"))
        if file.is_file()
    }
