"""Queries over S3: their rows with and without pruning, and how many requests Hive sends."""

import pytest

from tests.hive.query_results import FETCH, MR, TEZ
from tests.hive.s3.hive_on_s3 import FILES, ROWS_PER_FILE

pytestmark = [pytest.mark.hive, pytest.mark.s3, pytest.mark.spark, pytest.mark.slow]

# Of one file whose table's state, listing and rows are read: the bar of issue 24.
ONE_FILE = 16
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
    assert len(recording.requests) <= ONE_FILE, recording.summary()


def test_a_data_file_takes_one_request_if_it_is_small(hive_on_s3):
    query = f"SELECT id, ts, city, amount FROM s3_events WHERE id = {ID}"
    _, recording = hive_on_s3.requests(query)
    of_data = [request for request in recording.requests if ".parquet" in request.path]
    assert [request.kind for request in of_data] == ["GET"], recording.summary()


def test_a_new_query_sees_a_new_commit(hive_on_s3):
    """Each query opens the table anew: its timeline is listed again."""
    query = "SELECT id FROM s3_events WHERE id = 5"
    for _ in range(2):
        _, recording = hive_on_s3.requests(query)
        assert any(request.kind == "LIST" for request in recording.requests), recording.summary()
