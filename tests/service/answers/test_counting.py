"""Requests that want the rows of kept files counted by partition columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
from tests.service.answers.known_rows import answer


@pytest.fixture(scope="module")
def handler() -> PruningHandler:
    return PruningHandler(Pruner(), ServiceSettings())


def test_rows_are_counted_by_values(handler: PruningHandler, golden: Mapping[str, Path]) -> None:
    table = golden["cow_v9_txns_simple_meta"]
    response = answer(handler, table, parse_predicate("region <> 'eu'"), countBy=["Region"])
    counted = {group.values[0].stringValue: group.rows for group in response.counted}
    assert counted.keys() == {"us", "apac"}
    assert all(rows > 0 for rows in counted.values())
    assert answer(handler, table, parse_predicate("region <> 'eu'"), countBy=None).counted is None


def test_other_columns_are_not_counted(handler: PruningHandler, golden: Mapping[str, Path]) -> None:
    table = golden["cow_v9_txns_simple_meta"]
    assert answer(handler, table, parse_predicate("true"), countBy=["amount"]).counted is None
