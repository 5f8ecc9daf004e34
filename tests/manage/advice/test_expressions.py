"""Indexes of expressions as candidates of the advisor, compared with the rows themselves."""

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.cli.main import main
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.index.lookups.expression_index import Expression
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.manage.advice import estimates
from pyhudi_expr.manage.advice.candidates import create_statement
from pyhudi_expr.manage.advice.estimates import Candidate, CostModel
from pyhudi_expr.manage.advice.query_history import read_queries
from pyhudi_expr.manage.advice.ranking import advise
from pyhudi_expr.manage.advice.table_sample import (
    TableSample,
    column_filters,
    evaluate_function,
    indexable_calls,
    result_ranges,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.manage.layout.tables import split, written

FILES, ROWS = 20, 20_000


def rows():
    """Names that are sorted except for their case, so that ranges of the names exclude little."""
    rng = np.random.default_rng(5)
    is_upper = rng.random(ROWS) < 0.5
    names = [f"user-{number:06d}" for number in range(ROWS)]
    mails = [f"a{number}@b" for number in rng.integers(0, 4_000, ROWS)]
    return pa.table(
        {
            "name": [
                each.upper() if up else each for each, up in zip(names, is_upper, strict=True)
            ],
            "padded": [
                " " * (up + 1) + each + " " for each, up in zip(names, is_upper, strict=True)
            ],
            "mail": [
                each.upper() if up else each for each, up in zip(mails, is_upper, strict=True)
            ],
            "note": ["x" * (number // 100) for number in range(ROWS)],
            "filler": [rng.bytes(40).hex() for _ in range(ROWS)],
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return written(tmp_path_factory.mktemp("expressions") / "t", {"a": split(rows(), FILES)})


def predicates(*conditions):
    return read_queries(";\n".join(conditions)).queries


def recommended(advice):
    return [each.candidate for each in advice.recommendations]


def files_with(values, searched, files=FILES):
    """The number of files that hold one of the values."""
    found = np.array([searched(value) for value in values])
    return int(found.reshape(files, -1).any(axis=1).sum())


@pytest.mark.parametrize(
    ("condition", "function", "column", "value", "searched"),
    [
        ("ltrim(padded) > 'user-0180'", "ltrim", "padded", str.lstrip, "user-0180".__lt__),
        ("lower(name) = 'user-000123'", "lower", "name", str.lower, "user-000123".__eq__),
        ("ucase(name) < 'USER-0035'", "upper", "name", str.upper, "USER-0035".__gt__),
        ("trim(padded) > 'user-0180'", "trim", "padded", str.strip, "user-0180".__lt__),
        ("length(note) BETWEEN 20 AND 29", "length", "note", len, range(20, 30).__contains__),
        ("NOT length(note) >= 10", "length", "note", len, (10).__gt__),
        ("lower(name) LIKE 'user-0003%'", "lower", "name", str.lower, lambda v: v[5:9] == "0003"),
    ],
)
def test_files_kept_by_ranges_of_expressions_are_exact(
    table, condition, function, column, value, searched
):
    advice = advise(table, predicates(condition))
    (found,) = advice.recommendations
    assert found.candidate == Candidate("column_stats", (column,), function)
    files_left = files_with(map(value, rows().column(column).to_pylist()), searched)
    assert advice.planned.files == pytest.approx(files_left)
    assert found.files == pytest.approx(FILES - files_left)
    # Filters are read only for equality.
    filters = {each.candidate for each in advice.passed_over} - {
        Candidate("column_stats", (column,))
    }
    expected = {Candidate("bloom_filters", (column,), function)} if " = " in condition else set()
    assert filters == expected


@pytest.mark.parametrize(
    ("function", "of_python"),
    [
        ("lower", str.lower),
        ("upper", str.upper),
        ("trim", lambda value: value.strip(" ")),
        ("ltrim", lambda value: value.lstrip(" ")),
        ("rtrim", lambda value: value.rstrip(" ")),
        ("length", len),
    ],
)
def test_sampled_results_equal_those_of_the_function(function, of_python):
    texts = ["", " a B ", "\tü ", "ÄÖ", "  ", None]
    found = evaluate_function(Expression(function, "c"), pa.chunked_array([texts]))
    assert found.to_pylist() == [None if text is None else of_python(text) for text in texts]


def test_files_kept_by_filters_of_expressions_are_estimated_within_a_tenth(table):
    drawn = np.random.default_rng(1).choice(4_000, 60, replace=False).tolist()
    advice = advise(table, predicates(*(f"lower(mail) = 'a{number}@b'" for number in drawn)))
    assert recommended(advice) == [Candidate("bloom_filters", ("mail",), "lower")]
    mails = [mail.lower() for mail in rows().column("mail").to_pylist()]
    measured = np.mean([files_with(mails, f"a{number}@b".__eq__) for number in drawn])
    assert advice.planned.files == pytest.approx(measured, rel=0.1)


def test_a_disjunction_needs_ranges_of_both_expressions(table):
    both = "lower(name) < 'user-001' OR length(note) > 189"
    assert not recommended(advise(table, predicates(both)))
    advice = advise(table, predicates(both, "lower(name) < 'user-001'", "length(note) > 189"))
    assert set(recommended(advice)) == {
        Candidate("column_stats", ("name",), "lower"),
        Candidate("column_stats", ("note",), "length"),
    }
    assert advice.planned.files == pytest.approx((2 + 1 + 1) / 3)


def test_filters_are_read_only_for_files_that_ranges_keep(table, monkeypatch):
    """Queries do not read filters of more files than this
    (`index.lookups.bloom_filters.MOST_FILES`).
    """
    monkeypatch.setattr(estimates, "MOST_FILES", 10)
    ranged, filtered = (Candidate(*of, "lower") for of in _RANGED_AND_FILTERED)
    assert filtered not in recommended(advise(table, predicates("lower(mail) = 'a17@b'")))
    queries = predicates("lower(mail) = 'a17@b' AND lower(name) < 'user-010'")
    assert recommended(advise(table, queries)) == [ranged, filtered]


_RANGED_AND_FILTERED = [("column_stats", ("name",)), ("bloom_filters", ("mail",))]


def test_values_are_searched_only_in_files_that_ranges_keep(tmp_path):
    """A thousand rows in one file each, not spread over all files."""
    cities = pa.table(
        {
            "city": [f"{'cC'[number % 2]}ity {number // 1000}" for number in range(ROWS)],
            "filler": rows().column("filler"),
        }
    )
    path = written(tmp_path / "t", {"a": split(cities, FILES)})
    registered(path, ("city",), {"expr": "lower", "type": "column_stats"})
    advice = advise(path, predicates("lower(city) = 'city 7'"))
    assert recommended(advice) == [Candidate("bloom_filters", ("city",), "lower")]
    assert advice.planned.files == pytest.approx(1)
    opened = HudiTable.open(path)
    of_results, of_values = (
        column_filters(TableSample.at(opened, opened.listing()), Expression(function, "city"))
        for function in ("lower", "identity")
    )
    assert of_results.text_bytes < of_values.text_bytes


def registered(path, columns, options):
    """Registers an index as a user does. It prunes nothing, because a writer has deleted it."""
    index = RegisteredIndex("f", "expression", columns, options, Store.HUDI, ("f",), created="")
    Registry().with_index(index).write(HudiTable.open(path).storage)


def test_ranges_of_expressions_cover_base_files_and_require_reading_the_rows(tmp_path):
    path = written(tmp_path / "t", {"a": split(rows().select(["name"]), FILES)})
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("COPY_ON_WRITE", "MERGE_ON_READ"))
    (tmp_path / "t" / "a" / ".a-0001_20240101000000000.log.1_0-1-2").write_bytes(b"x")
    opened = HudiTable.open(path)
    looked = TableSample.at(opened, opened.listing())
    sizes = CostModel(looked, looked.sample([]), 1.0, filters={}, rows_of_value={})
    plain = sizes.costs(Candidate("column_stats", ("name",)), set())
    called = sizes.costs(Candidate("column_stats", ("name",), "lower"), set())
    assert plain.storage == pytest.approx(called.storage * (FILES + 1) / FILES, rel=1e-3)
    assert plain.bytes_of_file == called.bytes_of_file
    values = sizes.costs(Candidate("secondary_index", ("name",)), {"record_index"})
    assert called.build_seconds == values.build_seconds > plain.build_seconds


def test_expression_ranges_are_not_recommended_if_column_ranges_suffice(tmp_path):
    """If all names of a file are in one case, their own ranges are as good, and Hudi keeps those of
    all columns in one index.
    """
    names = [f"user-{number:06d}" for number in range(ROWS)]
    path = written(tmp_path / "t", {"a": split(pa.table({"name": names}), FILES)})
    advice = advise(path, predicates("upper(name) < 'USER-003'", "name < 'user-003'"))
    assert recommended(advice)[0] == Candidate("column_stats", ("name",))


@pytest.mark.parametrize("condition", ["substr(name, 2, 3) = 'ser'", "name = lower('user-1')"])
def test_functions_without_a_trusted_index_are_no_candidates(table, condition):
    advice = advise(table, predicates(condition))
    candidates = {*recommended(advice), *(each.candidate for each in advice.passed_over)}
    assert {each.function for each in candidates} <= {"identity"}


@pytest.mark.parametrize("type_", ["column_stats", "bloom_filters"])
def test_a_registered_index_is_not_recommended_again(tmp_path, type_):
    path = written(tmp_path / "t", {"a": split(rows(), FILES)})
    queries = predicates("lower(name) = 'user-000123'")
    candidate = Candidate(type_, ("name",), "lower")
    advice = advise(path, queries)
    assert candidate in {each.candidate for each in (*advice.recommendations, *advice.passed_over)}
    registered(path, ("name",), {"expr": "lower", "type": type_})
    advice = advise(path, queries)
    candidates = {each.candidate for each in (*advice.recommendations, *advice.passed_over)}
    assert candidates
    assert candidate not in candidates


def test_partition_columns_are_no_candidates(tmp_path):
    path = written(tmp_path / "t", {"a": [pa.table({"name": ["x"], "p": ["a"]})]})
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    properties.write_text(f"{properties.read_text()}\nhoodie.table.partition.fields=p\n")
    advice = advise(path, predicates("lower(p) = 'a' AND length(p) = 1"))
    assert (advice.recommendations, advice.passed_over) == ((), ())


@pytest.mark.parametrize(("version", "store"), [(6, Store.EXTENSION), (8, Store.HUDI)])
def test_an_index_that_hudi_would_refuse_is_recommended_for_the_extension(tmp_path, version, store):
    """Hudi has expression indexes from version 8 on."""
    path = written(tmp_path / "t", {"a": [pa.table({"name": ["x"]})]})
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    lines = [line for line in properties.read_text().splitlines() if "table.version" not in line]
    properties.write_text("\n".join([*lines, f"hoodie.table.version={version}", ""]))
    statement = create_statement(
        HudiTable.open(path), Candidate("column_stats", ("name",), "lower")
    )
    assert statement.store is store
    assert ("--store extension" in statement.statement) == (store is Store.EXTENSION)


def test_a_sample_of_many_files_represents_the_others(tmp_path):
    path = written(tmp_path / "t", {"a": split(rows().select(["name", "filler"]), 200)})
    lows = range(0, ROWS, 500)
    texts = [f"lower(name) BETWEEN 'user-{low:06d}' AND 'user-{low + 3999:06d}'" for low in lows]
    advice = advise(path, predicates(*texts))
    values = [name.lower() for name in rows().column("name").to_pylist()]
    measured = np.mean(
        [
            files_with(values, lambda v, low=low: low <= int(v[5:]) <= low + 3999, files=200)
            for low in lows
        ]
    )
    assert recommended(advice) == [Candidate("column_stats", ("name",), "lower")]
    assert advice.planned.files == pytest.approx(measured, rel=0.3)


def test_nulls_empty_files_and_files_without_the_column_have_ranges(tmp_path):
    names = pa.table({"name": pa.array(["B", None, "a"])})
    other = pa.table({"another": pa.array(["x"])})
    nothing = pa.table({"name": pa.array([], pa.string())})
    nulls = pa.table({"name": pa.array([None, None], pa.string())})
    path = written(tmp_path / "t", {"a": [names, other, nothing, nulls]})
    result = Pruner().prune(path, PruneRequest(predicates("lower(name) = 'b'")[0].predicate))
    ((expression, call),) = indexable_calls(result.predicate)
    opened = HudiTable.open(path)
    found = result_ranges(TableSample.at(opened, opened.listing()), expression, call)
    assert found.slices.tolist() == [0, 1, 2, 3]
    assert found.bounds.lower.to_pylist() == [b"a", None, None, None]
    assert found.bounds.upper.to_pylist() == [b"b", None, None, None]
    assert found.bounds.may_be_value.tolist() == [True, False, False, False]
    assert found.bounds.may_be_null.tolist() == [True, True, False, True]


def test_the_plan_names_the_functions(table, tmp_path, capsys):
    queries = tmp_path / "queries.sql"
    queries.write_text("lower(name) = 'user-000123'")
    assert main(["advise", table, "--queries", str(queries)]) == 0
    output = capsys.readouterr().out
    assert "lower(name)" in output
    assert f"index create {table} ranges_lower_name" in output
    assert "--using column_stats --columns name --option expr=lower" in output
