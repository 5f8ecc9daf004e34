"""Callers that ask at once share looks at the table, and none gets a state from before it asked."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.tables import synthetic
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.known_tables import TableState
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.service.running_server import PATIENCE, running_server

CALLERS, COMMITS, FILES = 8, 40, 200
PREDICATE = parse_predicate(f"spread = {FILES}")


def test_no_answer_is_older_than_its_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    synthetic.write_table(path, files=FILES, partitions=4)
    committed, ended = [str(HudiTable.open(str(path)).instant)], threading.Event()
    answers: list[str] = []
    looks: list[int] = []
    really_look = TableSnapshot.state_now

    def look(snapshot: TableSnapshot) -> TableState:
        looks.append(1)
        return really_look(snapshot)

    monkeypatch.setattr(TableSnapshot, "state_now", look)

    def ask(port: int) -> None:
        with PruningClient(port=port, timeout=PATIENCE) as client:
            while not ended.is_set():
                newest = committed[-1]
                answer = client.prune(str(path), PREDICATE)
                if answer.status == PruneStatus.OK:  # else a commit was being written
                    assert answer.instant >= newest
                    answers.append(answer.instant)

    handler = PruningHandler(Pruner(), ServiceSettings())
    with running_server(handler) as server, ThreadPoolExecutor(CALLERS) as pool:
        asking = [pool.submit(ask, server.port) for _ in range(CALLERS)]
        try:
            for number in range(COMMITS):
                synthetic.add_commit(path, files=FILES, number=number)
                committed.append(str(HudiTable.open(str(path)).instant))
                enough, end = len(answers) + CALLERS, time.monotonic() + PATIENCE
                while len(answers) < enough and not any(one.done() for one in asking):
                    assert time.monotonic() < end
                    time.sleep(0.001)
        finally:
            ended.set()
        for one in asking:
            one.result(PATIENCE)
    assert len(set(answers)) > 2
    assert len(looks) < len(answers)
