"""Queries that read a table in two states: each scan has the rows of its own state.

They are compared with those that two queries find, of one state each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from devtools.tables import TableType
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.history_tables import Histories, History
from tests.hive.query_results import MR, TEZ, Hive, Rows
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

SHUFFLE = {"hive.auto.convert.join": "false"}
WITHOUT_CBO = {"hive.cbo.fallback.strategy": "CONSERVATIVE"}
"""Hive 4.0's default: what the cost-based optimizer cannot plan is planned without it."""


@pytest.fixture(scope="module")
def cow(histories: Histories) -> History:
    """A table without log files, and its commits."""
    return histories.get(TableType.COW, 8)


def as_of(history: History, name: str) -> str:
    """The table as of one of its commits, in FROM."""
    return f"{history.name} FOR SYSTEM_VERSION AS OF {history.instants[name]}"


Values = dict[int, int]


def values_of(hive: Hive, source: str) -> Values:
    """`v` by `id` of a table, or of one state of it, read alone."""
    return {row[0]: row[1] for row in hive.query(f"SELECT id, v FROM {source}").rows}


def totals(values: Values) -> tuple[int, int]:
    return len(values), sum(values.values())


def by_parity(values: Values) -> Counter[int]:
    return Counter(key % 2 for key in values)


NEEDS_CBO = frozenset({"except", "intersect", "in", "not in", "scalars", "greater", "both"})
TWO_STATES: dict[str, tuple[str, Callable[[Values, Values], Rows]]] = {
    "union all": (
        "SELECT count(*), sum(v) FROM {now} UNION ALL SELECT count(*), sum(v) FROM {then}",
        lambda now, then: [totals(now), totals(then)],
    ),
    "union": (
        "SELECT id, v FROM {then} UNION SELECT id, v FROM {now}",
        lambda now, then: [*{*now.items(), *then.items()}],
    ),
    "filtered alike": (
        "SELECT id, v FROM {now} WHERE id < 40 UNION ALL SELECT id, v FROM {then} WHERE id < 40",
        lambda now, then: [row for row in (*now.items(), *then.items()) if row[0] < 40],
    ),
    "difference": (
        "SELECT a.n - b.n FROM (SELECT sum(v) n FROM {now}) a, (SELECT sum(v) n FROM {then}) b",
        lambda now, then: [(totals(now)[1] - totals(then)[1],)],
    ),
    "groups": (
        "SELECT a.k, a.n - b.n FROM (SELECT id % 2 k, count(*) n FROM {now} GROUP BY id % 2) a"
        " JOIN (SELECT id % 2 k, count(*) n FROM {then} GROUP BY id % 2) b ON a.k = b.k",
        lambda now, then: [(k, by_parity(now)[k] - by_parity(then)[k]) for k in (0, 1)],
    ),
    "with": (
        "WITH n AS (SELECT id, v FROM {now}), p AS (SELECT id FROM {then})"
        " SELECT n.id, n.v FROM n LEFT JOIN p ON n.id = p.id WHERE p.id IS NULL",
        lambda now, then: [row for row in now.items() if row[0] not in then],
    ),
    "except": (
        "SELECT id, v FROM {now} EXCEPT SELECT id, v FROM {then}",
        lambda now, then: [*(now.items() - then.items())],
    ),
    "intersect": (
        "SELECT id, v FROM {then} INTERSECT SELECT id, v FROM {now}",
        lambda now, then: [*(now.items() & then.items())],
    ),
    "in": (
        "SELECT id, v FROM {then} WHERE id IN (SELECT id FROM {now})",
        lambda now, then: [row for row in then.items() if row[0] in now],
    ),
    "not in": (
        "SELECT id, v FROM {now} WHERE id NOT IN (SELECT id FROM {then})",
        lambda now, then: [row for row in now.items() if row[0] not in then],
    ),
    "scalars": (
        "SELECT (SELECT sum(v) FROM {now}) - (SELECT sum(v) FROM {then})",
        lambda now, then: [(totals(now)[1] - totals(then)[1],)],
    ),
    "greater": (
        "SELECT id, v FROM {now} WHERE id > (SELECT max(id) FROM {then})",
        lambda now, then: [row for row in now.items() if row[0] > max(then)],
    ),
    "both": (
        "SELECT count(*) FROM {now} WHERE id NOT IN (SELECT id FROM {then})"
        " UNION ALL SELECT count(*) FROM {then}",
        lambda now, then: [(len(now.keys() - then.keys()),), (len(then),)],
    ),
}
OWN_ALIASES = "Give each its own alias"
ONE_JOB = "one MapReduce job cannot read several states"


def in_two_states(history: History, shape: str, aliases: bool) -> str:
    """A query of the newest state and an earlier one; `aliases`: each under its own."""
    now, then = history.name, as_of(history, "updated")
    if aliases:
        now, then = f"{now} a_now", f"{then} a_then"
    return TWO_STATES[shape][0].format(now=now, then=then)


def expected_of(hive: Hive, history: History, shape: str) -> Rows:
    """What a query has to find, from the two states read one by one."""
    now, then = values_of(hive, history.name), values_of(hive, as_of(history, "updated"))
    assert now != then
    return sorted(TWO_STATES[shape][1](now, then), key=repr)


