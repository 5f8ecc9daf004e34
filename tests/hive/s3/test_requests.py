"""Queries over S3: their rows with and without pruning, and how many requests Hive sends."""

import shutil

import pytest

from devtools.ddl import create_with_handler
from devtools.events import events_spec, write_events
from devtools.s3.hadoop import upload
from devtools.tables import TableType
from tests.hive.query_results import FETCH, MR, TEZ
from tests.hive.s3.hive_on_s3 import BUCKET, FILES, ROWS_PER_FILE

pytestmark = [pytest.mark.hive, pytest.mark.s3, pytest.mark.spark, pytest.mark.slow]

# The table's state takes three requests, of which two are sent at once, and the file one.
ONE_FILE, WAVES = 4, 3
# The bar of issue 24, where Hudi lists the table.
LISTED_BY_HUDI = 16
ID = 7 * ROWS_PER_FILE + 11


@pytest.mark.parametrize(
    ("engine", "query", "kept"),
    [
        (FETCH, f"SELECT id, ts, city, amount FROM s3_events WHERE id = {ID}", 1),
        (FETCH, "SELECT id, amount FROM s3_returns WHERE amount >= 1000000", None),
        (MR, "SELECT city, count(*), sum(amount) FROM s3_events WHERE id < 500 GROUP BY city", 3),
        (TEZ, f"SELECT count(*), max(score) FROM s3_events WHERE id < {ROWS_PER_FILE}", 1),
        (FETCH, "SELECT id, device FROM s3_events WHERE day = '2024-01-02'", FILES // 5),
    ],
)
def test_rows_are_the_same_with_and_without_pruning(hive_on_s3, engine, query, kept):
    answer = hive_on_s3.hive.query_both_ways(query, engine)
    assert answer.rows
    if kept is not None:
        assert answer.files == (FILES, kept)


def test_one_file_takes_few_requests(hive_on_s3):
    query = f"SELECT id, ts, city, amount FROM s3_events WHERE id = {ID}"
    # The size and the statistics of a table are requested once for each of its states.
    hive_on_s3.hive.query(query)
    answer, recording = hive_on_s3.requests(query)
    assert answer.files == (FILES, 1)
    assert answer.scan.listings == ("BY_SERVICE",)
    assert len(recording.requests) <= ONE_FILE, recording.summary()


def test_requests_that_need_no_other_are_sent_at_once(hive_on_s3):
    query = f"SELECT id, ts, city, amount FROM s3_events WHERE id = {ID}"
    hive_on_s3.hive.query(query)
    hive_on_s3.proxy.delay = 0.1
    try:
        _, recording = hive_on_s3.requests(query)
    finally:
        hive_on_s3.proxy.delay = 0
    assert recording.waves <= WAVES, recording.summary()


def test_the_first_query_of_a_state_takes_no_more(hive_on_s3, table_root, tmp_path):
    """The planner has the table's size from the service, too."""
    table = tmp_path / "s3_fresh"
    shutil.copytree(table_root / "s3_events", table)
    hive_on_s3.hive.run(create_with_handler(table.name, upload(table, BUCKET)))
    answer, recording = hive_on_s3.requests(f"SELECT id, amount FROM s3_fresh WHERE id = {ID}")
    assert answer.files == (FILES, 1)
    assert len(recording.requests) <= ONE_FILE, recording.summary()


def test_of_a_large_file_only_what_is_needed_is_requested(hive_on_s3, spark, tmp_path):
    """One column's bytes, and the footer: not the rest of the file, as for a sequential read."""
    spec = events_spec("s3_large", TableType.COW)
    table = write_events(spark, tmp_path, spec, files=1, rows_per_file=30_000, days=1)
    (file,) = table.path.glob("*/*.parquet")
    hive_on_s3.hive.run(create_with_handler(table.name, upload(table.path, BUCKET)))
    answer, recording = hive_on_s3.requests("SELECT city, count(*) FROM s3_large GROUP BY city", MR)
    assert [count for _, count in answer.rows] == [30_000]
    ranges = [
        tuple(map(int, request.range.removeprefix("bytes=").split("-")))
        for request in recording.requests
        if file.name in request.path
    ]
    assert len(ranges) > 1, recording.summary()
    assert sum(end - start + 1 for start, end in ranges) < file.stat().st_size / 3


def test_the_services_list_spares_requests(hive_on_s3):
    query = f"SELECT id, ts, city, amount FROM s3_events WHERE id = {ID}"
    by_hudi = {"hudi.pruning.listing": "false"}
    for settings in ({}, by_hudi):
        hive_on_s3.hive.query(query, settings=settings)
    ours, few = hive_on_s3.requests(query)
    hudis, more = hive_on_s3.requests(query, settings=by_hudi)
    assert ours.rows == hudis.rows
    assert ours.rows
    assert ours.files == hudis.files == (FILES, 1)
    assert hudis.scan.listings == ("BY_HUDI",)
    assert len(few.requests) + 7 <= len(more.requests) <= LISTED_BY_HUDI, more.summary()


def test_a_data_file_takes_one_request_if_it_is_small(hive_on_s3):
    query = f"SELECT id, ts, city, amount FROM s3_events WHERE id = {ID}"
    _, recording = hive_on_s3.requests(query)
    of_data = [request for request in recording.requests if ".parquet" in request.path]
    assert [request.kind for request in of_data] == ["GET"], recording.summary()


@pytest.mark.smoke
def test_a_new_query_sees_a_new_commit(hive_on_s3):
    """Each query opens the table anew: its timeline is listed again."""
    query = "SELECT id FROM s3_events WHERE id = 5"
    for _ in range(2):
        _, recording = hive_on_s3.requests(query)
        assert any(request.kind == "LIST" for request in recording.requests), recording.summary()
