"""Bloom filters that the advisor recommends: built by what it prints, asked, and kept up to date by
Hudi's writer. The errors that the documentation states are the bars here."""

import numpy as np
import pytest

from devtools.tables import TableSpec, create
from tests.advice.measured_savings import measured

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
    later = rows(spark, _ROWS, _WRITTEN_FILES * _ROWS // _FILES, _WRITTEN_FILES)
    return measured(spark, _SPEC, path, texts, _KINDS, later)


def test_what_queries_read_is_right_within_a_tenth(advised):
    today, planned = advised.advice.today, advised.advice.planned
    assert (today.files, today.bytes) == advised.before
    assert (planned.files, planned.bytes) == pytest.approx(advised.after, rel=0.1)


@pytest.mark.parametrize("columns", [_KEYS, _VALUES], ids=["keys", "values"])
def test_storage_is_right_within_a_tenth_but_for_the_files_frame(advised, columns):
    size = advised.built[columns].real - _FRAME
    assert advised.costs(columns).storage == pytest.approx(size, rel=0.1)


@pytest.mark.parametrize("columns", [_KEYS, _VALUES], ids=["keys", "values"])
def test_a_build_takes_a_quarter_to_six_times_of_the_seconds_that_were_said(advised, columns):
    """Other work on the machine makes it slower."""
    estimated, taken = advised.costs(columns).build_seconds, advised.seconds[columns]
    assert estimated / 4 < taken < 6 * estimated


@pytest.mark.parametrize("columns", [_KEYS, _VALUES], ids=["keys", "values"])
def test_a_commit_adds_what_was_said_for_each_file(advised, columns):
    grown = advised.then[columns] - advised.built[columns]
    each = (grown.real + grown.imag - _COMMIT_FRAME) / _WRITTEN_FILES
    assert each == pytest.approx(advised.costs(columns).bytes_of_file, rel=0.1)
