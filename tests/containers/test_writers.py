"""Queries while a table changes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.containers.cluster import REPLICAS, Cluster
from tests.containers.conftest import TRIPS
from tests.containers.test_faults import temporarily

pytestmark = [pytest.mark.containers, pytest.mark.timeout(300, func_only=True)]


def test_a_writer_commits_while_queries_run_and_no_cache_can_be_written(
    containers: Cluster,
) -> None:
    counted = f"SELECT count(*) FROM trips WHERE id >= {TRIPS - 50}"
    both = [containers.container(name) for name in REPLICAS]
    with (
        temporarily(
            lambda: [one.exec_run(["sh", "-c", "cat /dev/zero >/tmp/full"]) for one in both],
            lambda: [one.exec_run(["rm", "/tmp/full"]) for one in both],
        ),
        ThreadPoolExecutor(1) as pool,
    ):
        writing = pool.submit(containers.write_trips, TRIPS, TRIPS + 300)
        seen = set()
        while not writing.done():
            (row,) = containers.ask(counted).rows
            seen.add(row[0])
        writing.result()
        assert seen <= {50, 350}
        answer = containers.ask(counted)
    assert answer.rows == [(350,)]
    assert (answer.outcome, answer.files) == ("PRUNED", (23, 4))
