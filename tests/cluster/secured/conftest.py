"""The same fixtures with Kerberos: everything takes tickets, and queries run as those who ask."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from devtools.cluster import tables
from devtools.cluster.hadoop import Cluster, running_cluster
from devtools.cluster.kerberos import ALICE, BOB, READERS, Members, running_members
from devtools.cluster.secured import KeytabService, secured_hive_server
from devtools.hdfs.realm import missing_programs
from devtools.hiveserver import HiveServer
from tests.cluster.secrets import settings_with_hidden_token
from tests.cluster.secured.users_hive import CLOSED_DAY, UsersHive


@pytest.fixture(scope="session")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    """A realm. Programs of this process show no ticket but within `members.user(NAME)`."""
    if missing_programs():
        pytest.skip(f"{missing_programs()} are missing: install krb5-kdc and krb5-admin-server")
    if importlib.util.find_spec("kerberos") is None:
        pytest.skip("Python's package kerberos is missing")
    with running_members(tmp_path_factory.mktemp("realm")) as running:
        yield running


@pytest.fixture(scope="session")
def cluster(members: Members, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with tables in `/warehouse`, which are alice's.

    `events` and `returns` may be read by her and by the service. `days` is a copy of `events` that
    everybody may read, but for one day.
    """
    tables.ensure_written(tmp_path_factory.mktemp("spark") / "tables.log")
    with running_cluster(tmp_path_factory.mktemp("cluster"), members.security()) as running:
        running.shell("-put", str(tables.EVENTS), str(tables.RETURNS), "/warehouse")
        running.shell("-cp", "/warehouse/events", "/warehouse/days")
        running.shell("-chown", "-R", f"{ALICE}:{READERS}", "/warehouse")
        closed = ("/warehouse/events", "/warehouse/returns", f"/warehouse/days/{CLOSED_DAY}")
        running.shell("-chmod", "750", *closed)
        yield running


@pytest.fixture(scope="session")
def service(
    members: Members, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KeytabService]:
    """A pruning service that reads HDFS with its keytab, by WebHDFS."""
    running = KeytabService(members, cluster, tmp_path_factory.mktemp("service"))
    with running:
        yield running


@pytest.fixture(scope="session")
def server(
    members: Members,
    cluster: Cluster,
    service: KeytabService,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[HiveServer]:
    """HiveServer2 on the cluster, with doAs. Its token is a file that only its process finds."""
    run_dir = tmp_path_factory.mktemp("hive")
    settings = settings_with_hidden_token(service, run_dir)
    running = secured_hive_server(cluster, members, run_dir, settings)
    with members.user(ALICE):
        running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def hive(
    members: Members,
    cluster: Cluster,
    server: HiveServer,
    service: KeytabService,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[UsersHive]:
    """Sessions of alice, who has registered the tables."""
    running = UsersHive(members, ALICE, server, service, tmp_path_factory.mktemp("scans"))
    with running:
        running.register_at(cluster)
        yield running


@pytest.fixture(scope="session")
def bobs_hive(
    members: Members,
    hive: UsersHive,
    server: HiveServer,
    service: KeytabService,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[UsersHive]:
    """Sessions of bob, who may not read her tables."""
    running = UsersHive(members, BOB, server, service, tmp_path_factory.mktemp("bobs"))
    with running:
        yield running
