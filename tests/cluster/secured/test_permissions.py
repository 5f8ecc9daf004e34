"""Bob gets from a pruned query what HDFS lets him read, and no more than without pruning."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from devtools.cluster.hive import FETCH, MASTER, MR, SERVER
from pyhudi_expr.manage.hive.session import QueryError
from tests.cluster.secured.users_hive import CLOSED_DAY, UsersHive
from tests.cluster.test_queries import AGGREGATES, ROWS

pytestmark = pytest.mark.cluster

ENDS = "SELECT min(amount), max(amount), count(*) FROM {}"
NO_MATCH = "SELECT id FROM {} WHERE amount > 99999999"
BY_FILES: Mapping[str, str] = {"hive.compute.query.using.stats": "false"}


@pytest.mark.parametrize(
    ("query", "place"),
    [
        (ROWS.format("events"), FETCH),
        (ROWS.format("returns"), FETCH),
        (NO_MATCH.format("events"), FETCH),
        (NO_MATCH.format("events"), MASTER),
        (ENDS.format("events"), FETCH),
        (ENDS.format("events"), MASTER),
        (AGGREGATES["events"], MASTER),
        (AGGREGATES["events"], SERVER),
        (AGGREGATES["events"], MR),
    ],
)
def test_a_closed_table_is_refused_as_without_pruning(
    hive: UsersHive, bobs_hive: UsersHive, query: str, place: str
) -> None:
    hive.ask(query, FETCH)  # HiveServer2 and the service know the table, and the answer.
    assert bobs_hive.refusal(query, place) == bobs_hive.refusal(query, place, pruning=False)


def test_a_closed_table_is_not_explained(hive: UsersHive, bobs_hive: UsersHive) -> None:
    hive.ask(ROWS.format("events"), FETCH)
    session = bobs_hive.at(FETCH)
    session.run("SET hive.explain.user=false")
    session.run("SET hudi.pruning.enabled=true")
    try:
        shown = str(session.run(f"EXPLAIN {ROWS.format('events')}"))
    except QueryError as error:
        shown = str(error)
    assert "of 40 files" not in shown
    assert ".parquet" not in shown


@pytest.mark.parametrize("place", [FETCH, MASTER, MR])
def test_rows_of_a_closed_day_are_refused(
    hive: UsersHive, bobs_hive: UsersHive, place: str
) -> None:
    query = "SELECT id, amount FROM days WHERE id > 19990"
    assert hive.ask(query, FETCH).rows
    refused = bobs_hive.refusal(query, place)
    assert refused == bobs_hive.refusal(query, place, pruning=False)
    assert refused.endswith(f"/warehouse/days/{CLOSED_DAY}")


@pytest.mark.parametrize("place", [FETCH, MASTER, MR])
def test_rows_of_an_open_day_are_bobs(hive: UsersHive, bobs_hive: UsersHive, place: str) -> None:
    query = "SELECT id, city FROM days WHERE id < 700 AND day = '2024-01-01'"
    answer = bobs_hive.ask(query, place)
    assert answer.scan.outcomes == ("PRUNED",)
    assert answer.rows == hive.ask(query, FETCH, pruning=False).rows


def test_ends_of_a_closed_day_are_hives_to_give(hive: UsersHive, bobs_hive: UsersHive) -> None:
    """As statistics of Hive's own tables; its setting decides."""
    found = bobs_hive.ask(ENDS.format("days"), FETCH)
    assert found.scan.outcomes == ("ANSWERED",)
    assert found.rows == hive.ask(ENDS.format("days"), FETCH, pruning=False).rows
    refused = bobs_hive.refusal(ENDS.format("days"), FETCH, settings=BY_FILES)
    assert refused.endswith(f"/warehouse/days/{CLOSED_DAY}")
