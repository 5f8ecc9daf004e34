"""The actions and output of `pyhudi hive ...`; needs the extra `hive`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace

import click

from pyhudi_expr.api.progress_bar import ProgressBar
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.options import table_location
from pyhudi_expr.cli.progress import iter_with_progress, progress_while
from pyhudi_expr.cli.reports import print_plan
from pyhudi_expr.cli.terminal import confirm, echo
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.hive import HiveAddress
from pyhudi_expr.manage.hive.adopting import Adopted, Outcome, adopt_all, tables_of, undo_all
from pyhudi_expr.manage.hive.doctor import examine
from pyhudi_expr.manage.hive.guards import Finding, Verdict
from pyhudi_expr.manage.hive.metastore_table import TableName
from pyhudi_expr.manage.hive.registering import (
    HiveRegistration,
    HiveUnregistration,
    RegistrationPlan,
    RegistrationStep,
    plan_of_new,
)
from pyhudi_expr.manage.hive.registration import (
    Registration,
    hive_location,
    registration,
    view_registrations,
)
from pyhudi_expr.manage.hive.session import ConnectionFailed, open_session
from pyhudi_expr.manage.operations import carry_out
from pyhudi_expr.tables.hudi_table import HudiTable

_NOTHING: Mapping[str, str] = {}
_COLOURS = {
    Verdict.GOOD: "green",
    Verdict.DOUBTFUL: "yellow",
    Verdict.BROKEN: "red",
    Verdict.SKIPPED: "blue",
}


@dataclass(frozen=True)
class PlannedRegistration:
    """A Hudi table of a command, and its registration in Hive.

    Attributes:
        views: Those of the tables that describe it.
    """

    table: str
    hudi: HudiTable
    target: Registration
    views: tuple[Registration, ...] = ()

    def with_views(self) -> PlannedRegistration:
        """Return the registration with that of the tables that describe the table."""
        return replace(self, views=view_registrations(self.target))


def plan_registration(
    address: HiveAddress,
    table: str,
    name: str | None,
    seen: str | None,
    properties: Mapping[str, str] = _NOTHING,
) -> PlannedRegistration:
    """Read the Hudi table.

    Args:
        address: The HiveServer2.
        table: The base path.
        name: The name in Hive; by default the table's own.
        seen: The location for Hive, as it is; by default it follows from the base path.
        properties: Table properties to set.
    """
    with progress_while("reading the table"):
        base = table_location(table)
        hudi = HudiTable.open(base)
        named = TableName.parse(name or hudi.properties.name, address.database)
        location = seen or hive_location(base)
        return PlannedRegistration(base, hudi, registration(hudi, named, location, properties))


Consent = Callable[[RegistrationPlan], None]
"""Exits with code 1 if a plan shall not be carried out."""


def ask_to_drop(plan: RegistrationPlan) -> None:
    """Ask before a table in Hive is dropped. If it shall stay, exit with code 1."""
    for step in plan.steps:
        if step.statements.replaces:
            confirm(
                f"Hive's table {step.target.name} is dropped and created again; its data stays."
            )


def unasked(plan: RegistrationPlan) -> None:
    """Consent to any plan."""


def register(
    address: HiveAddress,
    planned: PlannedRegistration,
    replacing: bool,
    dry_run: bool,
    as_json: bool,
    consent: Consent = unasked,
) -> None:
    """Register the table by one plan, or in a dry run only print that plan."""
    if dry_run:
        plan = _would_run(address, planned, replacing)
    else:
        plan = _run(address, planned, replacing, consent)
    if as_json:
        found = [_registration_report(step, dry_run) for step in plan.steps]
        views = {"metadata": found[1:]} if planned.views else {}
        echo(reports.as_json({**found[0], **views}))
        return
    for step in plan.steps:
        _print_registration(step, dry_run)


def unregister(address: HiveAddress, name: str, dry_run: bool, as_json: bool, asks: bool) -> None:
    """Drop a table in Hive by a plan, or in a dry run only print that plan."""
    with open_session(address) as session:
        operation = HiveUnregistration(session, TableName.parse(name, address.database))
        plan = operation.plan()
        if dry_run:
            print_plan(plan, as_json)
            return
        named = ", ".join(str(one) for one, _ in plan.dropped)
        if asks:
            confirm(f"Drops {named} in Hive; the files of {plan.table} stay.")
        dropped = carry_out(operation, plan)
    if as_json:
        echo(reports.as_json({"dropped": [str(one) for one in dropped], "location": plan.table}))
    else:
        echo(f"dropped {named}; the files of {plan.table} are there")


def _print_registration(step: RegistrationStep, dry_run: bool) -> None:
    for statement in step.statements.all:
        echo(f"{statement};")
    done = "would be " if dry_run else ""
    name, count = step.target.name, len(step.target.columns)
    echo(
        f"{name}: {done}registered, {count} columns"
        if step.statements.all
        else f"{name}: it is up to date",
        err=True,
    )


def _targets(planned: PlannedRegistration) -> tuple[Registration, ...]:
    return (planned.target, *planned.views)


def doctor(
    address: HiveAddress,
    planned: PlannedRegistration,
    settings: Mapping[str, str],
    engine: str | None,
    as_json: bool,
) -> None:
    """Print each finding as it is made. Raises HudiError if a link is broken."""
    found = []
    links = examine(address, planned.hudi, planned.target, settings, engine)
    for finding in iter_with_progress(links, "querying HiveServer2"):
        found.append(finding)
        if not as_json:
            _print_finding(finding)
    if as_json:
        echo(reports.as_json({"table": planned.table, "findings": [*map(asdict, found)]}))
    broken = [finding.link for finding in found if finding.verdict is Verdict.BROKEN]
    if broken:
        raise HudiError(f"some queries are not pruned: {', '.join(broken)}")


def _print_finding(finding: Finding) -> None:
    click.secho(f"{finding.verdict.value:8} ", fg=_COLOURS[finding.verdict], nl=False)
    echo(f"{finding.link}: {finding.message}")
    if finding.remedy:
        echo(f"         fix:  {finding.remedy}")


def _run(
    address: HiveAddress, planned: PlannedRegistration, replacing: bool, consent: Consent
) -> RegistrationPlan:
    with ExitStack() as opened:
        with progress_while("querying HiveServer2"):
            session = opened.enter_context(open_session(address))
            operation = HiveRegistration(session, planned.table, _targets(planned), replacing)
            plan = operation.plan()
        consent(plan)
        if plan.changes:
            with progress_while("querying HiveServer2"):
                carry_out(operation, plan)
        return plan


def _would_run(
    address: HiveAddress, planned: PlannedRegistration, replacing: bool
) -> RegistrationPlan:
    targets = _targets(planned)
    try:
        with progress_while("querying HiveServer2"), open_session(address) as session:
            return HiveRegistration(session, planned.table, targets, replacing).plan()
    except ConnectionFailed as error:
        echo(f"note: as if Hive had no such table yet: {error}", err=True)
        return plan_of_new(planned.table, targets)


def _registration_report(step: RegistrationStep, dry_run: bool) -> reports.Report:
    target = step.target
    return {
        "table": f"{target.name.database}.{target.name.table}",
        "location": target.location,
        "columns": [
            {"name": column.name, "type": column.type, "comment": column.comment}
            for column in target.columns
        ],
        "statements": list(step.statements.all),
        "run": not dry_run,
    }


class RegistrationFollower:
    """Keeps Hive's table as the Hudi table is."""

    def __init__(
        self,
        address: HiveAddress,
        planned: PlannedRegistration,
        name: str | None,
        seen: str | None,
        properties: Mapping[str, str],
    ) -> None:
        """See `plan_registration`; `planned` has just been registered."""
        self._address = address
        self._last = planned
        self._name = name
        self._seen = seen
        self._properties = properties

    def step(self) -> None:
        """Ask Hive only if the Hudi table's columns have changed. Raises HudiError."""
        planned = plan_registration(
            self._address, self._last.table, self._name, self._seen, self._properties
        )
        if planned.target != self._last.target:
            register(self._address, planned, False, False, False)
        self._last = planned


