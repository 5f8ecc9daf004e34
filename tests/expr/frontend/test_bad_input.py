"""An invalid predicate costs no row and no query: a note explains what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from examples.predicates.row_expression import parse_row_expression
from examples.predicates.tuple_domain import parse_tuple_domain
from examples.predicates.values import MAX_TEXT
from pyhudi_expr.expr.frontend.arrow.expressions import parse_arrow
from pyhudi_expr.expr.frontend.arrow.filter_lists import parse_filters
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, SqlDialect, parse_predicate
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.protocol.conversion.encoder import filter_text, read_filter
from tests.examples.predicates import test_row_expression, test_tuple_domain

TABLE = "cow_v9_txns_simple_meta"
ALONE = "; a column alone means that it is TRUE"
UNKNOWN = "no column named regoin; is it region?"
PRUNER = Pruner()


def prune(golden: Mapping[str, Path], predicate: HudiExpression) -> PruneResult:
    return PRUNER.prune(str(golden[TABLE]), PruneRequest(predicate))


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_a_note_about_an_unknown_column_suggests_similar_ones(
    golden: Mapping[str, Path], dialect: SqlDialect
) -> None:
    result = prune(golden, parse_predicate("regoin = 'us' AND region = 'eu'", dialect))
    assert UNKNOWN in result.notes
    assert 0 < result.files_kept < result.files_total  # the other part is evaluated


def test_unknown_columns_are_noted_by_every_front_end(golden: Mapping[str, Path]) -> None:
    tree = parse_predicate("regoin = 'us'")
    domain = json.loads(test_tuple_domain.WRITTEN["s >= 'm' OR s IS NULL"])
    domain["columnDomains"][0]["column"] = "regoin"
    is_null = test_row_expression.variable("regoin", "varchar")
    is_null = {"@type": "special", "form": "IS_NULL", "arguments": [is_null]}
    schema = pa.schema({"region": pa.string()})
    for again in (
        *(parse_filters([("regoin", "=", "us")]), read_filter(filter_text(tree))),
        parse_arrow(pc.field("regoin") == "us", schema),
        parse_tuple_domain(json.dumps(domain)),
        parse_row_expression(json.dumps(is_null)),
    ):
        result = prune(golden, again)
        assert UNKNOWN in result.notes
        assert result.keep.all()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("amount = 'abc'", "a string literal against a decimal column"),
        ("amount IN ('x', 1)", "a string literal against a decimal column"),
        ("region = 5.5", "a decimal literal against a string column"),
        ("txn_date = TRUE", "a boolean literal against a date column" + ALONE),
        ("region", "a boolean literal against a string column" + ALONE),
        ("NOT amount", "a boolean literal against a decimal column" + ALONE),
        ("year(is_international) = 2020", "year() cannot be bounded by its operand's bounds"),
        ("amount + region > 1", "+() cannot be bounded by its operand's bounds"),
        ("region.x = 1", "no column named region.x"),
        ("nobody_knows(region) = 1", "nobody_knows() is not supported"),
    ],
)
def test_types_that_do_not_fit_are_noted(golden: Mapping[str, Path], text: str, note: str) -> None:
    result = prune(golden, parse_predicate(text))
    assert result.keep.all()
    assert note in result.notes


@pytest.mark.parametrize("read", [parse_row_expression, parse_tuple_domain])
def test_a_text_that_is_too_long_is_refused(read: Callable[[str], HudiExpression]) -> None:
    with pytest.raises(ValueError, match="longer than"):
        read(" " * (MAX_TEXT + 1))
