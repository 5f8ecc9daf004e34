"""Real clients of tables of which one is slow or cold, and work for which nobody waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.jobs import NoLongerWantedError, check_wanted, taking_turns
from pyhudi_expr.service.settings import ServiceSettings
from tests.service.running_server import PATIENCE, GatedHandler, running_server

PREDICATE = parse_predicate("region = 'us' AND amount > 100")
CALLERS = 40


class SlowTable(GatedHandler):
    """Answers about `/slow` when the gate opens, about others at once."""

    def prune(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        if request.basePath == "/slow":
            return super().prune(request)
        return ttypes.PruneResponse(
            protocolVersion=request.protocolVersion,
            requestId=request.requestId,
            basePath=request.basePath,
            status=PruneStatus.OK,
        )


def ask(port: int, table: str) -> ttypes.PruneResponse:
    with PruningClient(port=port, timeout=PATIENCE) as client:
        return client.prune(table, PREDICATE)


def test_requests_about_a_table_that_hangs_do_not_delay_other_tables() -> None:
    handler = SlowTable()
    limits = {"threads": 4, "max_waiting": 36}
    with running_server(handler, **limits) as server, ThreadPoolExecutor(CALLERS) as pool:
        hanging = [pool.submit(ask, server.port, "/slow") for _ in range(CALLERS)]
        while server.server.unanswered < CALLERS:
            time.sleep(0.01)
        for number in range(20):
            assert ask(server.port, f"/table{number % 3}").status == PruneStatus.OK
        assert not any(one.done() and one.result().status == PruneStatus.OK for one in hanging)
        handler.gate.set()
        statuses = [one.result(PATIENCE).status for one in hanging]
    # The newest made room for the other tables.
    assert statuses.count(PruneStatus.OK) >= CALLERS - 1


def test_a_storm_of_first_questions_about_a_table_reads_it_once(
    golden: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    really_open = TableSnapshot.open

    def counted(*arguments: object) -> TableSnapshot:
        opened.append(arguments)
        return really_open(*arguments)

    monkeypatch.setattr(TableSnapshot, "open", counted)
    together = threading.Barrier(CALLERS)

    def first_question(port: int) -> ttypes.PruneResponse:
        with PruningClient(port=port, timeout=PATIENCE) as client:
            client.info()
            together.wait(PATIENCE)
            return client.prune(str(golden["cow_v9_txns_simple_meta"]), PREDICATE)

    handler = PruningHandler(Pruner(), ServiceSettings())
    with running_server(handler) as server, ThreadPoolExecutor(CALLERS) as pool:
        answers = list(pool.map(first_question, [server.port] * CALLERS))
    assert {answer.status for answer in answers} == {PruneStatus.OK}
    assert len(opened) == 1


def test_work_for_which_nobody_waits_any_more_ends_at_its_next_step() -> None:
    ended = threading.Semaphore(0)

    class Stepwise(GatedHandler):
        def prune(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
            response = super().prune(request)
            try:
                check_wanted()
            except NoLongerWantedError:
                ended.release()
                raise
            return response

    handler = Stepwise()
    with running_server(handler, threads=1, request_seconds=0.2) as server:
        assert "more than 0.2 s" in ask(server.port, "/t").message
        handler.gate.set()
        assert ended.acquire(timeout=PATIENCE)
        while server.server.unanswered:
            time.sleep(0.01)
        assert ask(server.port, "/t").status == PruneStatus.OK


def test_a_turn_is_not_waited_for_if_nobody_waits_for_the_answer() -> None:
    turns, failures = threading.Semaphore(0), []

    class Waiting(GatedHandler):
        def prune(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
            self.entered.release()
            try:
                with taking_turns(turns):
                    return super().prune(request)
            except NoLongerWantedError as error:
                failures.append(error)
                raise

    handler = Waiting()
    with running_server(handler, request_seconds=0.2) as server:
        assert ask(server.port, "/t").status == PruneStatus.NOT_PRUNED
        end = time.monotonic() + PATIENCE
        while not failures:
            assert time.monotonic() < end
            time.sleep(0.01)
