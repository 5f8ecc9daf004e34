"""Spans of OpenTelemetry, an extra of the package, if a collector is set.

A separate thread sends them: a collector that does not answer costs spans, not time. Their
attributes hold no constants of queries.
"""

from __future__ import annotations

from pyhudi_expr.api.pages.activity import AnsweredRequest
from pyhudi_expr.installation import version
from pyhudi_expr.service.settings import SettingsError

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode
except ImportError as missing:
    raise SettingsError(
        "traces_endpoint: the packages for it lack: pip install pyhudi-expr[traces]"
    ) from missing

_FLUSH_MILLIS = 5_000


class Traces:
    """The spans of one service, until it is closed."""

    def __init__(self, endpoint: str) -> None:
        """Use a collector's URL for OTLP over HTTP, for example http://host:4318/v1/traces."""
        resource = Resource.create(
            {
                "service.name": "pyhudi",
                "service.version": version(),
            }
        )
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
        self._tracer = self._provider.get_tracer(__name__)

    def answered(self, request: AnsweredRequest) -> None:
        """Send a request's span, which ends with the response."""
        end = int(request.at.timestamp() * 1e9)
        span = self._tracer.start_span(
            "prune",
            kind=SpanKind.SERVER,
            start_time=end - int(request.millis * 1e6),
            attributes={
                "hudi.table": request.table,
                "hudi.instant": request.instant or "",
                "hive.query.id": request.request.partition("#")[0],
                "pyhudi.request": request.request,
                "pyhudi.status": request.status,
                "pyhudi.files.considered": request.files,
                "pyhudi.files.dropped": request.dropped,
                "pyhudi.note": request.note,
            },
        )
        if request.status != "OK":
            span.set_status(Status(StatusCode.ERROR, request.note))
        span.end(end_time=end)

    def close(self) -> None:
        """Send waiting spans, within a time limit."""
        self._provider.force_flush(_FLUSH_MILLIS)
        self._provider.shutdown()
