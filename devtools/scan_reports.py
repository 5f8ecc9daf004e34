"""What the storage handler reports of its scans: one JSON line each, in a directory we name."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ScanTotals:
    """Sums over some scans. Files are base and log files, sizes are bytes.

    Attributes:
        scans: how many there were.
        outcomes: how each ended, sorted, without repetition.
        files_considered: files that the queries would have read without pruning.
        files_kept: files that they read.
        bytes_considered: the size of the former.
        bytes_kept: the size of the latter.
        pruning_micros: the time that the handler spent on its answers, microseconds.
    """

    scans: int
    outcomes: tuple[str, ...]
    files_considered: int
    files_kept: int
    bytes_considered: int
    bytes_kept: int
    pruning_micros: int


class ScanReports:
    """The reports of scans, taken as they come."""

    def __init__(self, directory: Path) -> None:
        """Begin with an empty directory."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self._directory = directory

    def settings(self) -> dict[str, str]:
        """What a Hive session has to SET for its scans to be reported here."""
        return {"hudi.pruning.report.dir": str(self._directory)}

    def take(self) -> ScanTotals:
        """The totals of all scans since the last call."""
        found: list[dict[str, Any]] = []
        for path in self._directory.glob("*.jsonl"):
            found.extend(json.loads(line) for line in path.read_text().splitlines())
            path.unlink()

        def total(name: str) -> int:
            return sum(scan[name] or 0 for scan in found)

        return ScanTotals(
            scans=len(found),
            outcomes=tuple(sorted({scan["outcome"] for scan in found})),
            files_considered=total("filesConsidered"),
            files_kept=total("filesKept"),
            bytes_considered=total("bytesConsidered"),
            bytes_kept=total("bytesKept"),
            pruning_micros=total("pruningMicros"),
        )
