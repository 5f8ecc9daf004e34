"""The commands understand times in the same zone as the Python API, by default."""

from __future__ import annotations

import inspect

import click
import pytest

import pyhudi_expr as ph
from pyhudi_expr.api import DEFAULT_ZONE
from pyhudi_expr.cli.main import cli


@pytest.mark.parametrize("name", ["prune", "explain", "scan", "bench"])
def test_the_zone_of_a_command_is_that_of_the_api(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    zone = next(one for one in command.params if one.name == "zone")
    assert zone.default == DEFAULT_ZONE == "UTC"


@pytest.mark.parametrize(
    "method",
    [ph.Table.prune, ph.Table.explain, ph.Table.scan, ph.Table.to_pyarrow_dataset, ph.scan],
    ids=lambda one: one.__qualname__,
)
def test_the_zone_of_the_api_is_one(method: object) -> None:
    assert inspect.signature(method).parameters["zone"].default == DEFAULT_ZONE
