"""Fixtures: Trino and Presto, each started once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from devtools.runtime import RuntimeMissingError
from tests.truth.engines.java_judge import JavaEngine, JavaEngineProcess
from tests.truth.engines.presto import PRESTO
from tests.truth.engines.trino import TRINO


@pytest.fixture(scope="session")
def trino() -> Iterator[JavaEngineProcess]:
    """Trino. It refuses predicates that fail for a row."""
    yield from _start(TRINO)


@pytest.fixture(scope="session")
def presto() -> Iterator[JavaEngineProcess]:
    """Presto. It refuses predicates that fail for a row."""
    yield from _start(PRESTO)


def _start(engine: JavaEngine) -> Iterator[JavaEngineProcess]:
    try:
        engine.jars()
    except RuntimeMissingError as missing:
        if os.environ.get("PYHUDI_NEED_TRUTH_ENGINES") == "1":
            raise
        pytest.skip(str(missing))
    with JavaEngineProcess(engine) as engine_process:
        yield engine_process
