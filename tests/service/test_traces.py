"""OpenTelemetry spans: what a collector receives for each request."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from tests.service.running_server import PATIENCE
from tests.service.service_process import Process
from tests.service.test_process import SECRET


class Collector(ThreadingHTTPServer):
    """Receives spans, as a collector does."""

    def __init__(self) -> None:
        spans: Queue[Span] = Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                message = ExportTraceServiceRequest()
                message.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
                for resource in message.resource_spans:
                    for scope in resource.scope_spans:
                        for span in scope.spans:
                            spans.put(span)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.spans = spans
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as listening:
        threading.Thread(target=listening.serve_forever).start()
        yield listening
        listening.shutdown()


def attributes(span: Span) -> dict[str, object]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_each_request_is_a_span(
    collector: Collector, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    table = str(golden["cow_v9_txns_simple_meta"])
    service = Process(tmp_path, traces_endpoint=collector.url)
    try:
        with PruningClient(port=service.port, timeout=PATIENCE) as client:
            done = client.prune(table, parse_predicate("region = 'us'"))
            client.prune(table, parse_predicate(f"region = '{SECRET}'"))
            failed = client.prune(str(tmp_path), parse_predicate("a = 1"))
        # Pending spans are sent before the process ends.
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(PATIENCE) == 0
    finally:
        service.kill()

    spans = [collector.spans.get(timeout=PATIENCE) for _ in range(3)]
    pruned, _, unpruned = spans
    assert done.counts.filesDropped > 0
    assert attributes(pruned) == {
        "hudi.table": table,
        "hudi.instant": done.instant,
        "hive.query.id": done.requestId.partition("#")[0],
        "pyhudi.request": done.requestId,
        "pyhudi.status": "OK",
        "pyhudi.files.considered": done.counts.filesConsidered,
        "pyhudi.files.dropped": done.counts.filesDropped,
        "pyhudi.note": "",
    }
    assert 0 < pruned.end_time_unix_nano - pruned.start_time_unix_nano < PATIENCE * 1e9
    assert failed.status == PruneStatus.NOT_PRUNED
    assert unpruned.status.code == unpruned.status.STATUS_CODE_ERROR
    assert not any(SECRET in str(span) for span in spans)


def test_an_unreachable_collector_does_not_affect_answers(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    service = Process(tmp_path, traces_endpoint="http://127.0.0.1:9/v1/traces")
    try:
        with PruningClient(port=service.port, timeout=PATIENCE) as client:
            table = str(golden["cow_v9_txns_simple_meta"])
            assert client.prune(table, parse_predicate("region = 'us'")).status == PruneStatus.OK
    finally:
        service.kill()
