"""Indexes of functions' results that the advisor recommends: built by what it prints, asked, and
kept up to date by Hudi's writer. The errors that the documentation states are the bars here."""

import numpy as np
import pytest

from devtools.tables import TableSpec, create
from tests.advice.measured_savings import measured

pytestmark = [pytest.mark.spark, pytest.mark.long]

_FILES, _ROWS, _WRITTEN_FILES = 16, 32_000, 32
_FRAME = 5_000
"""Bytes of an index's file beside its entries: a trailer, the file's info, the schema."""
_COMMIT_FRAME = 15_600
"""The same of the log file that a commit adds."""
_NAMES, _NOTES, _MAILS = ("name",), ("note",), ("mail",)
_KINDS = ("expression",)
_SPEC = TableSpec("called", ordering="number", stats_columns=None)


def rows(spark, first, count, files):
    """Names in order but for their case, notes by length, mails spread over the files."""
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
    """A table with the indexes that were advised for its queries, and a commit after that."""
    made = create(rows(spark, 0, _ROWS, _FILES), _SPEC, tmp_path_factory.mktemp("built"))
    path = str(made.path)
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


def test_what_queries_read_is_right_within_a_tenth(advised):
    today, planned = advised.advice.today, advised.advice.planned
    assert (today.files, today.bytes) == advised.before
    assert (planned.files, planned.bytes) == pytest.approx(advised.after, rel=0.1)


@pytest.mark.parametrize("columns", [_NAMES, _NOTES, _MAILS], ids=lambda names: names[0])
def test_storage_is_right_within_a_tenth_but_for_the_files_frame(advised, columns):
    size = advised.built[columns].real - _FRAME
    assert advised.costs(columns).storage == pytest.approx(size, rel=0.1, abs=_FRAME)


@pytest.mark.parametrize("columns", [_NAMES, _NOTES, _MAILS], ids=lambda names: names[0])
def test_a_build_takes_a_quarter_to_six_times_of_the_seconds_that_were_said(advised, columns):
    """Other work on the machine makes it slower."""
    estimated, taken = advised.costs(columns).build_seconds, advised.seconds[columns]
    assert estimated / 4 < taken < 6 * estimated


@pytest.mark.parametrize("columns", [_NAMES, _NOTES], ids=lambda names: names[0])
def test_a_commit_adds_what_was_said_for_each_file(advised, columns):
    grown = advised.then[columns] - advised.built[columns]
    each = (grown.real + grown.imag - _COMMIT_FRAME) / _WRITTEN_FILES
    assert each == pytest.approx(advised.costs(columns).bytes_of_file, rel=1 / 3)


def test_a_commit_keeps_indexes_of_ranges_right(advised):
    """Those of filters are beside Hudi's metadata table, as mails may be null."""
    ranges = [one for one in advised.verified if "ranges" in one.partition]
    assert len(ranges) == 2
    for one in ranges:
        assert one.is_right, one