def adopt(
    address: HiveAddress, tables: Sequence[str], undoing: bool, dry_run: bool, as_json: bool
) -> None:
    """Adopt tables, or undo it, and print what was done. Raises HudiError if a table failed."""
    with open_session(address) as session:
        with progress_while("querying HiveServer2"):
            names = tables_of(session, tables, address.database)
        each = (undo_all if undoing else adopt_all)(session, names, dry_run=dry_run)
        done = []
        with ProgressBar("undoing" if undoing else "adopting") as bar:
            for number, one in enumerate(each, 1):
                done.append(one)
                bar.advance(number, len(names), "tables")
    if as_json:
        echo(reports.as_json(_adoption_report(done, dry_run)))
    else:
        _print_adoption(done, undoing, dry_run)
    failed = [str(one.name) for one in done if one.outcome is Outcome.FAILED]
    if failed:
        raise HudiError(f"{len(failed)} of {len(done)} tables failed: {', '.join(failed)}")


class AdoptionFollower:
    """Adopts tables again and again, and prints what has changed."""

    def __init__(self, address: HiveAddress, tables: Sequence[str]) -> None:
        self._address = address
        self._tables = tables
        self._shown: dict[TableName, str] = {}

    def step(self) -> None:
        """Adopt once. Raises HudiError if HiveServer2 cannot be reached."""
        with open_session(self._address) as session:
            names = tables_of(session, self._tables, self._address.database)
            for one in adopt_all(session, names, dry_run=False):
                text = _adoption_text(one, undoing=False, dry_run=False)
                news = one.outcome is Outcome.CHANGED or self._shown.get(one.name) != text
                if news and one.outcome is not Outcome.UNCHANGED:
                    echo(f"{one.name}: {text}")
                self._shown[one.name] = text


