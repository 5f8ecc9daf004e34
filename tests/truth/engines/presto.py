"""Presto 0.287, in a process without a server.

Its connectors for Hive and Hudi read times in milliseconds, truncated towards 1970
(`MICROSECONDS.toMillis` in its Parquet decoders). By default (`legacy_timestamp`) they are
instants, whose calendar is that of the session's zone.
"""

from __future__ import annotations

from tests.truth.engines.java_judge import JavaEngine


def _truncated(micros: int) -> int:
    return micros // 1000 if micros >= 0 else -(-micros // 1000)


PRESTO = JavaEngine(
    name="presto",
    main="PrestoJudge",
    to_millis=_truncated,
    jvm_options=("--add-opens=java.base/java.lang=ALL-UNNAMED",),  # Guice needs it
)
