"""Columns that a person names must exist; engines have checked theirs."""

import pyarrow as pa
import pytest

from pyhudi_expr.errors import UnknownColumn
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.request_checks import check_columns

SCHEMA = pa.schema(
    [
        ("_hoodie_record_key", pa.string()),
        ("Fare", pa.float64()),
        ("city", pa.string()),
        ("device", pa.struct([("build", pa.int32()), ("os", pa.string())])),
        ("tags", pa.list_(pa.struct([("name", pa.string())]))),
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        "fare > 1 AND CITY = 'x' OR device.Build = 3",
        "_hoodie_record_key = '1'",
        "tags.name = 'x'",
        "true",
        "city RLIKE 'x'",
    ],
)
def test_columns_of_the_table_are_accepted(text):
    check_columns(parse_predicate(text), SCHEMA, "/t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fair > 1", "/t: there is no column fair; is it Fare?"),
        ("city = 'x' OR NOT (upper(citty) = 'X')", "there is no column citty; is it city?"),
        ("device.biuld = 1", "there is no column device.biuld; is it build?"),
        ("city = Oslo", "there is no column Oslo; there are Fare, city, device, tags; if it is a"),
        ("city = ‘Oslo’", "a text is in straight quotes: 'Oslo'"),
    ],
)
def test_unknown_columns_are_named_with_the_nearest(text, message):
    with pytest.raises(UnknownColumn) as raised:
        check_columns(parse_predicate(text), SCHEMA, "/t")
    assert message in str(raised.value)
