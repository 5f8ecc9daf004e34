"""Indexes of expressions that the advisor recommends: built by the printed command, used, and
updated by Hudi's writer. The tolerances are the errors that the documentation states.
"""

import numpy as np
import pytest

from devtools.tables import TableSpec, create
from tests.manage.advice.measured_savings import measured

pytestmark = [pytest.mark.spark, pytest.mark.long]

_FILES, _ROWS, _WRITTEN_FILES = 16, 32_000, 32
_FRAME = 5_000
"""Overhead in bytes of an index's file: a trailer, the file's info, the schema."""
_COMMIT_FRAME = 15_600
"""The same for the log file that a commit adds."""
_NAMES, _NOTES, _MAILS = ("name",), ("note",), ("mail",)
_KINDS = ("expression",)
_SPEC = TableSpec("called", ordering="number", stats_columns=None)


def rows(spark, first, count, files):
    """Names sorted except for their case, notes sorted by length, mails spread over the files."""
    case = "CASE WHEN hash(id) % 2 = 0 THEN upper({0}) ELSE {0} END"
    name = "concat('user-', lpad(id, 8, '0'))"
    mail = "concat('a', hash(id, 1) & 8191, '@b')"
    return spark.sql(
        f"SELECT concat('key-', id) AS id, id AS number, {case.format(name)} AS name,"
        f" {case.format(mail)} AS mail, repeat('x', cast(id / 100 AS int)) AS note,"
        " concat(uuid(), uuid(), uuid()) AS text"
        f" FROM range({first}, {first + count}, 1, {files})"
    )


@pytest.fixture(scope="module")
def advised(spark, tmp_path_factory):
    """A table with its recommended indexes, and a later commit."""
    created = create(rows(spark, 0, _ROWS, _FILES), _SPEC, tmp_path_factory.mktemp("built"))
    path = str(created.path)
    mails = [row.mail for row in rows(spark, 0, _ROWS, _FILES).select("mail").collect()]
    drawn = np.random.default_rng(1).choice(sorted(set(map(str.lower, mails))), 40, replace=False)
    texts = [f"lower(mail) = '{mail}'" for mail in drawn]
    texts += [f"upper(name) = 'USER-{number:08d}'" for number in range(0, _ROWS, 800)]
    texts += [f"length(note) BETWEEN {low} AND {low + 30}" for low in range(0, 320, 8)]
    later = rows(spark, _ROWS, _WRITTEN_FILES * _ROWS // _FILES, _WRITTEN_FILES)
    return measured(spark, _SPEC, path, texts, _KINDS, later)


def test_an_index_of_each_function_is_recommended(advised):
    found = {each.candidate.columns: each.candidate for each in advised.advice.recommendations}
    assert {name: (one.kind, one.function) for name, one in found.items()} == {
        _MAILS: ("bloom_filters", "lower"),
        _NAMES: ("column_stats", "upper"),
        _NOTES: ("column_stats", "length"),
    }


def test_bytes_read_are_estimated_within_a_tenth(advised):
    today, planned = advised.advice.today, advised.advice.planned
    assert (today.files, today.bytes) == advised.before
    assert (planned.files, planned.bytes) == pytest.approx(advised.after, rel=0.1)


@pytest.mark.parametrize("columns", [_NAMES, _NOTES, _MAILS], ids=lambda names: names[0])
def test_storage_is_estimated_within_a_tenth_except_file_overhead(advised, columns):
    size = advised.built[columns].real - _FRAME
    assert advised.costs(columns).storage == pytest.approx(size, rel=0.1, abs=_FRAME)


@pytest.mark.parametrize("columns", [_NAMES, _NOTES, _MAILS], ids=lambda names: names[0])
def test_build_seconds_are_between_a_quarter_and_six_times_the_estimate(advised, columns):
    """Other processes on the machine slow it down."""
    estimated, taken = advised.costs(columns).build_seconds, advised.seconds[columns]
    assert estimated / 4 < taken < 6 * estimated


@pytest.mark.parametrize("columns", [_NAMES, _NOTES], ids=lambda names: names[0])
def test_bytes_added_for_each_file_of_a_commit_are_estimated(advised, columns):
    grown = advised.then[columns] - advised.built[columns]
    each = (grown.real + grown.imag - _COMMIT_FRAME) / _WRITTEN_FILES
    assert each == pytest.approx(advised.costs(columns).bytes_of_file, rel=1 / 3)


def test_ranges_of_expressions_stay_right_after_a_commit(advised):
    """Filters are in the extension, because mails are nullable."""
    ranges = [one for one in advised.verified if "ranges" in one.partition]
    assert len(ranges) == 2
    for one in ranges:
        assert one.is_right, one
