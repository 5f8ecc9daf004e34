"""The action and output of `pyhudi hive adopt`; needs the extra `hive`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pyhudi_expr.api.progress_bar import ProgressBar
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.hive.address import HiveAddress
from pyhudi_expr.manage.hive.adopting import Adopted, Outcome, adopt_all, tables_of, undo_all
from pyhudi_expr.manage.hive.metastore_table import TableName
from pyhudi_expr.manage.hive.session import open_session


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
        echo(reports.as_json(_report(done, dry_run)))
    else:
        _print(done, undoing, dry_run)
    failed = [str(one.name) for one in done if one.outcome is Outcome.FAILED]
    if failed:
        raise HudiError(f"{len(failed)} of {len(done)} tables failed: {', '.join(failed)}")


class Follower:
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
                text = _text(one, undoing=False, dry_run=False)
                news = one.outcome is Outcome.CHANGED or self._shown.get(one.name) != text
                if news and one.outcome is not Outcome.UNCHANGED:
                    echo(f"{one.name}: {text}")
                self._shown[one.name] = text


def _print(done: Sequence[Adopted], undoing: bool, dry_run: bool) -> None:
    """Print the statements of a dry run, a line for each table, and the totals."""
    for one in done:
        for statement in one.statements if dry_run else ():
            echo(f"{statement};")
    for one in done:
        echo(f"{one.name}: {_text(one, undoing, dry_run)}", err=dry_run)
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


def _text(one: Adopted, undoing: bool, dry_run: bool) -> str:
    if one.outcome is Outcome.CHANGED:
        word = "undone" if undoing else "adopted"
        partitions = f", {one.partitions} partitions" if one.partitions else ""
        return f"{'would be ' if dry_run else ''}{word}{partitions}"
    if one.outcome is Outcome.UNCHANGED:
        return "it is up to date"
    return f"{one.outcome.value}: {one.message}"


def _report(done: Sequence[Adopted], dry_run: bool) -> reports.Report:
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
