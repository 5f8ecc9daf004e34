"""Parse the names of data files, a whole column of names at once.

Base files: `<file id>_<write token>_<instant>.<format>`. Log files: `.<file
id>_<instant>.log.<version>[_<write token>]`, where the instant is the slice's base instant in
layout 1 and the delta commit that wrote the file in layout 2 (Hudi's `FSUtils`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, arrow_numbers

#: Hudi's `ExternalFilePathUtil`; Apache XTable registers files so.
_EXTERNAL_END = "_hudiext"

_BASE_PARTS = 3
_BASE_END = r"^(?P<instant>[0-9]+)(?:_[^.]*)?\.{format}$"
_BASE_BEGIN = r"[^_]+_[^_]*_"
_LOG = (
    r"^\.(?P<id>[^_]+)_(?P<instant>[0-9]+)\.log\.(?P<version>[0-9]+)"
    r"(?:_[0-9]+-[0-9]+-[0-9]+(?:\.cdc)?)?$"
)
_LOG_PATTERN = re.compile(_LOG.strip("^$"))


@dataclass(frozen=True)
class ParsedNames:
    """Parsed names of one kind of files: each file's row among all files, file id and instant."""

    row: Int64Array
    file_id: AnyArray
    instant: AnyArray
    version: Int64Array
    """The log version; 0 for base files."""


def base_files(names: AnyArray, base_format: str) -> ParsedNames:
    """Parse the base files among the names, in the table's format ("parquet", "orc", "hfile")."""
    parts = pc.split_pattern(names, "_", max_splits=_BASE_PARTS - 1)
    whole = np.flatnonzero(_flags(pc.equal(pc.list_value_length(parts), _BASE_PARTS)))
    parts = _only(parts, whole)
    # All files of one write have the same suffix, so few suffixes have to be parsed.
    ends = pc.list_element(parts, 2).dictionary_encode()
    (instant,) = pc.extract_regex(ends.dictionary, _end_of_base(base_format)).flatten()
    instants = pa.DictionaryArray.from_arrays(ends.indices, instant).dictionary_decode()
    file_id = pc.list_element(parts, 0)
    named = np.flatnonzero(_flags(pc.and_(pc.is_valid(instants), pc.not_equal(file_id, ""))))
    version = np.zeros(len(named), np.int64)
    return ParsedNames(whole[named], _only(file_id, named), _only(instants, named), version)


def log_files(names: AnyArray) -> ParsedNames:
    """Parse the log files among the names."""
    found = pc.extract_regex(names, _LOG)
    row = np.flatnonzero(_flags(pc.is_valid(found)))
    file_id, instant, version = found.take(arrow_numbers(row)).flatten()
    versions = pc.cast(version, pa.int64()).to_numpy(zero_copy_only=False)
    return ParsedNames(row, file_id, instant, versions)


def external_file(names: AnyArray) -> str | None:
    """Return one of the names that Hudi gives files of other writers; None if none is."""
    row = pc.index(pc.ends_with(names, _EXTERNAL_END), True).as_py()
    return None if row < 0 else str(names[row])


def is_parsed(name: str, base_format: str) -> bool:
    """Return whether `base_files` or `log_files` parses a name: faster, for a few names."""
    return bool(_base_pattern(base_format).fullmatch(name) or _LOG_PATTERN.fullmatch(name))


@cache
def _base_pattern(base_format: str) -> re.Pattern[str]:
    return re.compile(_BASE_BEGIN + _end_of_base(base_format).strip("^$"))


def _end_of_base(base_format: str) -> str:
    return _BASE_END.replace("{format}", re.escape(base_format))


def _only(array: AnyArray, rows: Int64Array) -> AnyArray:
    """Return the array's ascending rows; without a copy if these are all rows."""
    return array if len(rows) == len(array) else array.take(arrow_numbers(rows))


def _flags(answer: pa.BooleanArray) -> BoolArray:
    flags: BoolArray = answer.fill_null(False).to_numpy(zero_copy_only=False)
    return flags
