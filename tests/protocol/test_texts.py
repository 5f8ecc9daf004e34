"""The query log's form of a predicate."""

import pytest
from hypothesis import assume, given

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.conversion.decoder import BadRequestError, decode
from pyhudi_expr.protocol.conversion.encoder import encode, filter_text, read_filter
from tests.expr.strategies import Case, cases


@given(cases())
def test_a_predicate_is_read_as_the_protocol_sends_it(case: Case) -> None:
    nodes = encode(case.predicate)
    try:
        sent = decode(nodes)
    except BadRequestError:  # such as an IN without options
        assume(False)
    assert read_filter(filter_text(case.predicate)) == sent


def test_texts_and_numbers_are_the_same_afterwards() -> None:
    predicate = parse_predicate("city = 'Tromsø' AND d < DATE '2024-01-05' AND f < 0.1")
    assert read_filter(filter_text(predicate)) == predicate


@pytest.mark.parametrize("text", ["", "5", "{}", "AAAA", "/////w==", "é", "Zm9v"])
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  of base64, or of the nodes
        read_filter(text)


def test_every_cut_of_a_text_is_refused() -> None:
    text = filter_text(parse_predicate("city IN ('Oslo', 'Bergen') AND NOT fare > 5"))
    for end in range(len(text) - 1):
        with pytest.raises(ValueError):  # noqa: PT011  of base64, or of the nodes
            read_filter(text[:end])
