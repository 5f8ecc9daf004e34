"""Bloom filters that the advisor recommends: built by the printed command, used, and updated by
Hudi's writer. The tolerances are the errors that the documentation states.
"""

import numpy as np
import pytest

from devtools.tables import TableSpec, create
from tests.manage.advice.measured_savings import measured

pytestmark = [pytest.mark.spark, pytest.mark.long]

_FILES, _ROWS, _WRITTEN_FILES = 16, 32_000, 4
_FRAME = 5_000
"""Overhead in bytes of an index's file: a trailer, the file's info, the schema."""
_COMMIT_FRAME = 6_500
"""The same for the log file that a commit adds."""
_KEYS, _VALUES = (), ("user",)
_KINDS = ("bloom_filters", "expression")
_EXTRA = {"hoodie.index.bloom.num_entries": "1000", "hoodie.bloom.index.filter.type": "SIMPLE"}
_SPEC = TableSpec("filtered", ordering="number", stats_columns=None, extra=_EXTRA)


def rows(spark, first, count, files):
    """Few rows for each user (a column without nulls), and many other columns."""
    return spark.sql(
        "SELECT concat('key-', id) AS id, id AS number, hash(id) & 16383 AS user,"
        f" concat(uuid(), uuid(), uuid()) AS text FROM range({first}, {first + count}, 1, {files})"
    )


@pytest.fixture(scope="module")
def advised(spark, tmp_path_factory):
    """A table with its recommended filters, and a later commit."""
    created = create(rows(spark, 0, _ROWS, _FILES), _SPEC, tmp_path_factory.mktemp("built"))
    path = str(created.path)
    distinct_users = rows(spark, 0, _ROWS, _FILES).select("user").distinct().collect()
    users = sorted(row.user for row in distinct_users)
    drawn = np.random.default_rng(1).choice(users, 40, replace=False).tolist()
    texts = [f"user = {value}" for value in drawn]
    texts += [f"id = 'key-{number}'" for number in range(0, _ROWS, 800)]
    later = rows(spark, _ROWS, _WRITTEN_FILES * _ROWS // _FILES, _WRITTEN_FILES)
    return measured(spark, _SPEC, path, texts, _KINDS, later)


def test_bytes_read_are_estimated_within_a_tenth(advised):
    today, planned = advised.advice.today, advised.advice.planned
    assert (today.files, today.bytes) == advised.before
    assert (planned.files, planned.bytes) == pytest.approx(advised.after, rel=0.1)


@pytest.mark.parametrize("columns", [_KEYS, _VALUES], ids=["keys", "values"])
def test_storage_is_estimated_within_a_tenth_except_file_overhead(advised, columns):
    size = advised.built[columns].real - _FRAME
    assert advised.costs(columns).storage == pytest.approx(size, rel=0.1)


@pytest.mark.parametrize("columns", [_KEYS, _VALUES], ids=["keys", "values"])
def test_build_seconds_are_between_a_quarter_and_six_times_the_estimate(advised, columns):
    """Other processes on the machine slow it down."""
    estimated, taken = advised.costs(columns).build_seconds, advised.seconds[columns]
    assert estimated / 4 < taken < 6 * estimated


@pytest.mark.parametrize("columns", [_KEYS, _VALUES], ids=["keys", "values"])
def test_bytes_added_for_each_file_of_a_commit_are_estimated(advised, columns):
    grown = advised.then[columns] - advised.built[columns]
    each = (grown.real + grown.imag - _COMMIT_FRAME) / _WRITTEN_FILES
    assert each == pytest.approx(advised.costs(columns).bytes_of_file, rel=0.1)
