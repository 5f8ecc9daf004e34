"""Options and results of index builds in both metadata tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline.action_records import WrittenFile

Lock = Callable[[Storage], TableLock]


@dataclass(frozen=True)
class BuildOptions:
    """How indexes are built.

    Attributes:
        lock: The table's lock; by default one in its storage.
        wait: Seconds to wait for writers that started before.
    """

    lock: Lock = field(default=TableLock.of)
    wait: float = 600.0


@dataclass(frozen=True)
class BuildResult:
    """The result of a build.

    Attributes:
        records: Number of entries, by metadata partition.
        bytes: Size of their files, by metadata partition.
        notes: What was found and repaired.
        writer_options: Options that Hudi's writers need from now on (`writer_options`); empty for
            the extension.
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
    """Add up a measure of the files by metadata partition."""
    sums: dict[str, int] = {}
    for file in files:
        sums[file.partition] = sums.get(file.partition, 0) + measure(file)
    return sums
