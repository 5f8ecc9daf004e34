"""The splits that the storage handler makes of tables for simple predicates."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.runtime import ADD_OPENS, COLLECTOR, HIVE_LIB, aux_jars, java
from pyhudi_expr.tables.listing import TableView

_MAIN = Path(__file__).with_name("PlannedSplits.java")
_SECONDS = 300


@dataclass(frozen=True)
class Question:
    """A scan with a predicate `column operator literal`.

    Attributes:
        table: The table's base path.
        view: What the scan reads.
        service_lists: Whether the service may list the files.
        column: The column.
        type: Its type in Hive: int, bigint, double or string.
        operator: As in Hive, for example `<=`.
        literal: The literal's text.
    """

    table: Path
    view: TableView
    service_lists: bool
    column: str
    type: str
    operator: str
    literal: str

    def line(self) -> str:
        """The form in which `PlannedSplits.java` reads it."""
        lists = str(self.service_lists).lower()
        filter = (self.column, self.type, self.operator, self.literal)
        return "\t".join([str(self.table), self.view.value, lists, *filter]) + "\n"


@dataclass(frozen=True)
class Planned:
    """The splits of a scan as sorted texts, and who listed the files."""

    splits: list[str]
    listing: str
    outcome: str
    files_considered: int
    files_kept: int


def planned(service: str, questions: Sequence[Question], scratch: Path) -> list[Planned]:
    """Plan each scan in one JVM, with the pruning service at an address."""
    asked, answered = scratch / "questions", scratch / "answers"
    asked.write_text("".join(question.line() for question in questions))
    jars = os.pathsep.join([f"{HIVE_LIB}/*", *map(str, aux_jars())])
    command = [str(java()), "-Xmx1g", *COLLECTOR, *ADD_OPENS, "-cp", jars, str(_MAIN)]
    arguments = [service, str(scratch / "reports"), str(asked), str(answered)]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in (scratch / "reports/scans.jsonl").open()]
    splits = answered.read_text().split("end\n")[:-1]
    return [
        Planned(
            sorted(text.splitlines()),
            report["listing"],
            report["outcome"],
            report["filesConsidered"],
            report["filesKept"],
        )
        for text, report in zip(splits, reports, strict=True)
    ]