@pytest.mark.smoke("in-{}")
@pytest.mark.parametrize("settings", [{}, long(SHUFFLE)], ids=str)
@pytest.mark.parametrize("shape", TWO_STATES)
def test_scans_with_an_alias_each_are_of_their_own_states(
    hive: Hive, cow: History, shape: str, settings: dict[str, str]
) -> None:
    answer = hive.query_both_ways(in_two_states(cow, shape, aliases=True), TEZ, settings)
    assert answer.rows == expected_of(hive, cow, shape)


@pytest.mark.smoke("in-{}")
@pytest.mark.parametrize("settings", [{}, long(SHUFFLE)], ids=str)
@pytest.mark.parametrize("shape", TWO_STATES)
def test_scans_under_one_alias_are_of_their_own_states_or_refused(
    hive: Hive, cow: History, shape: str, settings: dict[str, str]
) -> None:
    """Hive's cost-based optimizer would take both for one scan."""
    settings = {**WITHOUT_CBO, **settings}
    query = in_two_states(cow, shape, aliases=False)
    if shape in NEEDS_CBO:
        with pytest.raises(QueryError, match=OWN_ALIASES):
            hive.query(query, TEZ, settings=settings)
    else:
        answer = hive.query_both_ways(query, TEZ, settings)
        assert answer.rows == expected_of(hive, cow, shape)


def rows_or_refusal(hive: Hive, query: str) -> Rows | str:
    """What MapReduce answers, or the message of its error."""
    try:
        return hive.query(query, MR).rows
    except QueryError as error:
        return str(error)


@pytest.mark.parametrize(
    "shape", ["union all", *map(long, sorted(TWO_STATES.keys() - {"union all"}))]
)
def test_mapreduce_reads_two_states_in_two_jobs_or_refuses(
    hive: Hive, cow: History, shape: str
) -> None:
    for aliases in (True, False):
        found = rows_or_refusal(hive, in_two_states(cow, shape, aliases))
        if isinstance(found, str):
            assert OWN_ALIASES in found or ONE_JOB in found
        else:
            assert found == expected_of(hive, cow, shape)


@pytest.mark.smoke("with-{'hive.optimize")
@pytest.mark.parametrize(
    "settings",
    [
        {"hive.cbo.enable": "false"},
        {"hive.optimize.cte.materialize.threshold": "1"},
        {"hive.compute.query.using.stats": "false", "hive.optimize.filter.stats.reduction": "true"},
    ],
    ids=str,
)
@pytest.mark.parametrize("shape", ["difference", "filtered alike", "with"])
def test_hives_settings_do_not_mix_states(
    hive: Hive, cow: History, shape: str, settings: dict[str, str]
) -> None:
    query = in_two_states(cow, shape, aliases=False)
    settings = {**WITHOUT_CBO, **settings}
    assert hive.query(query, TEZ, settings=settings).rows == expected_of(hive, cow, shape)


def test_without_the_other_planner_scans_under_one_alias_are_refused(
    hive: Hive, cow: History
) -> None:
    for never in (
        {"hive.cbo.fallback.strategy": "NEVER"},
        {"hive.query.reexecution.enabled": "false"},
    ):
        with pytest.raises(QueryError, match=OWN_ALIASES):
            hive.query(in_two_states(cow, "union all", aliases=False), TEZ, settings=never)
        answer = hive.query(in_two_states(cow, "union all", aliases=True), TEZ, settings=never)
        assert answer.rows == expected_of(hive, cow, "union all")


def test_scans_of_one_state_may_share_an_alias(hive: Hive, cow: History) -> None:
    then = as_of(cow, "updated")
    query = f"SELECT id FROM {then} EXCEPT SELECT id FROM {then} WHERE id < 40"
    expected = [(key,) for key in values_of(hive, then) if key >= 40]
    assert hive.query(query, TEZ).rows == sorted(expected, key=repr)


def test_a_view_of_an_earlier_state_keeps_it(hive: Hive, cow: History) -> None:
    hive.run(f"CREATE VIEW states_past AS SELECT id, v FROM {as_of(cow, 'updated')}")
    query = f"SELECT count(*), sum(v) FROM {cow.name} UNION ALL SELECT count(*), sum(v) FROM {{}}"
    answer = hive.query(query.format("states_past"), TEZ, settings=WITHOUT_CBO)
    assert answer.rows == expected_of(hive, cow, "union all")
    with pytest.raises(QueryError, match=OWN_ALIASES):
        hive.query(f"SELECT id FROM {cow.name} EXCEPT SELECT id FROM states_past", TEZ)


def test_explain_names_the_states_of_both_scans(hive: Hive, cow: History) -> None:
    for aliases in (True, False):
        query = f"EXPLAIN {in_two_states(cow, 'union all', aliases)}"
        shown = {"hive.explain.user": "false", "hive.compute.query.using.stats": "false"}
        settings = {**WITHOUT_CBO, **shown}
        plan = "\n".join(row[0] for row in hive.query(query, TEZ, settings=settings).rows)
        assert plan.count("hudi.pruning") == 2
        assert plan.count(f"as of {cow.instants['updated']}") == 1
