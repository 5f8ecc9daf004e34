"""Requests that want the rows that match counted and described."""

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


def test_rows_of_whole_files_are_counted(
    handler: PruningHandler, golden: Mapping[str, Path]
) -> None:
    table, of_region = golden["cow_v9_txns_simple_meta"], parse_predicate("region = 'us'")
    found = answer(handler, table, of_region, describeMatching=["REGION", "none"]).matching
    assert found.rows > 0
    (region,) = found.columns
    assert (region.name, region.attained, region.nulls) == ("region", True, 0)
    assert region.least.stringValue == region.greatest.stringValue == "us"
    assert answer(handler, table, of_region, describeMatching=[]).matching.columns == []
    assert answer(handler, table, of_region, describeMatching=None).matching is None


def test_rows_that_match_in_part_are_not(
    handler: PruningHandler, golden: Mapping[str, Path]
) -> None:
    part = parse_predicate("amount > 500")
    assert (
        answer(handler, golden["cow_v9_txns_simple_meta"], part, describeMatching=[]).matching
        is None
    )
