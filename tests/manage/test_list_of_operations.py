"""The list of operations in `pyhudi_expr.manage` is whole: classes and commands are in it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

import click

from pyhudi_expr import manage
from pyhudi_expr.cli.main import cli
from pyhudi_expr.cli.terminal import DRY_RUN

STEPS = {"plan", "check", "act", "verify", "restore"}
ROWS = re.findall(r"^(\S.*?)  +(`.*)$", (manage.__doc__ or "").partition("====")[2], re.MULTILINE)
NAMES = {name for row in ROWS for name in re.split(r", (?=[A-Z])", row[0])}


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(manage.__path__, f"{manage.__name__}."):
        yield importlib.import_module(found.name)


def has_operation(module: ModuleType) -> bool:
    """Whether a class of its own has all steps."""
    return any(
        set(vars(one)) >= STEPS
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == module.__name__
    )


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def test_each_operation_is_where_the_list_says() -> None:
    own = {one.__name__ for one in modules() if has_operation(one)}
    own.remove("pyhudi_expr.manage.operations")  # the protocol
    listed = {re.findall(r"`([\w.]+)`", places)[0] for _, places in ROWS}
    assert own == {f"pyhudi_expr.{name}" for name in listed}


def test_each_command_with_a_dry_run_is_in_the_list() -> None:
    option = click.command()(DRY_RUN(lambda: None)).params[0].opts
    with_dry_run = {
        name for name, command in commands(cli) if any(one.opts == option for one in command.params)
    }
    listed = {name.partition(" --")[0] for name in NAMES}
    assert with_dry_run - listed == set()
    assert listed - with_dry_run == {"OPTIMIZE", "index verify", "what dead processes left"}
