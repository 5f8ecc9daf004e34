"""The containers, one set for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from devtools.runtime import WORK
from tests.containers.cluster import Cluster, NoEngineError, cluster

TRIPS = 2000
"""Rows of the table `trips`, in files of 100."""

_REGISTER = (
    "CREATE EXTERNAL TABLE trips STORED BY 'io.pyhudi.hive.HudiStorageHandler'"
    " LOCATION '/warehouse/trips'"
)
_INDEX = "pyhudi index create /warehouse/trips ranges --using column_stats --columns id,city"


@pytest.fixture(scope="session")
def containers() -> Iterator[Cluster]:
    """All services, and the table `trips`: written, indexed and registered."""
    signal.signal(signal.SIGTERM, _interrupt)
    directory = WORK / "containers"
    directory.mkdir(parents=True, exist_ok=True)
    try:
        with cluster(directory) as running:
            running.write_trips(0, TRIPS)
            running.execute("spark", _INDEX.split())
            with running.session() as session:
                session.run(_REGISTER)
            yield running
    except NoEngineError as error:
        if os.environ.get("PYHUDI_NEED_ENGINE") == "1":
            raise
        pytest.skip(str(error))


def _interrupt(*_: object) -> None:
    """Handles SIGTERM like Ctrl-C, once, so that the containers are stopped."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
