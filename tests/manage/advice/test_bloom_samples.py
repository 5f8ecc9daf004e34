"""Bloom filters as candidates of the advisor, compared with filters of all rows."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.cli.commands.index import create
from pyhudi_expr.cli.spark_session import key_values
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression
from pyhudi_expr.manage.advice.candidates import create_statement
from pyhudi_expr.manage.advice.estimates import Candidate, filter_seconds
from pyhudi_expr.manage.advice.query_history import read_queries
from pyhudi_expr.manage.advice.ranking import advise
from pyhudi_expr.manage.advice.table_sample import (
    FilterSample,
    TableSample,
    column_filters,
    key_filters,
)
from pyhudi_expr.manage.indexing.index_plan import plan_index
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.records.bloom_filter import (
    FOOTER_CONTENT,
    FOOTER_KIND,
    SIMPLE,
    FilterBuilder,
    HashedKeys,
    parse,
)
from tests.manage.layout.tables import split, written

FILES, ROWS, VALUES = 20, 20_000, 5_000
_FIGURES = {
    each["name"]: each["value"]
    for each in json.loads((Path(__file__).parents[3] / "bench" / "results.json").read_text())
}


def rows():
    rng = np.random.default_rng(4)
    return pa.table(
        {
            "id": pa.array([rng.bytes(12).hex() for _ in range(ROWS)]),
            "city": pa.array([f"city {n}" for n in rng.integers(0, VALUES, ROWS)]),
            "text": pa.array([rng.bytes(40).hex() for _ in range(ROWS)]),
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("filters") / "table"
    base_path = written(path, {"a": split(rows(), FILES)})
    properties = path / ".hoodie" / "hoodie.properties"
    properties.write_text(f"{properties.read_text()}\nhoodie.table.recordkey.fields=id\n")
    return base_path


def identity_of(column):
    return Expression(IDENTITY, column)


def sample_of(base_path):
    table = HudiTable.open(base_path)
    return TableSample.at(table, table.listing())


def register_secondary_index(table, column):
    """The table with a registered index of values, so that filters are the next best."""
    found = RegisteredIndex("v", "secondary_index", (column,), {}, Store.HUDI, ("v",), created="")
    Registry().with_index(found).write(HudiTable.open(table).storage)


def test_files_kept_by_filters_are_estimated_within_a_tenth(table):
    register_secondary_index(table, "city")
    drawn = np.random.default_rng(1).choice(VALUES, 60, replace=False).tolist()
    cities = rows().column("city").to_pylist()
    of_file = [set(cities[at : at + ROWS // FILES]) for at in range(0, ROWS, ROWS // FILES)]
    measured = np.mean([sum(f"city {n}" in held for held in of_file) for n in drawn])
    queries = read_queries(";".join(f"city = 'city {n}'" for n in drawn))
    advice = advise(table, queries.queries)
    (found,) = advice.recommendations
    assert found.candidate == Candidate("bloom_filters", ("city",))
    assert advice.planned.files == pytest.approx(measured, rel=0.1)
    # The columns are nullable, for which Hudi's writers fail.
    assert found.statement.endswith("--using bloom_filters --columns city --store extension")


def test_existing_filters_are_not_recommended_again(tmp_path):
    path = written(tmp_path / "table", {"a": split(rows(), FILES)})
    queries = read_queries("city = 'city 7'").queries
    register_secondary_index(path, "city")
    assert [one.candidate.kind for one in advise(path, queries).recommendations] == [
        "bloom_filters"
    ]
    storage = HudiTable.open(path).storage
    options = {"expr": "identity", "type": "bloom_filters"}
    existing = RegisteredIndex(
        "f", "expression", ("city",), options, Store.HUDI, ("f",), created=""
    )
    Registry.read(storage).with_index(existing).write(storage)
    assert advise(path, queries).recommendations == ()


@pytest.mark.parametrize("crowded", [1, 6], ids=["sized for its keys", "sized for a sixth of them"])
def test_false_positives_are_estimated_from_how_full_a_filter_is(tmp_path, crowded):
    """Hudi's filters have a fixed size, for a configured number of keys."""
    keys = [f"key-{number}" for number in range(3_000)]
    builder = FilterBuilder(len(keys) // crowded)
    builder.add(ByteStrings.of([key.encode() for key in keys]))
    footer = {FOOTER_KIND: SIMPLE.encode(), FOOTER_CONTENT: builder.text()}
    base_path = written(tmp_path / "table", {"a": [pa.table({"id": keys})]})
    (file,) = Path(base_path).glob("a/*.parquet")
    pq.write_table(pa.table({"id": keys}).replace_schema_metadata(footer), file)
    found = key_filters(sample_of(base_path), identity_of("id"))
    others = [ByteStrings.of([f"other-{number}".encode()]) for number in range(1_500)]
    bloom = parse(SIMPLE, builder.text())
    measured = np.mean([bloom.may_hold_any(HashedKeys(one)) for one in others])
    assert not found.are_built
    assert found.text_bytes == found.footer_bytes == len(builder.text())
    assert found.false_positives == pytest.approx(measured, rel=0.1, abs=1e-3)
    assert (found.false_positives > 0.5) == (crowded > 1)


def test_filters_are_as_large_as_the_values_of_a_file_need(table):
    """A value takes 43.1 bits for a false positive rate of 10^-9; they do not compress."""
    cities, keys = (make(sample_of(table), name) for make, name in _BUILT_FILTERS)
    values = rows().column("city").to_pylist()
    size = ROWS // FILES
    different = np.mean([len(set(values[at : at + size])) for at in range(0, ROWS, size)])
    assert cities.file_bytes == pytest.approx(different * 43.13 / 8, rel=0.1)
    assert keys.file_bytes == pytest.approx(size * 43.13 / 8, rel=0.1)


_BUILT_FILTERS = [(column_filters, identity_of("city")), (key_filters, identity_of("id"))]


def test_filters_do_not_exclude_log_files():
    sample = FilterSample(1.0, 1.0, 1.0, false_positives=0.0, unfiltered=0.0, are_built=True)
    assert sample.kept(3, 20, 1) == 3
    assert replace(sample, unfiltered=0.5).kept(3, 20, 1) == 11.5
    assert replace(sample, false_positives=0.1).kept(0, 10, 2) == pytest.approx(1.9)


@pytest.mark.parametrize(
    "candidate",
    [
        Candidate("column_stats", ("city", "text")),
        Candidate("record_index", ()),
        Candidate("secondary_index", ("city",)),
        Candidate("bloom_filters", ()),
        Candidate("bloom_filters", ("city",)),
    ],
    ids=str,
)
def test_the_printed_command_builds_the_candidate(table, candidate):
    printed = create_statement(HudiTable.open(table), candidate)
    program, group, command, *words = shlex.split(printed.statement)
    assert (program, group, command) == ("pyhudi", "index", "create")
    given = create.make_context(command, words).params
    options = {**key_values(given["extra"]), "store": given["store"]}
    request = CreateIndex(given["name"], given["table"], given["kind"], given["columns"], options)
    planned = plan_index(HudiTable.open(given["table"]), request)
    assert planned.columns == candidate.columns
    assert planned.store is printed.store
    assert planned.kind in (candidate.kind, "expression")


def test_a_filter_that_no_store_supports_is_no_candidate(table):
    assert (
        create_statement(HudiTable.open(table), Candidate("bloom_filters", ("id", "city"))) is None
    )


def test_build_seconds_of_filters_equal_the_benchmark_within_a_third():
    """2,000 files with Hudi's filters for 60,000 keys, the default of its writers."""
    text = 60_000 * 43.13 / 8 * 4 / 3
    filters = FilterSample(42_400, text, text, false_positives=0.0, unfiltered=0.0, are_built=False)
    found = filter_seconds(filters, 2_000, 2_000_000)
    assert _FIGURES["query-path: bloom_filters, build"] == pytest.approx(found, rel=1 / 3)
