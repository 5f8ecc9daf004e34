"""Totals of the handler's scan reports."""

import json
from pathlib import Path

from devtools.scan_reports import ScanReports, ScanTotals


def write(directory: Path, **scan: object) -> None:
    with (directory / "scans.jsonl").open("a") as lines:
        lines.write(json.dumps(scan) + "\n")


def test_all_scans_since_the_last_call_are_summed(tmp_path: Path) -> None:
    reports = ScanReports(tmp_path / "scans")
    (directory,) = reports.settings().values()
    numbers = {"filesConsidered": 10, "filesKept": 2, "bytesConsidered": 100, "bytesKept": 20}
    write(
        Path(directory),
        outcome="PRUNED",
        listing="BY_SERVICE",
        answer="BY_CACHE",
        state="001",
        pruningMicros=5,
        **numbers,
    )
    write(
        Path(directory),
        outcome="DISABLED",
        listing="BY_HUDI",
        answer="NONE",
        state=None,
        pruningMicros=None,
        **numbers,
    )

    planned = {"whilePlanned": True, "filesConsidered": 7, "filesKept": 3}
    write(Path(directory), outcome="PRUNED", listing="BY_SERVICE", answer="NONE", **planned)

    listings = ("BY_HUDI", "BY_SERVICE")
    answers = ("BY_CACHE", "NONE")
    assert reports.take() == ScanTotals(
        2,
        ("DISABLED", "PRUNED"),
        listings,
        answers,
        ("001",),
        *(20, 4, 3, 200, 40),
        *(0, 0, 0, 0, 5, 0, 0),
    )
    assert reports.take() == ScanTotals(0, (), (), (), (), *[0] * 12)
