"""What a table cannot be asked costs no row and no query: a note says what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.frontend.filter_lists import parse_filters
from pyhudi_expr.frontend.json_decoder import loads
from pyhudi_expr.frontend.json_encoder import dumps
from pyhudi_expr.frontend.sql import DIALECTS, SqlDialect, parse_predicate
from pyhudi_expr.frontend.thrift import decode
from pyhudi_expr.frontend.thrift_encoder import encode
from pyhudi_expr.prune import Pruner, PruneRequest, PruneResult

TABLE = "cow_v9_txns_simple_meta"
UNKNOWN = "no column named regoin; is it region?"
PRUNER = Pruner()


def prune(golden: Mapping[str, Path], predicate: HudiExpression) -> PruneResult:
    return PRUNER.prune(str(golden[TABLE]), PruneRequest(predicate))


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_an_unknown_column_is_noted_with_those_near_it(
    golden: Mapping[str, Path], dialect: SqlDialect
) -> None:
    result = prune(golden, parse_predicate("regoin = 'us' AND region = 'eu'", dialect))
    assert UNKNOWN in result.notes
    assert 0 < result.files_kept < result.files_total  # the other piece is judged


def test_in_every_form(golden: Mapping[str, Path]) -> None:
    tree = parse_predicate("regoin = 'us'")
    for again in (parse_filters([("regoin", "=", "us")]), loads(dumps(tree)), decode(encode(tree))):
        result = prune(golden, again)
        assert UNKNOWN in result.notes
        assert result.keep.all()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("amount = 'abc'", "a string literal against a decimal column"),
        ("amount IN ('x', 1)", "a string literal against a decimal column"),
        ("region = 5", "a integer literal against a string column"),
        ("txn_date = TRUE", "a boolean literal against a date"),
        ("region", "a boolean literal against a string column"),
        ("NOT amount", "a boolean literal against a decimal column"),
        ("year(is_international) = 2020", "year() cannot be judged from its operand's bounds"),
        ("amount + region > 1", "+() cannot be judged from its operand's bounds"),
        ("region.x = 1", "no column named region.x"),
        ("nobody_knows(region) = 1", "nobody_knows() cannot be judged from its operand's bounds"),
    ],
)
def test_types_that_do_not_fit_are_noted(golden: Mapping[str, Path], text: str, note: str) -> None:
    result = prune(golden, parse_predicate(text))
    assert result.keep.all()
    assert note in result.notes