def _print_adoption(done: Sequence[Adopted], undoing: bool, dry_run: bool) -> None:
    """Print the statements of a dry run, a line for each table, and the totals."""
    for one in done:
        for statement in one.statements if dry_run else ():
            echo(f"{statement};")
    for one in done:
        echo(f"{one.name}: {_adoption_text(one, undoing, dry_run)}", err=dry_run)
    counts = Counter(one.outcome for one in done)
    totals = ", ".join(
        f"{counts[each]} {_planned(each) if dry_run else each.value}"
        for each in Outcome
        if counts[each]
    )
    echo(f"{len(done)} tables: {totals or 'none'}", err=True)


def _planned(outcome: Outcome) -> str:
    """Return an outcome's word for a dry run, in which nothing is changed."""
    return "would change" if outcome is Outcome.CHANGED else outcome.value


def _adoption_text(one: Adopted, undoing: bool, dry_run: bool) -> str:
    if one.outcome is Outcome.CHANGED:
        word = "undone" if undoing else "adopted"
        partitions = f", {one.partitions} partitions" if one.partitions else ""
        return f"{'would be ' if dry_run else ''}{word}{partitions}"
    if one.outcome is Outcome.UNCHANGED:
        return "it is up to date"
    return f"{one.outcome.value}: {one.message}"


def _adoption_report(done: Sequence[Adopted], dry_run: bool) -> reports.Report:
    return {
        "run": not dry_run,
        "tables": [
            {
                "table": f"{one.name.database}.{one.name.table}",
                "outcome": one.outcome.value,
                "partitions": one.partitions,
                "statements": list(one.statements),
                "message": one.message,
            }
            for one in done
        ],
    }
