"""Bloom filters that the advisor recommends: built by what it prints, asked, and kept up to date by
Hudi's writer. The errors that the documentation states are the bars here."""

from types import SimpleNamespace

import numpy as np
import pytest

from devtools.tables import TableSpec, create
from pyhudi_expr.advice.plan import advise
from pyhudi_expr.advice.queries import read_queries
from pyhudi_expr.spark import writer_options
from tests.advice.measured import asking, built, index_bytes, pace

pytestmark = [pytest.mark.spark, pytest.mark.long]

_FILES, _ROWS, _WRITTEN_FILES = 16, 32_000, 4
_FRAME = 5_000
"""Bytes of an index's file beside its entries: a trailer, the file's info, the schema."""
_COMMIT_FRAME = 6_500
"""The same of the log file that a commit adds."""
_KEYS, _VALUES = (), ("user",)
_KINDS = ("bloom_filters", "expression")
_EXTRA = {"hoodie.index.bloom.num_entries": "1000", "hoodie.bloom.index.filter.type": "SIMPLE"}
_SPEC = TableSpec("filtered", ordering="number", stats_columns=None, extra=_EXTRA)


def rows(spark, first, count, files):
    """Few rows of a user (a column without nulls), and much beside it."""
    return spark.sql(
        "SELECT concat('key-', id) AS id, id AS number, hash(id) & 16383 AS user,"
        f" concat(uuid(), uuid(), uuid()) AS text FROM range({first}, {first + count}, 1, {files})"
    )


@pytest.fixture(scope="module")
def advised(spark, tmp_path_factory):
    """A table with the filters that were advised for its queries, and a commit after that."""
    made = create(rows(spark, 0, _ROWS, _FILES), _SPEC, tmp_path_factory.mktemp("built"))
    path = str(made.path)
    there = rows(spark, 0, _ROWS, _FILES).select("user").distinct().collect()
    users = sorted(row.user for row in there)
    drawn = np.random.default_rng(1).choice(users, 40, replace=False).tolist()
    texts = [f"user = {value}" for value in drawn]
    texts += [f"id = 'key-{number}'" for number in range(0, _ROWS, 800)]
    asked = read_queries(";".join(texts)).asked
    advice, before = advise(path, asked), asking(path, asked)
    second = pace(spark, path, _FILES)
    seconds = {
        each.candidate.columns: built(spark, each.statement) / second
        for each in advice.recommendations
    }
    after, there = asking(path, asked), index_bytes(path, _KINDS)
    options = {**_SPEC.options(), **writer_options(path)}
    frame = rows(spark, _ROWS, _WRITTEN_FILES * _ROWS // _FILES, _WRITTEN_FILES)
    writer = frame.write.format("hudi").options(**options)
    writer.option("hoodie.datasource.write.operation", "bulk_insert").mode("append").save(path)
    return SimpleNamespace(
        advice=advice,
        before=before,
        after=after,
        seconds=seconds,
        built=there,
        then=index_bytes(path, _KINDS),
    )


def costs(advised, columns):
    (found,) = (one for one in advised.advice.recommendations if one.candidate.columns == columns)
    assert found.candidate.kind == "bloom_filters"
    return found.costs


def test_what_queries_read_is_right_within_a_tenth(advised):
    today, planned = advised.advice.today, advised.advice.planned
    assert (today.files, today.bytes) == tuple(advised.before)
    assert (planned.files, planned.bytes) == pytest.approx(tuple(advised.after), rel=0.1)


@pytest.mark.parametrize("columns", [_KEYS, _VALUES], ids=["keys", "values"])
def test_storage_is_right_within_a_tenth_but_for_the_files_frame(advised, columns):
    size = advised.built[columns].real - _FRAME
    assert costs(advised, columns).storage == pytest.approx(size, rel=0.1)


@pytest.mark.parametrize("columns", [_KEYS, _VALUES], ids=["keys", "values"])
def test_a_build_takes_a_quarter_to_six_times_of_the_seconds_that_were_said(advised, columns):
    """Other work on the machine makes it slower."""
    estimated, measured = costs(advised, columns).build_seconds, advised.seconds[columns]
    assert estimated / 4 < measured < 6 * estimated


@pytest.mark.parametrize("columns", [_KEYS, _VALUES], ids=["keys", "values"])
def test_a_commit_adds_what_was_said_for_each_file(advised, columns):
    grown = advised.then[columns] - advised.built[columns]
    each = (grown.real + grown.imag - _COMMIT_FRAME) / _WRITTEN_FILES
    assert each == pytest.approx(costs(advised, columns).bytes_of_file, rel=0.1)
