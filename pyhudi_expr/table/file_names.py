"""What the names of data files say, read for a whole column of names at once.

Base files: `<file id>_<write token>_<instant>.<format>`. Log files:
`.<file id>_<instant>.log.<version>[_<write token>]`, where the instant is the slice's base instant
in layout 1 and the delta commit that wrote the file in layout 2 (Hudi's `FSUtils`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

# The groups are those of both patterns: id, instant.
_BASE = r"^(?P<id>[^_]+)_[^_]*_(?P<instant>[0-9]+)(?:_[^.]*)?\.{format}$"
_LOG = (
    r"^\.(?P<id>[^_]+)_(?P<instant>[0-9]+)\.log\.(?P<version>[0-9]+)"
    r"(?:_[0-9]+-[0-9]+-[0-9]+(?:\.cdc)?)?$"
)


@dataclass(frozen=True)
class ParsedNames:
    """The files of one kind: for each its row among all files, its file id and its instant."""

    row: npt.NDArray[np.int64]
    file_id: pa.StringArray
    instant: pa.StringArray
    version: npt.NDArray[np.int64]
    """The log version; 0 for base files."""


def base_files(names: pa.StringArray, base_format: str) -> ParsedNames:
    """The base files among the names, of the table's format ("parquet", "orc", "hfile")."""
    return _parse(names, _BASE.replace("{format}", re.escape(base_format)))


def log_files(names: pa.StringArray) -> ParsedNames:
    """The log files among the names."""
    return _parse(names, _LOG)


def _parse(names: pa.StringArray, pattern: str) -> ParsedNames:
    parts = pc.extract_regex(names, pattern)
    row = np.flatnonzero(pc.is_valid(parts).to_numpy(zero_copy_only=False))
    parts = parts.take(pa.array(row))
    columns = dict(zip((f.name for f in parts.type), parts.flatten(), strict=True))
    if "version" in columns:
        version = pc.cast(columns["version"], pa.int64()).to_numpy(zero_copy_only=False)
    else:
        version = np.zeros(len(row), np.int64)
    return ParsedNames(row, columns["id"], columns["instant"], version)
