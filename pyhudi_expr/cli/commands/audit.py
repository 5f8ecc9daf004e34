"""`pyhudi audit`: check the metadata of a table against its files, and repair it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from random import SystemRandom
from typing import Any

import click

from pyhudi_expr.api.progress_bar import ProgressBar
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.commands.index_building import build_options, in_session, with_writing
from pyhudi_expr.cli.options import (
    AS_JSON,
    TABLE,
    OptionValue,
    examples,
    table_location,
)
from pyhudi_expr.cli.spark_session import spark_session, with_spark
from pyhudi_expr.cli.terminal import DRY_RUN, YES, confirm, echo, is_asked
from pyhudi_expr.manage.audit.findings import Audit, Finding, Severity
from pyhudi_expr.manage.audit.remedies import Repair, TableRepair
from pyhudi_expr.manage.audit.runner import AuditOptions
from pyhudi_expr.manage.audit.runner import audit as audit_table
from pyhudi_expr.manage.operations import carry_out, plan_record
from pyhudi_expr.tables.hudi_table import HudiTable

SLOWER, WRONG = 3, 4
"""Exit codes, besides those of all commands."""
_SEEDS = 2**31


@click.command(
    short_help="Check a table's metadata against its files, and repair it.",
    epilog=examples(
        ("pyhudi audit /warehouse/trips", "all of it"),
        ("pyhudi audit /warehouse/trips --sample 100", "100 file slices, drawn at random"),
        ("pyhudi audit /warehouse/trips --repair --dry-run", "what would mend it"),
    ),
)
@TABLE
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Check so many file slices, drawn at random; the lists of files are checked as a whole.",
)
@click.option("--seed", type=int, metavar="S", help="Draw the slices of an earlier --sample again.")
@click.option(
    "--spark",
    "in_spark",
    is_flag=True,
    help="Check the rows' indexes in Spark's tasks, for tables too large for one process.",
)
@click.option(
    "--repair",
    "repairing",
    is_flag=True,
    help="Drop what is wrong and build it again (indexes need Spark). No data file is touched.",
)
@DRY_RUN
@YES
@with_spark
@with_writing
@AS_JSON
def audit(
    table: str,
    sample: int | None,
    seed: int | None,
    in_spark: bool,
    repairing: bool,
    dry_run: bool,
    is_confirmed: bool,
    as_json: bool,
    **settings: OptionValue,
) -> None:
    """Check every partition of TABLE's metadata table, and of the extension, against the files.

    A finding says what is wrong, in which file, whose queries lose rows by it, and what mends it.
    Exit codes: 0 nothing is wrong, 3 queries are slower than they have to be, 4 queries lose rows
    or fail, 1 the audit itself failed. With --repair, they are those of the audit afterwards.
    """
    if dry_run and not repairing:
        raise click.UsageError("--dry-run needs --repair; an audit changes nothing")
    if seed is not None and sample is None:
        raise click.UsageError("--seed needs --sample")
    path = table_location(table)
    drawn = SystemRandom().randrange(_SEEDS) if seed is None else seed
    options = AuditOptions(sample, drawn)
    found = _audited(path, options, in_spark, settings)
    plan = None
    if repairing and found.findings:
        repair = _repair(found, lambda: _audited(path, options, in_spark, settings), settings)
        plan = repair.plan()
        if not dry_run:
            _report(found, None, as_json=False, err=True)
            found = _repaired(repair, plan, is_confirmed)
    _report(found, plan if dry_run else None, as_json=as_json, err=False)
    if found.worst is not None:
        sys.exit(SLOWER if found.worst is Severity.SLOWER else WRONG)


def _audited(path: str, options: AuditOptions, in_spark: bool, settings: dict[str, Any]) -> Audit:
    opened = HudiTable.open(path)
    if not in_spark:
        with ProgressBar("auditing") as bar:
            return audit_table(opened, options, bar.advance)
    with spark_session("auditing", settings["master"], settings["settings"]) as spark:
        from pyhudi_expr.spark.audit import row_checks

        return audit_table(opened, options, row_checks=row_checks(spark))


def _repair(found: Audit, audited: Callable[[], Audit], settings: dict[str, Any]) -> TableRepair:
    """Return the operation; a Spark session starts with the first index that is built."""
    options = build_options(settings)
    build = in_session("repairing", options, settings)
    return TableRepair(found, options, build, audited, partial(echo, err=True))


def _repaired(repair: TableRepair, plan: Repair, is_confirmed: bool) -> Audit:
    """Repair the table, and return the audit afterwards."""
    for line in plan.left:
        echo(f"left: {line}", err=True)
    if not plan.steps:
        return repair.found
    if is_asked(is_confirmed):
        confirm("\n".join([f"{plan.table} is repaired:", *plan.steps]))
    return carry_out(repair, plan)


def _report(found: Audit, repair: Repair | None, *, as_json: bool, err: bool) -> None:
    if as_json:
        report = {**asdict(found), "worst": found.worst}
        if repair is not None:
            report["would_do"], report["would_leave"] = repair.steps, list(repair.left)
            report |= plan_record(repair)
        echo(reports.as_json(report), err=err)
        return
    for finding in found.findings:
        echo("\n".join(_lines(finding)), err=err)
    for note in found.unchecked:
        echo(f"not checked: {note}", err=err)
    echo(_summary(found), err=err)
    if repair is not None:
        for step in repair.steps:
            echo(f"would {step}", err=err)
        for line in repair.left:
            echo(f"left: {line}", err=err)


def _lines(one: Finding) -> list[str]:
    readers = " and ".join(reader.value for reader in one.readers)
    by = f" by readers of {readers}" if readers else ""
    return [
        f"{one.partition} ({one.store.value}): {one.fault.value} in {one.place}",
        f"  expected {one.expected}, found {one.found}",
        f"  {one.severity.value}{by}: {one.queries}",
        f"  {one.remedy}",
    ]


def _summary(found: Audit) -> str:
    counts = Counter(one.severity for one in found.findings)
    named = ", ".join(f"{counts[one]} {one.value}" for one in Severity if counts[one])
    drawn = "" if found.seed is None else f", seed {found.seed}"
    checked = f"{len(found.checked)} metadata partitions, as of {found.instant}"
    slices = f"{found.slices:,} of {found.slices_total:,} file slices{drawn}"
    return f"{named or 'nothing is wrong'}: {slices}, {checked}"
