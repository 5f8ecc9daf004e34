"""Record keys implied by equalities on the key's columns, and predicates that imply none."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import Unknown
from pyhudi_expr.expr.render import render
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.lookups.key_predicates import (
    StoredSpelling,
    VirtualSpelling,
    extension_spelling,
    key_spelling,
    with_record_keys,
    without_columns,
)
from pyhudi_expr.tables.keys.generators import HudiKeys
from pyhudi_expr.tables.properties import TableProperties
from tests.example_counts import examples
from tests.expr.oracle import truths
from tests.expr.oracle_engines import ENGINES
from tests.expr.statistics import RowStatistics
from tests.expr.strategies import Case, cases, stored

SCHEMA = pa.schema(
    {
        "_hoodie_record_key": pa.string(),
        "a": pa.string(),
        "n": pa.int64(),
        "d": pa.date32(),
        "b": pa.bool_(),
        "m": pa.decimal128(10, 2),
        "t": pa.timestamp("us"),
        "f": pa.float64(),
        "y": pa.binary(),
    }
)


def completed(text: str, *fields: str, named: bool = False) -> str:
    bound = bind(parse_predicate(text), Scope(SCHEMA, here("UTC")))
    return render(with_record_keys(bound, StoredSpelling(fields, named)))


@pytest.mark.parametrize(
    ("text", "field", "implied"),
    [
        ("a = 'x'", "a", "= 'x'"),
        ("'x' = a", "a", "= 'x'"),
        ("a <=> 'x'", "a", "= 'x'"),
        ("a IN ('y', 'x')", "a", "IN ('x', 'y')"),
        ("a = ''", "a", "IN ('', '__empty__')"),
        ("n = -5", "n", "= '-5'"),
        ("b = true", "b", "= 'true'"),
        ("d = DATE '2024-01-02'", "d", "IN ('19724', '2024-01-02')"),
    ],
)
def test_the_key_of_one_column(text: str, field: str, implied: str) -> None:
    assert completed(text, field).endswith(f" AND _hoodie_record_key {implied}")


def test_a_generator_that_may_name_the_field() -> None:
    assert completed("n = 5", "n", named=True).endswith("_hoodie_record_key IN ('5', 'n:5')")


def test_the_key_of_several_columns_needs_all_of_them() -> None:
    assert completed("n = 5 AND a = 'x'", "a", "n").endswith("_hoodie_record_key = 'a:x,n:5'")
    both = completed("n IN (5, 6) AND a = 'x' AND d > DATE '2024-01-01'", "a", "n")
    assert both.endswith("_hoodie_record_key IN ('a:x,n:5', 'a:x,n:6')")
    assert "_hoodie_record_key" not in completed("n = 5", "a", "n")
    assert "_hoodie_record_key" not in completed("n = 5 OR a = 'x'", "a", "n")


def test_every_branch_of_an_or() -> None:
    text = completed("(n = 5 AND a = 'x') OR (n = 6 AND a = 'y')", "a", "n")
    assert "'a:x,n:5'" in text
    assert "'a:y,n:6'" in text


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("NOT (n = 5)", "n"),
        ("n > 5", "n"),
        ("n IS NULL", "n"),
        ("m = 1.5", "m"),
        ("f = 1.5", "f"),
        ("t = TIMESTAMP '2024-01-01 00:00:00'", "t"),
        ("a = 'x'", "n"),
    ],
)
def test_no_key_follows_without_all_fields(text: str, field: str) -> None:
    assert "_hoodie_record_key" not in completed(text, field)


def test_too_many_combinations_imply_nothing() -> None:
    many = ", ".join(str(n) for n in range(1001))
    assert "_hoodie_record_key" not in completed(f"n IN ({many}) AND a = 'x'", "a", "n")


def properties(**given: str) -> TableProperties:
    raw = {"hoodie.table.version": "9", "hoodie.table.recordkey.fields": "a", **given}
    named = {key.replace("__", "."): value for key, value in raw.items()}
    named.setdefault("hoodie.record.merge.mode", "EVENT_TIME_ORDERING")
    return TableProperties.parse(named, "t")


@pytest.mark.parametrize(
    ("generator", "named"),
    [
        ("SIMPLE", False),
        ("COMPLEX_AVRO", True),
        ("org.apache.hudi.keygen.SimpleKeyGenerator", False),
        ("org.apache.hudi.keygen.ComplexAvroKeyGenerator", True),
        ("org.apache.hudi.keygen.NonpartitionedKeyGenerator", True),
        ("org.apache.hudi.keygen.TimestampBasedKeyGenerator", True),
    ],
)
def test_generators_of_hudi(generator: str, named: bool) -> None:
    spelling = key_spelling(properties(hoodie__table__keygenerator__type=generator))
    assert spelling == StoredSpelling(("a",), named)


@pytest.mark.parametrize(
    "given",
    [
        {"hoodie__table__keygenerator__class": "com.acme.OurKeyGenerator"},
        {"hoodie__populate__meta__fields": "false"},
        {"hoodie__table__recordkey__fields": ""},
        {"hoodie__record__merge__mode": "CUSTOM"},
    ],
)
def test_tables_with_unsupported_keys(given: dict[str, str]) -> None:
    assert key_spelling(properties(**given)) is None


VIRTUAL = {"hoodie.populate.meta.fields": "false", "hoodie.table.version": "9"}


def completed_virtually(text: str, *fields: str, **settings: str) -> str:
    raw = {**VIRTUAL, "hoodie.table.recordkey.fields": ",".join(fields)}
    raw.update({f"hoodie.recordkey.virtual.{name}": value for name, value in settings.items()})
    spelling = extension_spelling(TableProperties.parse(raw, "t"), None)
    assert spelling is not None
    bound = bind(parse_predicate(text), Scope(SCHEMA, here("UTC")))
    return render(with_record_keys(bound, spelling))


@pytest.mark.parametrize(
    ("text", "field", "implied"),
    [
        ("n = -5", "n", "= '-5'"),
        ("a IN ('y', 'x')", "a", "IN ('x', 'y')"),
        ("b = true", "b", "= 'true'"),
        ("d = DATE '2024-01-02'", "d", "= '2024-01-02'"),
        ("m = 1.5", "m", "= '1.50'"),
        ("t = TIMESTAMP '1970-01-01 00:00:01.5'", "t", "= '1500000'"),
        ("y = X'00ff'", "y", "= '00ff'"),
    ],
)
def test_virtual_keys_are_formatted_by_the_tables_generator(
    text: str, field: str, implied: str
) -> None:
    assert completed_virtually(text, field).endswith(f" AND _hoodie_record_key {implied}")


def test_virtual_keys_of_several_columns() -> None:
    assert completed_virtually("n = 5 AND a = ''", "a", "n").endswith("= 'a:__empty__,n:5'")
    joined = completed_virtually("n IN (5, 6) AND a = 'x'", "a", "n", concatenator="_")
    assert joined.endswith("IN ('x_5', 'x_6')")


@pytest.mark.parametrize(("text", "field"), [("f = 0.0", "f"), ("a = ''", "a"), ("n > 5", "n")])
def test_predicates_that_imply_no_virtual_key(text: str, field: str) -> None:
    assert "_hoodie_record_key" not in completed_virtually(text, field)


def test_a_predicate_on_the_virtual_column_itself_implies_no_key() -> None:
    text = "_hoodie_record_key = 'x' AND (n = 1 OR NOT (_hoodie_record_key IS NULL))"
    bound = bind(parse_predicate(text), Scope(SCHEMA, here("UTC")))
    masked = render(without_columns(bound, {"_hoodie_record_key"}, Unknown("hidden")))
    assert "_hoodie_record_key =" not in masked
    assert "IS NULL" not in masked
    assert "n = 1" in masked


@settings(
    max_examples=examples(300),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(cases())
def test_rows_that_match_in_any_engine_have_one_of_the_implied_keys(case: Case) -> None:
    """Any column may be the key. Each row is a file, of whose columns only the key is known."""
    schema = case.schema.append(pa.field("_hoodie_record_key", pa.string()))
    bound = bind(case.predicate, Scope(schema, here(case.table.zone)))
    for field in case.schema:
        generator = HudiKeys((field.name,), are_named=False)
        rows = [row for rows in case.files for row in rows]
        try:
            found = [row for row in rows if row[field.name] not in (None, "")]
            keys = generator.keys([stored(found, field)]).to_pylist()
        except (HudiError, KeyError):
            continue  # not a type of keys, or a struct
        keyed = [{**row, "_hoodie_record_key": k} for row, k in zip(found, keys, strict=True)]
        implied = with_record_keys(bound, VirtualSpelling((field.name,), generator))
        known = RowStatistics([[row] for row in keyed], absent=frozenset(case.table.types))
        answer = as_array(may_be(implied, True, [StatisticsEvidence(known)]), len(keyed))
        for possible, row in zip(answer, keyed, strict=True):
            for engine in () if possible else ENGINES:
                truth = truths(case.predicate, row, case.table, engine)
                assert True not in truth, (engine.name, row, implied)
