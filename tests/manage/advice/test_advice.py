"""The index advisor: estimates compared with measurements over the rows themselves.

The tolerances are the errors that the documentation states.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.cli.main import main
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression
from pyhudi_expr.manage.advice.estimates import Candidate, CostModel, build_seconds
from pyhudi_expr.manage.advice.query_history import read_queries
from pyhudi_expr.manage.advice.ranking import advise
from pyhudi_expr.manage.advice.table_sample import (
    TableSample,
    distinct_values,
    location_bytes,
    secondary_bytes,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.manage.layout.tables import split, written

FILES, ROWS, VALUES = 40, 40_000, 5_000


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(10)
    return pa.table(
        {
            "scattered": rng.integers(0, VALUES, ROWS),
            "sorted": np.arange(ROWS),
            "few": rng.integers(0, 10, ROWS),
        }
    )


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    return written(tmp_path_factory.mktemp("advice") / "table", {"a": split(rows, FILES)})


def predicates(*conditions):
    return read_queries(";\n".join(conditions)).queries


def files_with(rows, column, searched):
    """The number of files that hold one of the values: those that an exact index keeps."""
    values = rows.column(column).to_numpy().reshape(FILES, -1)
    return int(np.isin(values, list(searched)).any(axis=1).sum())


def recommendation_of(advice, kind):
    return next(each for each in advice.recommendations if each.candidate.kind == kind)


@pytest.mark.parametrize("values", [1, 5])
def test_the_files_of_a_secondary_index_are_estimated_within_a_tenth(table, rows, values):
    rng = np.random.default_rng(values)
    drawn = [rng.choice(VALUES, values, replace=False).tolist() for _ in range(60)]
    measured = np.mean([files_with(rows, "scattered", searched) for searched in drawn])
    texts = [f"scattered IN ({', '.join(map(str, searched))})" for searched in drawn]
    advice = advise(table, predicates(*texts))
    assert [each.candidate.kind for each in advice.recommendations] == ["secondary_index"]
    assert advice.today.files == FILES
    assert advice.planned.files == pytest.approx(measured, rel=0.1)
    assert recommendation_of(advice, "secondary_index").files == pytest.approx(
        FILES - measured, rel=0.1
    )


def test_the_files_of_column_stats_are_exact(table, rows):
    ranges = [(0, 999), (5_500, 5_600), (39_000, 50_000), (-5, -1)]
    texts = [f"sorted BETWEEN {low} AND {high}" for low, high in ranges]
    measured = np.mean(
        [
            files_with(rows, "sorted", range(max(low, 0), high + 1)) if high >= 0 else 0
            for low, high in ranges
        ]
    )
    advice = advise(table, predicates(*texts))
    assert [each.candidate.kind for each in advice.recommendations] == ["column_stats"]
    assert advice.planned.files == measured


def test_indexes_are_ranked_by_the_bytes_that_each_saves_in_addition(table):
    texts = ["sorted < 2000", "sorted < 3000", "sorted < 1000 AND scattered = 7", "scattered = 9"]
    advice = advise(table, predicates(*texts))
    saved = [each.bytes for each in advice.recommendations]
    assert [each.candidate.kind for each in advice.recommendations] == [
        "column_stats",
        "secondary_index",
    ]
    assert saved == sorted(saved, reverse=True)
    assert sum(saved) == pytest.approx(advice.today.bytes - advice.planned.bytes)


def test_an_index_that_helps_no_query_is_not_recommended(table):
    assert advise(table, predicates("few = 3", "few > 2")).recommendations == ()
    assert advise(table, predicates("scattered = 1 OR few = 2")).recommendations == ()


@pytest.mark.parametrize(
    ("kind", "columns", "condition"),
    [
        ("secondary_index", ("scattered",), "scattered = 7"),
        ("record_index", (), "sorted = 7"),
    ],
)
def test_a_registered_index_is_not_recommended_again(rows, tmp_path, kind, columns, condition):
    """It prunes nothing here, because a writer has deleted it: it needs a refresh."""
    # In random order, bounds keep every file.
    shuffled = rows.take(np.random.default_rng(3).permutation(ROWS))
    path = written(tmp_path / "table", {"a": split(shuffled, FILES)})
    properties = tmp_path / "table" / ".hoodie" / "hoodie.properties"
    properties.write_text(f"{properties.read_text()}\nhoodie.table.recordkey.fields=sorted\n")
    assert recommendation_of(advise(path, predicates(condition)), kind).candidate == Candidate(
        kind, columns
    )
    registered = RegisteredIndex("gone", kind, columns, {}, Store.HUDI, ("gone",), created="")
    Registry().with_index(registered).write(HudiTable.open(path).storage)
    found = advise(path, predicates(condition)).recommendations
    assert kind not in {each.candidate.kind for each in found}


def test_an_index_that_costs_more_than_the_files_is_not_recommended(rows, tmp_path):
    """Queries would not use it, by the same rule (`pyhudi_expr.index.planner`)."""
    narrow = written(tmp_path / "narrow", {"a": split(rows.select(["scattered"]), FILES)})
    found = advise(narrow, predicates("scattered = 2500"))
    assert "secondary_index" not in {each.candidate.kind for each in found.recommendations}
    (rejected,) = (one for one in found.passed_over if one.candidate.kind == "secondary_index")
    assert (rejected.files, rejected.bytes) == pytest.approx((0, 0), abs=1e-6)
    assert rejected.costs.storage > 0
    assert rejected.statement.endswith("--using secondary_index --columns scattered")
    # With a text of forty characters in each row, the same index is worth reading.
    padded = rows.select(["scattered"]).append_column(
        "text", pa.array([np.random.default_rng(n).bytes(20).hex() for n in range(ROWS)])
    )
    wide = written(tmp_path / "wide", {"a": split(padded, FILES)})
    assert recommendation_of(advise(wide, predicates("scattered = 2500")), "secondary_index")


def test_storage_grows_at_the_given_rate(table):
    queries = predicates("scattered = 7", "sorted < 10")
    once, thrice = advise(table, queries), advise(table, queries, growth=3)
    for small, large in zip(once.recommendations, thrice.recommendations, strict=True):
        assert large.costs.storage == pytest.approx(3 * small.costs.storage, rel=0.01)
        assert large.bytes == small.bytes


def test_the_first_secondary_index_includes_the_cost_of_the_record_index(table):
    """The first index is built with it; the second one finds it."""
    opened = HudiTable.open(table)
    looked = TableSample.at(opened, opened.listing())
    sample = looked.sample(["scattered"])
    sizes = CostModel(looked, sample, 1.0, filters={}, rows_of_value={})
    candidate = Candidate("secondary_index", ("scattered",))
    first, next_ = sizes.costs(candidate, set()), sizes.costs(candidate, {"secondary_index"})
    keys = sizes.costs(Candidate("record_index", ()), set())
    assert first.bytes_of_row == next_.bytes_of_row + keys.bytes_of_row
    assert first.storage == pytest.approx(next_.storage + keys.storage, abs=1)
    assert first.build_seconds > next_.build_seconds


def test_a_first_look_up_reads_a_block_for_the_value_and_each_of_its_rows(table):
    opened = HudiTable.open(table)
    looked = TableSample.at(opened, opened.listing())
    sample = looked.sample(["scattered"])
    rows_of_value = {Expression(IDENTITY, "scattered"): 3.0}
    sizes = CostModel(looked, sample, 1e6, {}, rows_of_value)
    keys = sizes.costs(Candidate("record_index", ()), set())
    values = sizes.costs(Candidate("secondary_index", ("scattered",)), set())
    assert values.first_bytes == 4 * keys.first_bytes < keys.storage
    small = replace(sizes, growth=0.1).costs(Candidate("record_index", ()), set())
    assert small.first_bytes == pytest.approx(small.storage, abs=1)


_FIGURES = {
    each["name"]: each["value"]
    for each in json.loads((Path(__file__).parents[3] / "bench" / "results.json").read_text())
}
_KEYS, _VALUES = Candidate("record_index", ()), Candidate("secondary_index", ("user_id",))


def test_build_seconds_equal_the_benchmarks_within_a_third():
    """2,000 files, 2 million rows, on two cores."""
    stats = [Candidate("column_stats", tuple(columns)) for columns in ("a", "abcdef")]
    candidates = {
        "query-path: column_stats, build": stats[0],
        "index-builds: column_stats of 6 columns: here": stats[1],
        "query-path: record_index, build": _KEYS,
        "index-builds: record_index of 2,000,000 rows: here": _KEYS,
        "index-builds: secondary index of 2,000,000 rows: here": _VALUES,
    }
    seconds_of = {name: build_seconds(each, 2_000, 2_000_000) for name, each in candidates.items()}
    assert {name: _FIGURES[name] for name in seconds_of} == pytest.approx(seconds_of, rel=1 / 3)


@pytest.mark.parametrize("sample", [1_000, 10_000, 40_000])
def test_the_error_of_distinct_values_is_at_most_the_root_of_the_sample(rows, sample):
    rng = np.random.default_rng(sample)
    for name in ("scattered", "sorted", "few"):
        chosen = rows.column(name).take(pa.array(rng.choice(ROWS, sample, replace=False)))
        found = distinct_values(chosen, ROWS)
        true = len(np.unique(rows.column(name).to_numpy()))
        factor = max(found / true, true / found)
        assert factor <= (ROWS / sample) ** 0.5 * 1.05


def consecutive(rng):
    return [f"user-{number:08d}" for number in range(50_000)]


def random_texts(rng):
    return [rng.bytes(8).hex() for _ in range(50_000)]


# Neighbouring keys compress each other, and a sample has fewer neighbours.
@pytest.mark.parametrize(
    ("keys", "most"), [(consecutive, 1.6), (random_texts, 1.2)], ids=["consecutive", "random"]
)
def test_storage_of_keys_is_not_underestimated_by_a_tenth(keys, most):
    rng = np.random.default_rng(1)
    every = keys(rng)
    groups = [("", f"group-{number // 1000}") for number in range(len(every))]
    values = [f"city-{number % 977}" for number in range(len(every))]
    some = np.sort(rng.choice(len(every), len(every) // 10, replace=False)).tolist()
    picked, picked_groups, valued = ([each[i] for i in some] for each in (every, groups, values))
    for estimated, true in (
        (location_bytes(picked, picked_groups, 1), location_bytes(every, groups, 1)),
        (secondary_bytes(valued, picked, 1), secondary_bytes(values, every, 1)),
    ):
        assert 0.95 * true <= estimated <= most * true


SQL = """
SELECT id FROM lake.trips t WHERE t.fare > 100 AND city = 'Oslo';
fare < 5;
SELECT * FROM (SELECT id FROM trips WHERE city IN ('a', 'b')) x;
SELECT * FROM trips JOIN riders ON trips.rider = riders.id WHERE fare > 7;
SELECT * FROM riders WHERE id = 7;
SELECT count(*) FROM trips
"""


def test_conditions_of_one_table_are_read_from_queries():
    found = read_queries(SQL, table="trips")
    assert [each.text for each in found.queries] == [
        "fare > 100 AND city = 'Oslo'",
        "fare < 5",
        "city IN ('a', 'b')",
    ]


def test_invalid_sql_is_reported():
    with pytest.raises(HudiError, match="cannot be read"):
        read_queries("SELECT FROM WHERE (((")
    assert read_queries("DROP TABLE x").notes


def test_the_command_prints_a_plan(table, tmp_path, capsys):
    file = tmp_path / "queries.sql"
    file.write_text("sorted < 100; sorted > 39000; scattered = 2500")
    assert main(["advise", table, "--queries", str(file)]) == 0
    output = capsys.readouterr().out
    assert f"pyhudi index create {table} ranges --using column_stats" in output
    # In the table, and in the statement.
    assert output.count("secondary_index") == 2
    _, besides = output.split("considered, but not recommended:")
    assert "bloom_filters" in besides
    assert main(["advise", table, "--queries", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [each["candidate"]["kind"] for each in report["recommendations"]] == [
        "column_stats",
        "secondary_index",
    ]
    assert [each["candidate"]["kind"] for each in report["passed_over"]] == ["bloom_filters"]
    file.write_text("")
    assert main(["advise", table, "--queries", str(file)]) == 1
    assert "there is no query" in capsys.readouterr().err
