"""Several services share the tables: each table has its own order of them, as in Python."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.service import ServiceProcess
from pyhudi_expr.protocol.client import services_for
from pyhudi_expr.protocol.generated import PruningService, ttypes
from tests.hive.query_results import Hive
from tests.service.running_server import RunningServer, running_server

pytestmark = pytest.mark.hive

TABLES = 6
SERVICES = 3


class _Recorder(PruningService.Iface):
    """Passes questions on to a service, and keeps the base paths of those with a predicate."""

    def __init__(self, service: ServiceProcess) -> None:
        self._service = service
        self.asked: list[str] = []

    def prune(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        if request.filter[-1].kind != ttypes.NodeKind.CONSTANT:
            self.asked.append(request.basePath)
        with self._service.client(20) as client:
            return client.send(request)


@pytest.mark.smoke
def test_each_table_is_asked_of_its_own_service_and_of_its_next_one_if_that_fails(
    hive: Hive, pruning_service: ServiceProcess, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    recorders = [_Recorder(pruning_service) for _ in range(SERVICES)]
    with ExitStack() as running:
        servers: list[RunningServer] = [
            running.enter_context(running_server(recorder)) for recorder in recorders
        ]
        addresses = [f"127.0.0.1:{server.port}" for server in servers]
        settings = {
            "hudi.pruning.service.addresses": ",".join(addresses),
            "hudi.pruning.timeout.ms": "20000",
            "hudi.pruning.cache.ms": "0",
        }

        def asked(table: str, **more: str) -> str:
            """The address that answers a query, whose rows are those without pruning."""
            for recorder in recorders:
                recorder.asked.clear()
            own = {f"hudi.pruning.service.{name}": value for name, value in more.items()}
            query = f"SELECT txn_id FROM {table} WHERE region = 'us'"
            found = hive.query_both_ways(query, settings={**settings, **own})
            assert found.scan.outcomes == ("PRUNED",)
            assert found.scan.files_kept < found.scan.files_considered
            (address,) = (a for a, r in zip(addresses, recorders, strict=True) if r.asked)
            return address

        firsts = {}
        for number in range(TABLES):
            path = tmp_path / f"t{number}"
            shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
            name = f"of_services_{number}"
            hive.run(create_with_handler(name, path))
            firsts[name] = services_for(str(path), addresses)
            assert asked(name) == firsts[name][0]
            assert asked(name, order="listed") == addresses[0]

        name, (first, second, _) = next(iter(firsts.items()))
        stopped = servers[addresses.index(first)]
        stopped.stop()
        assert stopped.wait_until_stopped()
        assert asked(name) == second
        for name in firsts:
            hive.run(f"DROP TABLE {name}")
