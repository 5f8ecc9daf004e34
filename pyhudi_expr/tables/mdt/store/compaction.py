"""Merge a file group of a metadata table into one sorted stream, for a new base file.

The base file and the data blocks of the log files are sorted runs. They are read side by side, each
a few megabytes at a time. Whatever their sizes, only a piece of each of them is in memory, with the
keys of delete blocks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow.compute as pc

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.byte_strings import concat_byte_strings as one_behind_another
from pyhudi_expr.tables.mdt.hfile.cells import Cells as StoredCells
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.records.metadata_records import (
    EncodedRecords,
    Payload,
    decode,
    is_deleted,
    merge,
)
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA, encoded
from pyhudi_expr.tables.mdt.store.file_group import FileGroup

Cells = tuple[ByteStrings, ByteStrings]
"""Keys and values."""

_DELETED = b""
"""Instead of a value: the key is deleted."""
_Run = Iterator[EncodedRecords]


def compact_group(group: FileGroup) -> Iterator[Cells]:
    """Return the group's live records by ascending key, for `mdt.hfile.writer.write_batches`.

    Tombstones are left out.

    Raises:
        CorruptFile: A file is damaged, or has values of another schema than new files.
    """
    runs = [group.base_records(HFile.scan), *map(_run, group.log_runs(HFile.scan))]
    for base, *logs in _side_by_side(runs):
        yield _merged(base, logs)


def _run(block: _Run | list[bytes]) -> _Run:
    if not isinstance(block, list):
        return block
    cells = StoredCells.of(sorted(block), [_DELETED] * len(block))
    return iter([EncodedRecords("", RECORD_SCHEMA, cells)] if block else [])


def _side_by_side(runs: Sequence[_Run]) -> Iterator[list[EncodedRecords]]:
    """Return pieces of all runs, up to the same key each time."""
    held = [_next(run) for run in runs]
    while any(len(piece.cells) for piece in held):
        keys = [piece.cells.key_strings for piece in held]
        last = min(own[len(own) - 1] for own in keys if len(own))
        cuts = [bisect_right(own, last) for own in keys]
        yield [_part(piece, slice(cut)) for piece, cut in zip(held, cuts, strict=True)]
        rest = [_part(piece, slice(cut, None)) for piece, cut in zip(held, cuts, strict=True)]
        held = [
            piece if len(piece.cells) else _next(run) for piece, run in zip(rest, runs, strict=True)
        ]


def _next(run: _Run) -> EncodedRecords:
    """Return the next piece, without records at the run's end."""
    piece = next(run, None)
    if piece is None:
        return EncodedRecords.none()
    if piece.schema != RECORD_SCHEMA:
        raise CorruptFile(piece.file, "its records are of another schema")
    return piece


def _part(records: EncodedRecords, rows: slice) -> EncodedRecords:
    return replace(records, cells=records.cells.take(rows))


def _merged(base: EncodedRecords, logs: Sequence[EncodedRecords]) -> Cells:
    """Merge a piece. Most records of a base file are in no log file, and are unchanged."""
    values_by_key: dict[bytes, list[tuple[str, bytes]]] = {}
    for records in logs:
        for key, value in zip(records.cells.keys, records.cells.values, strict=True):
            values_by_key.setdefault(key, []).append((records.file, value))
    untouched, own = base.split(ByteStrings.of(sorted(values_by_key)))
    for key, value in zip(own.cells.keys, own.cells.values, strict=True):
        values_by_key[key].insert(0, (own.file, value))
    values = {key: _merge_versions(values_by_key[key]) for key in sorted(values_by_key)}
    live = {key: value for key, value in values.items() if value != _DELETED}
    return _united(
        (untouched.cells.key_strings, untouched.cells.value_strings),
        (ByteStrings.of([*live]), ByteStrings.of([*live.values()])),
    )


def _merge_versions(versions: Sequence[tuple[str, bytes]]) -> bytes:
    """Merge the values of one key, the oldest first; each with the name of its file."""
    payload: Payload | None = None
    last = _DELETED
    for file, value in versions:
        if value == _DELETED:
            payload, last = None, _DELETED
            continue
        new = _decoded(value, file)
        payload = new if payload is None else merge(payload, new, file)
        last = value if payload is new else encoded(payload)
    return _DELETED if payload is None or is_deleted(payload) else last


@lru_cache(maxsize=64)
def _decoded(value: bytes, file: str) -> Payload:
    """Decode a value; entries of secondary indexes, and locations, have few distinct values."""
    return decode(RECORD_SCHEMA, [value], file)[0]


def _united(base: Cells, added: Cells) -> Cells:
    if not len(added[0]):
        return base
    keys = one_behind_another([base[0], added[0]])
    values = one_behind_another([base[1], added[1]])
    order = np.asarray(pc.array_sort_indices(keys.array()))
    return keys.take(order), values.take(order)
