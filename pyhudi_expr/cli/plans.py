"""Plans of operations as a dry run prints them."""

from __future__ import annotations

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.manage.operations import Plan, plan_record


def print_plan(plan: Plan, as_json: bool) -> None:
    """Print what an operation would do."""
    if as_json:
        echo(reports.as_json(plan_record(plan)))
        return
    for change in plan.changes:
        value = f" to {change.value}" if change.value else ""
        echo(f"would {change.action.value} {change.what}{value}")
    if not plan.changes:
        echo("would change nothing")
