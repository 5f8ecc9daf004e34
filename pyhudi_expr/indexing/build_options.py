"""How indexes are built, and what became of it: what both stores of indexes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyhudi_expr.table.locks import TableLock
from pyhudi_expr.table.storage import Storage
from pyhudi_expr.table.timeline.action_records import WrittenFile

Lock = Callable[[Storage], TableLock]


@dataclass(frozen=True)
class BuildOptions:
    """How indexes are built.

    lock: the table's lock, by its storage. wait: seconds for which writers are waited for that had
    begun before.
    """

    lock: Lock = field(default=TableLock.of)
    wait: float = 600.0


@dataclass(frozen=True)
class BuildResult:
    """What was built. records, bytes: of the entries' files, by metadata partition; notes: what
    was found and mended on the way; writer_options: what Hudi's writers have to be told from now
    on (`writer_options`), empty where the index is none of theirs.
    """

    name: str
    instant: str
    records: dict[str, int]
    bytes: dict[str, int]
    notes: tuple[str, ...] = ()
    writer_options: Mapping[str, str] = field(default_factory=dict)


def sum_by_partition(
    files: Sequence[WrittenFile], measure: Callable[[WrittenFile], int]
) -> dict[str, int]:
    """A measure of the files, added up by metadata partition."""
    sums: dict[str, int] = {}
    for file in files:
        sums[file.partition] = sums.get(file.partition, 0) + measure(file)
    return sums
