"""The storage handler's reports of scans: one JSON line each, in a given directory."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ScanTotals:
    """Totals over some scans. Files are base and log files, sizes are bytes.

    Attributes:
        scans: Number of scans.
        outcomes: Their outcomes, sorted, without repetition.
        listings: Who listed their files, sorted, without repetition.
        answers: Where the answers that pruned them come from, sorted, without repetition.
        states: The states that they read, if not the newest, sorted, without repetition.
        files_considered: Number of files that the queries would have read without pruning.
        files_kept: Number of files that they read.
        files_for_plans: Number of files that were read while the queries were planned, which the
            other totals leave out.
        bytes_considered: The size of the files considered.
        bytes_kept: The size of the files read.
        files_in_part: Number of files of which they read only some rows.
        rows_of_files_in_part: The rows in these files.
        rows_selected: The rows of these files that they read.
        row_group_bytes_skipped: The size of row groups in these files that they did not read.
        pruning_micros: The time that the handler spent on pruning, in microseconds.
        rows_considered: Rows of metadata views to which the service applied a filter.
        rows_sent: Rows of metadata views that it sent.
    """

    scans: int
    outcomes: tuple[str, ...]
    listings: tuple[str, ...]
    answers: tuple[str, ...]
    states: tuple[str, ...]
    files_considered: int
    files_kept: int
    files_for_plans: int
    bytes_considered: int
    bytes_kept: int
    files_in_part: int
    rows_of_files_in_part: int
    rows_selected: int
    row_group_bytes_skipped: int
    pruning_micros: int
    rows_considered: int
    rows_sent: int


class ScanReports:
    """Collects the reports of scans."""

    def __init__(self, directory: Path) -> None:
        """Start with an empty directory."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self._directory = directory

    def settings(self) -> dict[str, str]:
        """Return the settings with which a Hive session reports its scans here."""
        return {"hudi.pruning.report.dir": str(self._directory)}

    def take(self) -> ScanTotals:
        """Return the totals of all scans since the last call."""
        found: list[dict[str, Any]] = []
        for path in self._directory.glob("*.jsonl"):
            found.extend(json.loads(line) for line in path.read_text().splitlines())
            path.unlink()
        for_plans = sum(scan["filesKept"] for scan in found if "whilePlanned" in scan)
        found = [scan for scan in found if "whilePlanned" not in scan]

        def total(name: str) -> int:
            return sum(scan.get(name) or 0 for scan in found)

        return ScanTotals(
            scans=len(found),
            outcomes=tuple(sorted({scan["outcome"] for scan in found})),
            listings=tuple(sorted({scan["listing"] for scan in found if "listing" in scan})),
            answers=tuple(sorted({scan["answer"] for scan in found if "answer" in scan})),
            states=tuple(sorted({scan["state"] for scan in found if scan.get("state")})),
            files_considered=total("filesConsidered"),
            files_kept=total("filesKept"),
            files_for_plans=for_plans,
            bytes_considered=total("bytesConsidered"),
            bytes_kept=total("bytesKept"),
            files_in_part=total("filesInPart"),
            rows_of_files_in_part=total("rowsOfFilesInPart"),
            rows_selected=total("rowsSelected"),
            row_group_bytes_skipped=total("rowGroupBytesSkipped"),
            pruning_micros=total("pruningMicros"),
            rows_considered=total("rowsConsidered"),
            rows_sent=total("rowsSent"),
        )
