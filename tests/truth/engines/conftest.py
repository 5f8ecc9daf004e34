"""Trino and Presto as judges, each started once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from devtools.runtime import RuntimeMissingError
from tests.truth.engines.java_judge import JavaEngine, JavaJudge
from tests.truth.engines.presto import PRESTO
from tests.truth.engines.trino import TRINO


@pytest.fixture(scope="session")
def trino() -> Iterator[JavaJudge]:
    """Trino, which refuses predicates that a row makes fail."""
    yield from _started(TRINO)


@pytest.fixture(scope="session")
def presto() -> Iterator[JavaJudge]:
    """Presto, which refuses predicates that a row makes fail."""
    yield from _started(PRESTO)


def _started(engine: JavaEngine) -> Iterator[JavaJudge]:
    try:
        engine.jars()
    except RuntimeMissingError as missing:
        if os.environ.get("PYHUDI_NEED_TRUTH_ENGINES") == "1":
            raise
        pytest.skip(str(missing))
    with JavaJudge(engine) as judge:
        yield judge
