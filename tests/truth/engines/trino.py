"""Trino 435, the last version for JDK 17, in a process without a server.

By default its connectors for Hive and Hudi read times in milliseconds, rounded half up
(`Timestamps.round`), as wall clocks in UTC, whether they are stored as instants or not.
"""

from __future__ import annotations

from tests.truth.engines.java_judge import JavaEngine


def _rounded(micros: int) -> int:
    return (micros + 500) // 1000


TRINO = JavaEngine(name="trino", main="TrinoJudge", to_millis=_rounded)
