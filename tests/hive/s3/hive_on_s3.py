"""Hive over tables in S3, with a proxy that records its requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from devtools.s3.proxy import RecordingProxy
from devtools.s3.recording import Recording
from tests.hive.query_results import FETCH, NOTHING, Answer, Hive

FILES = 20
ROWS_PER_FILE = 200
BUCKET = "hive"


@dataclass(frozen=True)
class HiveOnS3:
    """Hive, whose requests to S3 go through `proxy`; those of the service do not."""

    hive: Hive
    proxy: RecordingProxy

    def requests(
        self, query: str, engine: str = FETCH, settings: Mapping[str, str] = NOTHING
    ) -> tuple[Answer, Recording]:
        """Runs a query with pruning. Returns its answer and Hive's requests for it."""
        with self.proxy.recording() as recording:
            answer = self.hive.query(query, engine, settings=settings)
        return answer, recording
