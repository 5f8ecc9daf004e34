"""The doctor on a cluster: it looks from where splits are made, which EXPLAIN does not."""

from __future__ import annotations

import json

import pytest

from devtools.cluster import tables
from devtools.cluster.hadoop import Cluster
from devtools.cluster.service import ClusterService
from devtools.hiveserver import HiveServer
from pyhudi_expr.cli.main import main
from tests.cluster.cluster_hive import ClusterHive

pytestmark = pytest.mark.cluster

Findings = dict[str, tuple[str, str]]


class Doctor:
    """`pyhudi hive doctor` for the table `events`."""

    def __init__(
        self, cluster: Cluster, server: HiveServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._where = (str(tables.EVENTS), "--location", f"{cluster.root}/warehouse/events")
        self._how = ("--hs2", f"127.0.0.1:{server.port}", "--auth", "NOSASL", "--json")
        self._capsys = capsys

    def examine(self, *options: str) -> Findings:
        """The verdict and the message of each link."""
        self._capsys.readouterr()
        main(["hive", "doctor", *self._where, *self._how, "--name", "events", *options])
        found = json.loads(self._capsys.readouterr().out)["findings"]
        return {one["link"]: (one["verdict"], one["message"]) for one in found}


@pytest.fixture
def doctor(
    hive: ClusterHive, cluster: Cluster, server: HiveServer, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    hive.close_sessions()  # Their masters take the cluster's room.
    return Doctor(cluster, server, capsys)


def test_splits_in_a_container_are_found_pruned(doctor: Doctor) -> None:
    found = doctor.examine("--engine", "tez")
    verdict, message = found["splits, by tez"]
    assert verdict == "ok", found
    assert message.startswith("PRUNED, reads 1 of 40 files")
    verdict, message = found["service, from a container"]
    assert verdict == "ok", found
    assert message.startswith("container_")


def test_what_only_a_container_lacks_is_found(doctor: Doctor, service: ClusterService) -> None:
    loopback = f"hudi.pruning.service.addresses=127.0.0.1:{service.port}"
    found = doctor.examine("--engine", "tez", "--set", loopback)
    assert found["service, from HiveServer2"][0] == found["probe"][0] == "ok"
    # Of many splits only the first one brings what came of the scan.
    assert found["splits, by tez"][0] != "ok"
    verdict, message = found["service, from a container"]
    assert verdict == "failed"
    assert "is this container's own host" in message


def test_splits_of_mapreduce_are_found_pruned(doctor: Doctor) -> None:
    found = doctor.examine("--engine", "mr")
    verdict, message = found["splits, by mr"]
    assert verdict == "ok", found
    assert message.startswith("PRUNED, reads 1 of 40 files")
