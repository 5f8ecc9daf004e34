"""A commit's log files on top of the secondary index of a table of `bench.tables.large_indexes`."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.tables.large_indexes import FIRST, spread_of
from pyhudi_expr.tables.hudi_names import METADATA_DIR
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.keys import secondary_prefix, shard
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.store.block_cache import StoredFile
from pyhudi_expr.tables.mdt.store.file_group import FileGroup

_INSTANT = "20240601000009000"


@contextmanager
def logged_updates(
    table: Path, rows: int, updated: int, groups: Sequence[FileGroup]
) -> Iterator[list[FileGroup]]:
    """Log new values of the first rows, and return the index's shards with them.

    Each row has a tombstone of its old value, and an entry of the new one.
    """
    shards: dict[int, dict[bytes, bytes]] = {}
    old, new = payloads.secondary_tombstone(), payloads.secondary_entry()
    for row in range(updated):
        for value, entry in ((spread_of(row, rows), old), (FIRST + rows + row, new)):
            number = shard(secondary_prefix(str(value)), len(groups))
            shards.setdefault(number, {})[f"{value}${FIRST + row}".encode()] = entry
    directory = table / METADATA_DIR / "bench-logs"
    directory.mkdir(exist_ok=True)
    try:
        logged = []
        for number, group in enumerate(groups):
            content = log_writer.records(_INSTANT, sorted(shards.get(number, {}).items()))
            (directory / str(number)).write_bytes(content)
            log = StoredFile(f"{directory.name}/{number}", len(content))
            valid = group.valid | {_INSTANT}
            logs = (*group.logs, (log, _INSTANT))
            logged.append(FileGroup(group.storage, group.base, logs, valid))
        yield logged
    finally:
        shutil.rmtree(directory)
