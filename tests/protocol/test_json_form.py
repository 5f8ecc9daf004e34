"""The query log's form of a predicate."""

import json

import pytest
from hypothesis import assume, given

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.conversion.decoder import BadRequestError, decode
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.conversion.json_form import filter_json, read_filter
from tests.expr.strategies import Case, cases


@given(cases())
def test_a_predicate_is_read_as_the_protocol_sends_it(case: Case) -> None:
    nodes = encode(case.predicate)
    try:
        sent = decode(nodes)
    except BadRequestError:  # such as an IN without options
        assume(False)
    assert read_filter(json.loads(json.dumps(filter_json(case.predicate)))) == sent


def test_texts_and_numbers_are_the_same_afterwards() -> None:
    predicate = parse_predicate("city = 'Tromsø' AND d < DATE '2024-01-05' AND f < 0.1")
    assert read_filter(filter_json(predicate)) == predicate


@pytest.mark.parametrize("form", ["", 5, {}, [], ["rec", 1, {}], ["rec", -1], [1], None])
def test_what_is_no_filter_is_refused(form: object) -> None:
    with pytest.raises(ValueError, match="no filter"):
        read_filter(form)
