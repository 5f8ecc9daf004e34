"""The actions and output of `pyhudi hive ...`; needs the extra `hive`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import click

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.confirmation import confirm
from pyhudi_expr.cli.progress import iter_with_progress, progress_while
from pyhudi_expr.cli.table_location import table_location
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.hive.address import HiveAddress
from pyhudi_expr.manage.hive.doctor import examine
from pyhudi_expr.manage.hive.findings import Finding, Verdict
from pyhudi_expr.manage.hive.metastore_table import TableName, metastore_table
from pyhudi_expr.manage.hive.registration import (
    Registration,
    hive_location,
    registration,
    statements,
    view_registrations,
)
from pyhudi_expr.manage.hive.session import ConnectionFailed, open_session
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


def ask_to_drop(address: HiveAddress, planned: PlannedRegistration) -> None:
    """Ask before a table in Hive is dropped. If it shall stay, exit with code 1."""
    with progress_while("querying HiveServer2"):
        todo = [_would_run(address, one, replacing=True) for one in _targets(planned)]
    for target, to_run in zip(_targets(planned), todo, strict=True):
        if any(statement.startswith("DROP TABLE") for statement in to_run):
            confirm(f"Hive's table {target.name} is dropped and created again; its data stays.")


def register(
    address: HiveAddress,
    planned: PlannedRegistration,
    replacing: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run, or in a dry run only print, the statements that register the table."""
    targets = _targets(planned)
    with progress_while("querying HiveServer2"):
        answer = _would_run if dry_run else _run
        todo = [answer(address, target, replacing) for target in targets]
    if as_json:
        found = [_report(*one, dry_run) for one in zip(targets, todo, strict=True)]
        views = {"metadata": found[1:]} if planned.views else {}
        echo(reports.as_json({**found[0], **views}))
        return
    for target, to_run in zip(targets, todo, strict=True):
        _print_registration(target, to_run, dry_run)


def _print_registration(target: Registration, todo: tuple[str, ...], dry_run: bool) -> None:
    for statement in todo:
        echo(f"{statement};")
    done = "would be " if dry_run else ""
    count = len(target.columns)
    echo(
        f"{target.name}: {done}registered, {count} columns"
        if todo
        else f"{target.name}: it is up to date",
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


def _run(address: HiveAddress, target: Registration, replacing: bool) -> tuple[str, ...]:
    with open_session(address) as session:
        todo = statements(target, metastore_table(session, target.name), replacing)
        for statement in todo:
            session.run(statement)
        return todo


def _would_run(address: HiveAddress, target: Registration, replacing: bool) -> tuple[str, ...]:
    try:
        with open_session(address) as session:
            return statements(target, metastore_table(session, target.name), replacing)
    except ConnectionFailed as error:
        echo(f"note: as if Hive had no such table yet: {error}", err=True)
        return statements(target, None)


def _report(target: Registration, todo: tuple[str, ...], dry_run: bool) -> reports.Report:
    return {
        "table": f"{target.name.database}.{target.name.table}",
        "location": target.location,
        "columns": [
            {"name": column.name, "type": column.type, "comment": column.comment}
            for column in target.columns
        ],
        "statements": list(todo),
        "run": not dry_run,
    }


class Follower:
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
