"""Queries to HiveServer2 as a user of the realm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from devtools.cluster.hadoop import Cluster
from devtools.cluster.kerberos import Members
from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.session import QueryError
from tests.cluster.cluster_hive import ClusterHive
from tests.hive.query_results import NOTHING, QuerySession

CLOSED_DAY = "day=2024-01-04"
"""The partition of the table `days` that its owner alone may read."""


class UsersHive(ClusterHive):
    """Sessions of one user, in whose name only YARN runs tasks."""

    UNPRUNED = MappingProxyType({})

    def __init__(
        self,
        members: Members,
        user: str,
        server: HiveServer,
        service: ServiceProcess,
        scratch: Path,
    ) -> None:
        super().__init__(server, service, scratch)
        self._members = members
        self._user = user

    def register_at(self, cluster: Cluster) -> None:
        """Register all tables with the storage handler."""
        super().register_at(cluster)
        self.run(create_with_handler("days", f"{cluster.root}/warehouse/days"))

    def refusal(
        self,
        query: str,
        place: str,
        *,
        pruning: bool = True,
        settings: Mapping[str, str] = NOTHING,
    ) -> str:
        """What HDFS says of a query that it does not let through, as far as the path."""
        with pytest.raises(QueryError) as refused:
            self.ask(query, place, pruning=pruning, settings=settings)
        said = f'Permission denied: user={self._user}, access=\\w+, inode="/warehouse/[^"]+'
        found = re.search(said, str(refused.value))
        assert found, str(refused.value)
        return found[0]

    @contextmanager
    def session(self, settings: Mapping[str, str] = NOTHING) -> Iterator[QuerySession]:
        """A new session of the user."""
        with ExitStack() as opened:
            with self._members.user(self._user):
                session = opened.enter_context(super().session(settings))
            yield session
