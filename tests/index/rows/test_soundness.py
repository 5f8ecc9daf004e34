"""No row outside of the ranges matches, whatever the rows, the predicate, and how they were stored.

Each row is evaluated as every engine does.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import Comparison, Literal, Op
from tests.example_counts import examples
from tests.expr.oracle import truths
from tests.expr.oracle_engines import ENGINES
from tests.expr.strategies import FIELDS, Case, Field, cases
from tests.index.rows.ranges_of_files import evaluated, reader_of, rows_of
from tests.index.test_soundness import table_of

SETTINGS = settings(
    max_examples=examples(400),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def writers(draw: st.DrawFn) -> Mapping[str, Any]:
    """How a file is stored: pages of a few rows, row groups of a few pages."""
    return {
        "row_group_size": draw(st.sampled_from([1, 3, 5, 1000])),
        "max_rows_per_page": draw(st.sampled_from([1, 2, 3, 1000])),
        # Of columns of other widths, other pages.
        "data_page_size": draw(st.sampled_from([1, 8, 16, 32])),
        "write_batch_size": 1,
        "write_page_index": draw(st.sampled_from([True, True, True, False])),
        "use_dictionary": draw(st.booleans()),
        # The writer gives up a dictionary of so many bytes within a chunk.
        "dictionary_pagesize_limit": draw(st.sampled_from([1, 8, 16, 1 << 20])),
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
        "compression": draw(st.sampled_from(["NONE", "SNAPPY", "ZSTD", "GZIP", "LZ4"])),
        "store_decimal_as_integer": draw(st.booleans()),
    }


def with_filters(options: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """The options with a Bloom filter for each column that may have one."""
    names = [field.name for field in schema if not pa.types.is_struct(field.type)]
    filters = {
        name: {"ndv": 16, "fpp": 0.01}
        for name in names
        if not pa.types.is_boolean(schema.field(name).type)
    }
    return {**options, "bloom_filter_options": filters}


@pytest.mark.parametrize("text", ["d > 5", "d <> 1", "NOT (d <= 5)", "d >= 2"])
def test_pages_of_a_writer_that_ignores_nan_are_not_believed(tmp_path: Path, text: str) -> None:
    """NaN is above all numbers, or differs from them, for some engines."""
    path = tmp_path / "f.parquet"
    rows = pa.table({"d": [1.0, math.nan, 2.0, 2.0, 1.0, 1.0]})
    pq.write_table(rows, path, max_rows_per_page=2, write_batch_size=1, write_page_index=True)
    [found] = evaluated([path], parse_predicate(text), rows.schema).files
    assert 1 in rows_of(found)


def test_pages_of_two_columns_with_other_boundaries(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    numbers = [number // 3 for number in range(60)]
    rows = pa.table({"n": numbers, "s": [f"{n // 5:03d}" * (1 + n % 4) for n in range(60)]})
    pq.write_table(
        *(rows, path),
        data_page_size=32,
        write_batch_size=1,
        use_dictionary=False,
        row_group_size=25,
        write_page_index=True,
    )
    reader = reader_of(tmp_path)
    texts = rows["s"].to_pylist()
    skipped = 0
    for n in range(21):
        for s in set(texts):
            for connective in ("AND", "OR"):
                predicate = parse_predicate(f"n = {n} {connective} s = '{s}'")
                [found] = evaluated([path], predicate, rows.schema, None, reader).files
                hits = [(a == n, b == s) for a, b in zip(numbers, texts, strict=True)]
                of_both = all if connective == "AND" else any
                matching = {row for row, both in enumerate(hits) if of_both(both)}
                assert matching <= rows_of(found), (n, s, connective)
                skipped += 60 - len(rows_of(found))
    bounds = reader.files([(path.name, path.stat().st_size)])[0]
    assert bounds is not None
    starts = {tuple(pages.first_row.tolist()) for pages in bounds.pages.values() if pages}
    assert len(starts) > 2
    assert skipped


def test_a_dictionary_of_some_pages_only_proves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    rows = pa.table({"s": ["a", "z"] * 50 + [f"m{n:03d}" for n in range(100)]})
    pq.write_table(
        *(rows, path), dictionary_pagesize_limit=40, write_batch_size=10, data_page_size=64
    )
    encodings = pq.read_metadata(path).row_group(0).column(0).encodings
    assert {"PLAIN", "RLE_DICTIONARY"} <= set(encodings)
    for row, value in enumerate(rows["s"].to_pylist()):
        [found] = evaluated([path], parse_predicate(f"s = '{value}'"), rows.schema).files
        assert row in rows_of(found)


@pytest.mark.parametrize("decimals_as_integers", [True, False])
@pytest.mark.parametrize("use_dictionary", [True, False])
@pytest.mark.parametrize(
    "field", [field for field in FIELDS if "." not in field.name], ids=lambda field: field.name
)
def test_a_value_is_found_where_it_is_stored(
    tmp_path: Path, field: Field, use_dictionary: bool, decimals_as_integers: bool
) -> None:
    """By dictionaries, or by Bloom filters."""
    path = tmp_path / "f.parquet"
    schema = pa.schema([(field.name, field.type)])
    values = list(dict.fromkeys(field.pool)) * 2
    rows = [{field.name: value} for value in values]
    options = {"store_decimal_as_integer": decimals_as_integers, "use_dictionary": use_dictionary}
    if not use_dictionary:
        options = with_filters(options, schema)
    pq.write_table(table_of(schema, rows), path, **options)
    for row, value in enumerate(values):
        if value == value:  # not NaN
            predicate = Comparison(Op.EQ, field.column, Literal(value, field.type))
            [found] = evaluated([path], predicate, schema, "UTC").files
            assert row in rows_of(found), value


def test_a_bloom_filter_of_many_blocks_holds_what_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    rows = pa.table({"n": range(0, 2000, 2)})
    filters = {"n": {"ndv": 1000, "fpp": 0.01}}
    pq.write_table(rows, path, use_dictionary=False, bloom_filter_options=filters)
    reader = reader_of(tmp_path)
    predicates = [parse_predicate(f"n = {n}") for n in range(600)]
    sizes = [
        len(rows_of(evaluated([path], one, rows.schema, None, reader).files[0]))
        for one in predicates
    ]
    assert sizes[::2] == [1000] * 300
    assert sizes[1::2].count(0) > 280


@SETTINGS
@given(cases(), writers(), st.booleans())
def test_no_engine_finds_a_row_outside_of_the_ranges(
    case: Case, options: Mapping[str, Any], has_filters: bool
) -> None:
    if has_filters:
        options = with_filters(options, case.schema)
    rows = [row for file in case.files for row in file]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "f.parquet")
        pq.write_table(table_of(case.schema, rows), path, version="2.6", **options)
        [found] = evaluated([path], case.predicate, case.schema, case.table.zone).files
        possible = rows_of(found)
    for number, row in enumerate(rows):
        for engine in () if number in possible else ENGINES:
            found_truths = truths(case.predicate, row, case.table, engine)
            assert True not in found_truths, (engine.name, number, row)
